"""Quantities as they stand in Kubernetes objects."""

import pytest

from evictd.codec.pod_wire import WireResources
from evictd.codec.quantities import quantity_of, resources_of
from evictd.errors import InvalidValueError


def test_quantities_come_as_strings_numbers_and_null() -> None:
    """Blanks around them are trimmed; null is zero (apimachinery's `Quantity.UnmarshalJSON`)."""
    amounts: WireResources = {"memory": " 1Gi ", "cpu": 2, "ephemeral-storage": None}
    got = {name: str(quantity) for name, quantity in resources_of(amounts).items()}
    assert got == {"memory": "1Gi", "cpu": "2", "ephemeral-storage": "0"}
    assert resources_of(None) == {}


def test_a_malformed_one_is_an_error() -> None:
    with pytest.raises(InvalidValueError):
        quantity_of("1GB")
