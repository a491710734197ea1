"""Finds how much each pod had grown before an eviction since the oldest record of the hour before it.

The growth of the last minute alone does not tell a leak from a burst, or from a pod that takes again what it held before the
kernel killed its processes.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from evictd.codec.records.journal import JournalEntry
from evictd.commands.decided.incident_holdings import grown_since_crossing, holdings_of
from evictd.core.frozen import frozen
from evictd.core.model.holdings import SupplyHoldings
from evictd.core.model.signal import Signal
from evictd.core.model.state import State
from evictd.core.units.duration import HOUR, MINUTE
from evictd.render.history.history import killed_of
from evictd.render.incident.record.aftermath import time_of
from evictd.render.incident.record.incident import Incident
from evictd.render.text import clean

_LEAST = 2 * MINUTE
"""The least time over which growth says more than that of the last minute."""
_LITTLE = 10
"""A pod holds again what it had held where the two differ by less than this part."""


@frozen
class Past:
    """What the pods held in an earlier record."""

    over: int = 0
    """Nanoseconds from then to the eviction; 0 where no record is old enough."""
    used: Mapping[str, int | None]
    """By uid; `None` for a pod that was not measured. A pod that is not in it was not there yet."""
    owners: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """By uid, the namespace and owner of the pods that have one."""

    def grown(self, uid: str, used: int) -> int | None:
        """Return by how much a pod grew until it holds `used`; `None` where that is not known."""
        before = self.used.get(uid, 0)
        return None if before is None or self.over < _LEAST else used - before

    def of_owner(self, found: Incident) -> list[int]:
        """Return what each pod of the evicted pod's owner held that was measured."""
        owner = (found.event.pod.partition("/")[0], found.event.owner)
        return [held for uid, held in self.used.items() if held is not None and self.owners.get(uid) == owner]


UNKNOWN = Past(used={})


class RecentLines:
    """The lines of the hour before a record, the oldest first."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lines: deque[tuple[int, bytes]] = deque()

    def add(self, wall: str, line: bytes) -> bytes:
        """Add the line of a record by its time, and return the oldest one that is kept."""
        at = time_of(wall)
        self._lines.append((at, line))
        while at - self._lines[0][0] > HOUR:
            self._lines.popleft()
        return self._lines[0][1]


def past_of(entry: JournalEntry, state: State | None, found: Incident) -> Past:
    """Return what each pod held in an earlier record; `UNKNOWN` where it was a moment before.

    `state` is that after its cycle, `None` where the record is damaged.
    """
    over = time_of(found.event.at) - time_of(entry.wall)
    held = None if state is None or found.signal is None or not over else holdings_of(state, found.signal)
    if held is None:
        return UNKNOWN
    pods = entry.observation.pods
    owners = {each.uid: (clean(each.namespace), clean(each.owner)) for each in pods if each.owner}
    return Past(over=over, used={**dict.fromkeys(each.uid for each in pods), **held.used}, owners=owners)


def retaking(held: SupplyHoldings, past: Past, names: Mapping[str, str], found: Incident) -> frozenset[str]:
    """Return the uids of the pods that hold again what they had held before the kernel killed their processes.

    An evicted pod that came since then holds what one of the same owner had held before.
    """
    killed = set(killed_of(found.before))
    again = set[str]()
    for uid in (uid for uid in held.used if names.get(uid) in killed):
        # also where that is less than `_LEAST` ago: the kill is between the two
        before = [past.used[uid]] if uid in past.used else past.of_owner(found) if uid == found.event.uid else []
        if any(each is not None and abs(held.used[uid] - each) * _LITTLE < held.used[uid] for each in before):
            again.add(uid)
    return frozenset(again)


def without(held: SupplyHoldings, uids: Iterable[str]) -> SupplyHoldings:
    """Return the holdings in which these pods did not grow."""
    still = {uid: held.used[uid] for uid in uids if uid in held.used}
    lowest, before = ({**each, **still} for each in (held.lowest, held.lowest_before))
    return replace(held, lowest=lowest, lowest_before=before)


def taken_by(uids: Iterable[str], state: State, signal: Signal) -> int:
    """Return how much pods took since the supply became short."""
    grown = grown_since_crossing(state, signal)
    return sum(max(grown.get(uid, 0), 0) for uid in uids)
