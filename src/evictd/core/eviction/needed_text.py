"""Writes how much is needed, and where that is more than what is missing now, on which condition: that growth goes on."""

from evictd.core.eviction.shortage import EVICTION_TIME
from evictd.core.model.amount_text import amount_with, noun_amount
from evictd.core.model.finding import NoAction
from evictd.core.model.signal import Resource
from evictd.core.units.duration import SECOND


def needed_with_growth(finding: NoAction, resource: Resource) -> str:
    """Write what is missing now, where that is less, and what is needed: `6Gi is needed`."""
    needed = f"{amount_with(finding.needed, resource)} needed"
    if not finding.includes_growth:
        return needed
    growth = f"if growth goes on while other pods end ({EVICTION_TIME // SECOND} s or more each)"
    if finding.missing_now is None:
        return f"{needed} {growth}"
    return f"{amount_with(finding.missing_now, resource)} missing now, {noun_amount(finding.needed, resource)} {growth}"
