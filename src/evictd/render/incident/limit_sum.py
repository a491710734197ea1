"""Says how the limit comes about that would have ended a pod before the node was short."""

from evictd.core.model.signal import Resource
from evictd.render.text import amount_text

LIMITS_CHECKED = 10
"""Seconds from one comparison of the pods' disk use with their limits to the next, by default."""


def limit_sum(used: int, missing: int, growth: int, resource: Resource) -> str:
    """Write the sum in parentheses: what the pod held less what was missing and, on a disk, its growth between checks."""
    held, less = amount_text(used, resource), f"{amount_text(missing, resource)} that was missing"
    checked = (
        f", and {amount_text(growth, resource)} that it takes in the {LIMITS_CHECKED} s between two checks of limits"
    )
    return f"({held} that it held, less {less}{checked if growth else ''})"
