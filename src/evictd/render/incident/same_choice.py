"""Says why a pod would have gone although it had requested what it used: what the other pods held, or the order of priorities."""

from collections.abc import Sequence

from evictd.core.eviction.shortage import EVICTION_TIME
from evictd.core.model.finding import SkipReason
from evictd.core.model.signal import Resource
from evictd.core.units.duration import SECOND
from evictd.render.history.recorded_ranking import IncidentRow
from evictd.render.incident.incident import Incident
from evictd.render.text import amount_text

_COULD_GO = {"", SkipReason.UNNECESSARY.value, SkipReason.EVICTIONS_PAUSED.value}
"""What the ranking says of pods that could have gone in its place."""
_OTHERS = "the other pods above their requests"
_NO_OTHER = "no other pod exceeded its request"


def why_the_same(found: Incident, victim: IncidentRow, resource: Resource) -> str:
    """Write why the decision takes the same pod again where it requests what it used.

    It then ranks behind the pods that exceed their requests, and goes before them only where they hold too little (law Need).
    """
    rows = (row for row in found.ranking if not (row.chosen or row.protected) and row.skipped in _COULD_GO)
    others = [row for row in rows if row.usage]
    if not others:
        return "no other pod could go"
    exceeding = [row for row in others if (row.usage or 0) > row.request]
    if exceeding:
        return _too_little(_OTHERS, found, exceeding, resource)
    lower = [row for row in others if row.priority < victim.priority]
    if lower:
        return f"{_NO_OTHER}; " + _too_little("those of lower priority", found, lower, resource)
    return f"{_NO_OTHER} and none had a lower priority"


def _too_little(pods: str, found: Incident, rows: Sequence[IncidentRow], resource: Resource) -> str:
    held, missing = sum(row.usage or 0 for row in rows), found.missing
    unknown = f"the end of {pods} would not have been enough"
    if missing is None or found.pods > len(found.ranking):
        return unknown
    less = f"{pods} held {amount_text(held, resource)} together, less than the {amount_text(missing, resource)} that was missing"
    if held < missing:
        return less
    seconds = EVICTION_TIME // SECOND * len(rows)
    growth = max(found.rate or 0, 0) * seconds
    if held >= missing + growth:
        return unknown
    little = f"{pods} held {amount_text(held, resource)} together, which is too little"
    each = "" if len(rows) == 1 else f" ({EVICTION_TIME // SECOND} s for each of these {len(rows)})"
    lost = f"{amount_text(missing, resource)} was missing, and {amount_text(growth, resource)} grows in that time"
    return f"{little}. Their end should relieve the node for {seconds} s{each}: {lost}"
