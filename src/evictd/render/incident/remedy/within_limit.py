"""Says what bounds a pod that grew within its request, where the evicted pod exceeded its own and did not grow.

Growth within a request is no fault, unless it is a leak: then a lower request with a limit of the same amount bounds it.
"""

from evictd.core.model.signal import WITH_REQUEST
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.history.cause.recorded import recorded_amount
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.incident.cause.growers import grower_rate
from evictd.render.incident.cause.page_cache import held_by_page_cache
from evictd.render.incident.record.aftermath import time_of
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.verdict import Grower
from evictd.render.incident.remedy.avoided import Avoidance
from evictd.render.incident.remedy.limit_remedy import enough_of_grower
from evictd.render.incident.summary import excess_text
from evictd.render.text import amount_text, rounded_below, usage_text

_LONG = 2 * MINUTE
"""A pod that grew for less than this time may only have started: twice the time of which growth is measured."""
_STEADY = 2
"""Growth is steady if the pod grew by no less than this part of what its last rate makes of the whole time."""


def within_limit(found: Incident) -> Avoidance:
    """Return the limit of a pod that grew within its request, with the lower request that makes it valid; else nothing."""
    row, enough = found.within_request, _enough(found)
    if row is None or found.resource is None or enough <= 0:
        return Avoidance()
    most = amount_text(rounded_below(enough), found.resource)
    both = "request and a " if enough < row.request else ""
    limit = f"a {both}limit of at most {most} of {found.resource.value} for it would have been enough"
    held, asked = (amount_text(each, found.resource) for each in (row.usage, row.request))
    return Avoidance(by=(f"if {row.pod} leaks, which grew within its request ({held} of {asked}): {limit}",))


def excess_remedy(found: Incident) -> str:
    """Write how much more than it requested the evicted pod held, and what to do about it and about the pod that grew."""
    excess = excess_text(found)
    if found.with_request == found.event.pod:
        return f"{excess}, and a request of just that would not have kept it{_may_grow_on(found)}"
    return f"{excess}: let it request a tenth more than it uses, or limit it{_may_grow_on(found)}"


def exceeded_later(evicted: HistoryEvent) -> bool:
    """Whether a pod exceeded its request at its own eviction, as that recorded it."""
    used, asked = (recorded_amount(evicted.because.get(each)) for each in ("usage", "request"))
    return used is not None and asked is not None and used > asked


def _may_grow_on(found: Incident) -> str:
    """Write which pod grew within its request and still runs, as a clause, where no later record shows whether it grows on."""
    grower = found.grower
    if grower is None or found.resource is None or found.grows_on is not None:
        return ""
    if grower.pod not in found.running - found.steady:
        return ""
    grew = f"{grower.name} grew by {usage_text(grower_rate(found, grower), found.resource)} a second"
    limit = "; limit it if it leaks" if _enough(found) > 0 else ""
    return f"; {grew} and still runs: if it grows on, the node is short again{limit}"


def _enough(found: Incident) -> int:
    """Return what the pod that grew within its request may hold; 0 where it may have started, or no limit of it avoids it."""
    grower = found.grower
    if grower is None or found.within_request is None or found.within_request.protected or found.pod_grew:
        return 0
    over = _grew_for(found, grower)
    if found.resource not in WITH_REQUEST or held_by_page_cache(found) or over < _LONG:
        return 0
    steady = (grower.grown or 0) * _STEADY * SECOND >= grower.rate * over
    return enough_of_grower(found, grower) if steady else 0


def _grew_for(found: Incident, grower: Grower) -> int:
    """Return for how many nanoseconds a pod grew: since the kernel last killed processes of it, it began anew."""
    kills = (each.at for each in found.before if each.kind is EventKind.KERNEL and each.pod == grower.pod)
    return min((time_of(found.event.at) - time_of(at) for at in kills), default=grower.over)
