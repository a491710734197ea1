"""Sums up what pods held that were evicted for the same shortage before the one of an incident.

A limit that bounds only what the last pod held leaves the first of them to go all the same.
"""

from typing import NamedTuple

from evictd.core.units.quantity import parse_quantity
from evictd.render.history.history import HistoryEvent
from evictd.render.incident.earlier import evicted_for, of_one_owner
from evictd.render.incident.incident import Incident


class WentBefore(NamedTuple):
    """Pods that were evicted before, and what they held in the unit of the signal."""

    pods: tuple[str, ...] = ()
    held: int = 0


def went_before(found: Incident) -> WentBefore:
    """Return the pods that were evicted in the minutes before for the same resource, and that are not there again.

    Not those of the same owner: the pod of the incident is what came in their place.
    """
    there = {row.pod for row in found.ranking}
    held = {
        each.pod: parse_quantity(usage).value()
        for each in found.before
        if _is_for(each, found) and each.pod not in there and (usage := each.evidence["because"].get("usage"))
    }
    return WentBefore(pods=tuple(held), held=sum(held.values()))


def _is_for(event: HistoryEvent, found: Incident) -> bool:
    """Whether an event is an eviction of another owner's pod for the resource of the incident."""
    other = event.uid != found.event.uid and not of_one_owner(event, found.event)
    return other and evicted_for(event, found.resource)
