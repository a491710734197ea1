"""Says how the limit comes about that would have ended a pod before the node was short."""

from evictd.core.model.signal import Resource
from evictd.render.incident.went_before import WentBefore
from evictd.render.text import ROUNDED_BY, amount_text, counted, first_of

LIMITS_CHECKED = 10
"""Seconds from one comparison of the pods' disk use with their limits to the next, by default."""

_NAMED = 2
"""Pods that are named."""
_KIB = 1 << 10
"""Fewer bytes have no unit."""


def limit_sum(
    used: int,
    missing: int,
    growth: int,
    resource: Resource,
    *,
    in_swap: bool = False,
    before: WentBefore = WentBefore(),  # noqa: B008 - a frozen value
) -> str:
    """Write the sum in parentheses: what the pod held less what was missing and, on a disk, its growth between checks.

    The proposed amount is rounded below that, so the sum has what it is lower by. `in_swap`: the pod held more in swap.
    `before`: the pods that went before it, of which the first would go all the same else.
    """
    held = f"{amount_text(used, resource)} that it held{' outside swap' if in_swap else ''}"
    pods = first_of(before.pods, _NAMED)
    went = f", less {amount_text(before.held, resource)} that {pods} held before" if before.held else ""
    return sum_text(held, missing, growth, resource, went=went)


def sum_text(held: str, missing: int, growth: int, resource: Resource, *, went: str = "") -> str:
    """Write the sum of a text of what was held less the others."""
    less = f"{amount_text(missing, resource) if missing >= _KIB else counted(missing, 'byte')} that was missing"
    checked = (
        f", and {amount_text(growth, resource)} that it takes in the {LIMITS_CHECKED} s between two checks of limits"
    )
    return f"({held}{went or ', less'}{',' if went else ''} {less}{checked if growth else ''}, and {ROUNDED_BY} for rounding)"
