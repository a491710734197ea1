"""Finds how much memory came back after an incident without an eviction, and what is no pod that the kernel killed then."""

from itertools import pairwise

from evictd.codec.times import rfc3339
from evictd.core.frozen import frozen
from evictd.core.model.signal import Resource
from evictd.core.units.duration import SECOND
from evictd.render.attribution import clock_text
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.incident.record.aftermath import time_of
from evictd.render.incident.record.incident import SETTLED, Incident
from evictd.render.text import first_of, signal_amount

_MUCH = 10
"""The part of the memory that has to come back without an eviction to be named."""
_ROUNDED = 2
"""Seconds by which the time of a kill may differ from that of a reading."""
_NAMED = 3
_GIVES_BACK = {
    EventKind.EVICTED,
    EventKind.SHORTENED,
    EventKind.GONE,
    EventKind.RECLAIMED,
    EventKind.KUBELET,
    EventKind.BOOT,
}


@frozen
class BackAlone:
    """Memory that came back."""

    amount: str
    at: str
    """Time of the day of the reading that shows it."""
    killed: tuple[str, ...] = ()
    """What is no pod and lost processes to the kernel meanwhile."""
    killed_pods: tuple[str, ...] = ()
    """The pods that did."""

    @property
    def text(self) -> str:
        """Write what came back, and why, as far as the journal says."""
        why = (
            f"the kernel killed processes of {first_of(killed, _NAMED)} then"
            if (killed := self.killed or self.killed_pods)
            else "a process ended, or the kernel killed one (`journalctl -k`)"
        )
        return f"{self.amount} came back until {self.at} without an eviction: {why}"

    @property
    def suspect_text(self) -> str:
        """Write what is no pod and probably held it; empty where the kernel killed no such thing."""
        if not self.killed:
            return ""
        killed = first_of(self.killed, _NAMED)
        return f"suspect {killed}, because {self.amount} came back when the kernel killed its processes"


def back_alone(found: Incident) -> BackAlone | None:
    """Return the largest rise that no eviction explains; `None` where it is less than a tenth of the node's memory."""
    if found.resource is not Resource.MEMORY or found.signal is None or found.gone_after is None:
        return None
    begin = found.gone_after + SETTLED
    later = [each for each in found.points if each[0] >= begin]
    rises = (
        (then, now) for then, now in pairwise(later) if not _events(found, then[0] - SETTLED, now[0] + 1, _GIVES_BACK)
    )
    then, now = max(rises, key=lambda each: each[1][1] - each[0][1], default=((0.0, 0), (0.0, 0)))
    risen = now[1] - then[1]
    if not (risen > 0 and risen * _MUCH >= (found.capacity or 0) > 0):
        return None
    kills = _events(found, then[0] - SETTLED, now[0] + _ROUNDED, {EventKind.KERNEL})
    return BackAlone(
        amount=signal_amount(risen, found.signal),
        at=clock_text(rfc3339(time_of(found.event.at) + round(now[0] * SECOND))),
        killed=tuple(dict.fromkeys(each.killed for each in kills if not each.pod)),
        killed_pods=tuple(dict.fromkeys(each.killed for each in kills if each.pod)),
    )


def _events(found: Incident, begin: float, end: float, kinds: set[EventKind]) -> list[HistoryEvent]:
    """Return the events of these kinds in that time, in seconds since the eviction."""
    at = time_of(found.event.at)
    return [
        each for each in found.after if each.kind in kinds and begin * SECOND <= time_of(each.at) - at <= end * SECOND
    ]
