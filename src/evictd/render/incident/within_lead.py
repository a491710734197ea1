"""Looks at what was before an eviction when a threshold would have been met that is proposed against it."""

from itertools import pairwise

from evictd.core.model.signal import WITH_REQUEST, Resource
from evictd.core.units.duration import SECOND
from evictd.render.history.evictions import signal_of
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.incident.aftermath import time_of
from evictd.render.incident.incident import Incident

LEAD_SECONDS = 60
"""How much earlier a proposed threshold is met."""


def was_within_request(found: Incident, resource: Resource) -> bool:
    """Whether the pod exceeded its request only by what it took within the lead of a proposed threshold."""
    victim = found.victim
    if victim is None or victim.usage is None or resource not in WITH_REQUEST or victim.usage <= victim.request:
        return False
    rate = 0 if found.verdict is None else found.verdict.rate_of(victim.pod)
    return victim.usage - rate * LEAD_SECONDS <= victim.request > 0


def evicted_within_lead(found: Incident) -> HistoryEvent | None:
    """Return the first eviction for the same signal within the lead of a proposed threshold; `None` without one."""
    at, signal = time_of(found.event.at), found.signal
    evicted = (each for each in found.before if each.kind is EventKind.EVICTED and each.uid != found.event.uid)
    for_it = (each for each in evicted if signal_of(each) is signal)
    return next((each for each in for_it if at - time_of(each.at) <= LEAD_SECONDS * SECOND), None)


def fall_within_lead(found: Incident, limit: int) -> tuple[int, float] | None:
    """Return the last reading above a proposed limit, and how many seconds before the highest threshold was met it was.

    `None` unless the readings show so that the limit would have been met by less than half the lead earlier: in a sudden fall the
    mean of the readings around it says nothing.
    """
    highest = max((each for _, each in found.levels), default=0)
    before = [each for each in found.points if each[0] <= 0]
    met_at = next((at for (_, left), (at, then) in reversed([*pairwise(before)]) if left >= highest > then), None)
    if met_at is None:
        return None
    above = [(left, met_at - at) for at, left in before if at < met_at and left >= limit]
    return above[-1] if above and above[-1][1] <= LEAD_SECONDS / 2 else None
