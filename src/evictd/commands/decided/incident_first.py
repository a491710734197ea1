"""Finds the eviction that began a series in which pods of one owner came back and were evicted, without growth of their own.

The growth of another pod made the node short before the first of them. It may have ended since, so at a later eviction nothing
grows, and only the pod that came back fills the node.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.history.history import HistoryEvent
from evictd.render.incident.cause.growers import only_others_grew
from evictd.render.incident.record.earlier import evicted_for, of_one_owner
from evictd.render.incident.record.incident import Incident

_TRIED = 3
"""How many earlier evictions at which something grew are judged."""
_MORE = 10
"""A pod that came back holds more than its predecessor where the two differ by more than this part."""


def with_first(found: Incident, evictions: Sequence[HistoryEvent], judged: Callable[[str], Incident]) -> Incident:
    """Return the incident with the one that began its series; `judged` returns that of a pod's uid."""
    victim, grown = found.victim, sum(each.rate for each in found.growers) * MINUTE // SECOND
    if victim is None or victim.usage is None or found.verdict is None or not found.measured:
        return found
    if found.missing is None or grown >= found.missing:
        return found  # it would not have been short without that growth
    event = found.event
    before = evictions[: evictions.index(event)]
    kin = [each for each in before if of_one_owner(each, event) and evicted_for(each, found.resource) and each.filled]
    for each in kin[: -_TRIED - 1 : -1]:
        first = judged(each.uid)
        held = None if first.victim is None else first.victim.usage
        if held is None or victim.usage * _MORE > held * (_MORE + 1):
            return found
        if first.growers:
            return replace(found, first=first) if only_others_grew(first) else found
    return found
