"""Says how the limit comes about that would have ended a pod before the node was short."""

from evictd.core.model.signal import Resource
from evictd.render.text import ROUNDED_BY, amount_text, counted

LIMITS_CHECKED = 10
"""Seconds from one comparison of the pods' disk use with their limits to the next, by default."""

_KIB = 1 << 10
"""Fewer bytes have no unit."""


def limit_sum(
    used: int,
    missing: int,
    growth: int,
    resource: Resource,
    *,
    in_swap: bool = False,
) -> str:
    """Write the sum in parentheses: what the pod held less what was missing and, on a disk, its growth between checks.

    The proposed amount is rounded below that, so the sum has what it is lower by. `in_swap`: the pod held more in swap.
    """
    held = f"{amount_text(used, resource)} that it held{' outside swap' if in_swap else ''}"
    return sum_text(held, missing, growth, resource)


def sum_text(held: str, missing: int, growth: int, resource: Resource) -> str:
    """Write the sum of a text of what was held less the others."""
    less = f"{amount_text(missing, resource) if missing >= _KIB else counted(missing, 'byte')} that was missing"
    checked = (
        f", and {amount_text(growth, resource)} that it takes in the {LIMITS_CHECKED} s between two checks of limits"
    )
    return f"({held}, less {less}{checked if growth else ''}, and {ROUNDED_BY} for rounding)"
