"""Writes an amount of a resource with what it counts, in sentences: `30Mi`, `1 process`, `500 inodes`; and what is needed."""

from collections.abc import Mapping

from evictd.core.model.finding import NoAction
from evictd.core.model.signal import RESOURCES, Resource
from evictd.core.units.approximate import bytes_text, count_text
from evictd.core.units.quantity import Format, Quantity

_NOUNS: Mapping[Resource, tuple[str, str]] = {
    Resource.INODES: ("inode", "inodes"),
    Resource.PIDS: ("process", "processes"),
}


def noun_amount(quantity: Quantity | None, resource: Resource) -> str:
    """Write an amount with its noun, where bytes do not say it; `an unknown amount` where it is not known."""
    if quantity is None:
        return "an unknown amount"
    count = quantity.value()
    if resource in _NOUNS:
        return f"{count_text(count)} {_NOUNS[resource][count != 1]}"
    return bytes_text(count) if RESOURCES[resource].format is Format.BINARY_SI else count_text(count)


def amount_with(quantity: Quantity | None, resource: Resource, one: str = "is", many: str = "are") -> str:
    """Write an amount with its verb: `30Mi is`, `1 process is`, `500 inodes are`."""
    several = resource in _NOUNS and quantity is not None and quantity.value() != 1
    return f"{noun_amount(quantity, resource)} {many if several else one}"


def growth_needed(finding: NoAction, resource: Resource, before: str = " ") -> str:
    """Write, after `before`, that what is needed is more than what is missing now; empty where it is not."""
    if not finding.includes_growth:
        return ""
    now = "" if finding.missing_now is None else f" ({amount_with(finding.missing_now, resource)} missing now)"
    return f"{before}with what grows until they have ended{now}"
