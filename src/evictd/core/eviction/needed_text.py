"""Writes why more is needed than what is missing now: what grows while pods end."""

from evictd.core.eviction.shortage import EVICTION_TIME
from evictd.core.model.amount_text import amount_with
from evictd.core.model.finding import NoAction
from evictd.core.model.signal import Resource
from evictd.core.units.duration import SECOND


def growth_needed(finding: NoAction, resource: Resource) -> str:
    """Write that what is needed is more than what is missing now; empty where it is not."""
    if not finding.includes_growth:
        return ""
    now = "" if finding.missing_now is None else f" ({amount_with(finding.missing_now, resource)} missing now)"
    return f" with what grows while other pods end, at least {EVICTION_TIME // SECOND} s for each{now}"
