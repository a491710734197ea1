"""Reads an amount of a journal record, which may be damaged."""

from evictd.core.units.quantity import parse_quantity
from evictd.errors import InvalidValueError


def recorded_amount(text: object) -> int | None:
    """Return the amount, rounded up as a quantity's value is; `None` where it is missing or damaged."""
    try:
        return parse_quantity(str(text)).value()
    except InvalidValueError:
        return None
