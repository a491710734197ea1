"""Says which pod exceeds its request by most where evictd does not evict it, and the limit with which no pod had gone.

It may have grown long before the minute of which growth is measured, so it is no cause by that.
"""

from evictd.core.model.signal import WITH_REQUEST, Resource
from evictd.core.units.duration import SECOND, format_duration
from evictd.render.history.cause.recorded import IncidentRow
from evictd.render.incident.cause.page_cache import held_by_page_cache
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.remedy.avoided import Avoidance
from evictd.render.text import ROUNDED_BY, amount_text, rounded_below

_KIB = 1 << 10
"""Fewer bytes have no unit."""


def protected_excess(found: Incident) -> IncidentRow | None:
    """Return the pod that is never evicted and exceeds its request by most; `None` without one."""
    if found.resource not in WITH_REQUEST:
        return None
    rows = [row for row in found.ranking if row.protected and _excess(row) > 0]
    return max(rows, key=_excess, default=None)


def protected_excess_text(found: Incident) -> str:
    """Write by how much that pod exceeds its request; empty without one."""
    row = protected_excess(found)
    if row is None or found.resource is None:
        return ""
    return f"{row.pod}, which is never evicted, {_exceeds(row, found.resource)}"


def excess_limit(found: Incident) -> Avoidance:
    """Return its limit where that had left enough for what grew, as long as the verdict looks ahead; else nothing.

    What grew itself is limited elsewhere.
    """
    row, verdict, resource = protected_excess(found), found.verdict, found.resource
    if row is None or row.usage is None or verdict is None or resource is not Resource.MEMORY or not found.missing:
        return Avoidance()
    if found.pod_grew or found.own_cause or found.host_filled or held_by_page_cache(found):
        return Avoidance()
    if any(each.pod == row.pod for each in verdict.growers):
        return Avoidance()
    grown = sum(each.rate for each in verdict.growers) * verdict.played // SECOND
    enough = row.usage - found.missing - grown
    if enough < max(row.request, 1):
        return Avoidance()
    held, more = (amount_text(each, resource) for each in (row.usage, grown))
    others = f"{more} that others take in {format_duration(verdict.played)}, and " if grown else ""
    most = f"a limit of at most {amount_text(rounded_below(enough), resource)} of {resource.value} for {row.pod}"
    short = f"{amount_text(found.missing, resource)} that was missing, and " if found.missing >= _KIB else ""
    how = f"({held} that it held, less {short}{others}{ROUNDED_BY} for rounding)"
    return Avoidance(by=(f"{most}, which {_exceeds(row, resource)} and is never evicted {how}",))


def _exceeds(row: IncidentRow, resource: Resource) -> str:
    return f"exceeds its request by {amount_text(_excess(row), resource)}"


def _excess(row: IncidentRow) -> int:
    return (row.usage or 0) - row.request
