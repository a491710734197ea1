"""Reads quantities of Kubernetes objects."""

from evictd.codec.pod_wire import WireQuantity, WireResources
from evictd.core.model.resources import Resources
from evictd.core.units.quantity import Quantity, parse_quantity


def quantity_of(value: WireQuantity | None) -> Quantity:
    """Read a quantity as the API does: a string or a bare number, blanks around it trimmed, null for zero.

    Raises `InvalidValueError` for a malformed one.
    """
    if value is None:
        return parse_quantity("0")
    return parse_quantity(value.strip(" ") if isinstance(value, str) else str(value))


def resources_of(wire: WireResources | None) -> Resources:
    """Read the amounts by resource name; none where there are none."""
    return {name: quantity_of(value) for name, value in (wire or {}).items()}
