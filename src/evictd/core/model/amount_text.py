"""Writes an amount of a resource with what it counts, in sentences: `30Mi`, `1 process`, `500 inodes`."""

from collections.abc import Mapping

from evictd.core.model.signal import RESOURCES, Resource, Unit
from evictd.core.units.approximate import bytes_text, count_text, share_text
from evictd.core.units.quantity import Quantity

_KIB = 1 << 10
_TEXTS = {Unit.BYTES: bytes_text, Unit.COUNT: count_text, Unit.SHARE: share_text}
_NOUNS: Mapping[Resource, tuple[str, str]] = {
    Resource.INODES: (" inode", " inodes"),
    Resource.PIDS: (" process", " processes"),
}
"""Nouns for amounts without a unit: for one, and for more."""


def unit_text(count: int, unit: Unit) -> str:
    """Write bytes, a count or a share of time."""
    return _TEXTS[unit](count)


def noun_of(count: int, resource: Resource) -> str:
    """Return what an amount without a unit counts, after a blank: ` process`, ` inodes`; empty for bytes and shares."""
    one, many = _NOUNS.get(resource, ("", ""))
    return one if abs(count) == 1 else many


def noun_amount(quantity: Quantity | None, resource: Resource) -> str:
    """Write an amount with its noun, where bytes do not say it; `an unknown amount` where it is not known."""
    if quantity is None:
        return "an unknown amount"
    count, unit = quantity.value(), RESOURCES[resource].unit
    if unit is Unit.BYTES and 0 < count < _KIB:
        return "less than 1Ki"  # "1" says neither of what, nor that it is next to nothing
    return unit_text(count, unit) + noun_of(count, resource)


def amount_with(quantity: Quantity | None, resource: Resource, one: str = "is", many: str = "are") -> str:
    """Write an amount with its verb: `30Mi is`, `1 process is`, `500 inodes are`."""
    several = resource in _NOUNS and quantity is not None and quantity.value() != 1
    return f"{noun_amount(quantity, resource)} {many if several else one}"
