"""Looks at what was before an eviction when a threshold would have been met that is proposed against it."""

from evictd.core.model.signal import WITH_REQUEST, Resource
from evictd.core.units.duration import SECOND
from evictd.render.aftermath import time_of
from evictd.render.evictions import signal_of
from evictd.render.history import EventKind, HistoryEvent
from evictd.render.incident import Incident

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
