"""Amounts of a journal record."""

import pytest

from evictd.render.history.recorded_amount import recorded_amount


@pytest.mark.parametrize(
    ("text", "amount"), [("4Gi", 4 << 30), (12, 12), ("1500m", 2), ("damaged", None), (None, None), ({}, None)]
)
def test_an_amount_that_is_missing_or_damaged_is_none(text: object, amount: int | None) -> None:
    assert recorded_amount(text) == amount
