"""Finds what grew before the kernel killed processes for want of memory, and how high the thresholds of memory were.

`kill_lines` writes it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Self

from evictd.codec.records.journal_record import JournalRecord
from evictd.codec.records.recorded_pod import RecordedPod
from evictd.core.frozen import frozen
from evictd.core.model.signal import MEMORY_SIGNALS, Signal, signal_named
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.incident.cause.host_suspect import host_suspect, outside_pods_of
from evictd.render.incident.record.aftermath import seconds_between
from evictd.render.text import clean

_APART = 15 * MINUTE // SECOND
"""Seconds without a kill after which the next one is of another shortage; what grew before the first is looked for as long."""
_MUCH = 10
"""A pod that grew by less than this part of the node's memory is not named: the pod that was killed may have grown more."""
_READ_WITHIN = 5 * MINUTE // SECOND
"""Seconds after the first kill in which a reading shows what grew, where the reading of the kill is older than the growth."""
_READ_BEFORE = 5 * SECOND
"""Nanoseconds before a cycle in which the memory of the node was read, if it was read in that cycle."""
_LEADS = "Auto"
_NOTABLE = 20
"""What is used outside pods is named from this part of the memory on: each node runs a few daemons."""
_SMALL = 7
"""What is used outside pods is not named below this part of the growth of a pod beyond its request."""


@frozen
class KillCause:
    """The kills of the last shortage at which the kernel killed for want of memory, and what grew before the first.

    Of one pod that is the first in which it lost processes.
    """

    at: str
    """RFC 3339 time of the first kill."""
    killed: tuple[str, ...]
    """Pods, `namespace/name`, and other cgroups that lost processes."""
    grower: str = ""
    """`namespace/name` of the pod that grew most; empty where none is known to have grown much."""
    since: str = ""
    """RFC 3339 time of the reading before with the least."""
    before: int = 0
    after: int = 0
    """Bytes of memory that it held at that reading, and at the kill."""
    request: int = 0
    """Bytes of memory that the pod that grew most requests."""
    came_back: bool = False
    """Whether that pod, or one of its owner, had held about as much earlier: it may hold that at all times."""
    exceeded: tuple[tuple[str, int, int], ...] = ()
    """Killed pods that used more than they request at that reading: `namespace/name`, bytes used and requested."""
    outside: int = 0
    """Bytes of memory that were used outside pods at the first kill; 0 where that is little, or not known."""
    outside_before: int = 0
    """The least of them before."""
    outside_since: str = ""
    """RFC 3339 time of the reading with that, where what is outside pods grew most; empty where it did not."""
    outside_always: int = 0
    """The least of them since the machine was started, as far as the journal has it: what is used all the time."""
    suspect: str = ""
    """What is no pod and probably held it (`host_suspect`), as a clause; empty where the journal does not show that."""
    largest: tuple[str, int, int] | None = None
    """The pod that used more memory than it requests by most before, if it was killed: name, bytes used and requested."""
    capacity: int = 0
    """The memory of the node in bytes."""
    highest: int | None = None
    """The highest threshold of `memory.available` in bytes; `None` where the journal has none with an amount."""
    dry_run: bool = False
    leads: bool = False
    """Whether evictd acted before a threshold of memory was crossed (`memory.lead: Auto`)."""
    has_threshold: bool = True
    """Whether evictd had a threshold of memory."""
    unread: bool = False
    """Whether the memory of the node could not be read at the first kill."""

    @property
    def host_holds_most(self) -> bool:
        """Whether more than half of the memory was used outside pods, or that grew most."""
        return bool(self.outside_since) or self.outside * 2 > self.capacity

    @property
    def outside_counts(self) -> bool:
        """Whether what is used outside pods is not small beside what a pod grew by; one within its request is no fault."""
        return self.outside > 0 and (self.grew_within or self.outside * _SMALL >= self.after - self.before)

    @property
    def outside_is_constant(self) -> bool:
        """Whether about as much was used outside pods all the time: no leak, so that a reservation can keep it."""
        return not self.host_holds_most and (self.outside - self.outside_always) * _MUCH < self.outside

    @property
    def grew_within(self) -> bool:
        """Whether the pod that grew most was within its request."""
        return bool(self.grower) and 0 < self.after <= self.request

    @property
    def grew_beside_killed(self) -> bool:
        """Whether a pod grew, or came, beyond its request, and by more than any other killed pod exceeded its own."""
        excess = max((used - request for name, used, request in self.exceeded if name != self.grower), default=0)
        returned = self.came_back and not self.before
        return bool(self.grower) and self.before < self.after - excess and not self.grew_within and not returned


class _Reading(NamedTuple):
    """A record before the kills in which pods were measured, with what is asked of it for each record after the first kill."""

    record: JournalRecord
    memory: Mapping[str, int]
    """By uid of a pod, in bytes."""
    outside: int | None
    """Bytes that were used outside pods; `None` where that is not known."""

    @classmethod
    def of(cls, record: JournalRecord) -> Self:
        return cls(record, record.observation.memory, outside_pods_of(record))


def kill_cause(records: Sequence[JournalRecord], pod: str = "") -> KillCause | None:
    """Return the cause of the last kills of the records, oldest first; `None` without a kill.

    Of a pod, `namespace/name`, that lost processes in them, the cause of its own first kill.
    """
    kills = [number for number, each in enumerate(records) if each.extra.kernel_killed]
    if not kills:
        return None
    place = len(kills) - 1
    while place and seconds_between(records[kills[place - 1]], records[kills[place]]) <= _APART:
        place -= 1
    number = next((each for each in kills[place:] if pod in _killed(records[each])), kills[place])
    first = records[number]
    thresholds = first.config.thresholds
    killed = (name for each in kills[place:] for name in _killed(records[each]))
    whole = (each.observation.whole_memory for each in reversed(records[: number + 1]))
    unread = _memory_unread(first)
    found = KillCause(
        at=first.wall,
        killed=tuple(dict.fromkeys(killed)),
        capacity=next((each for each in whole if each), 0),
        highest=_highest(first),
        dry_run=first.extra.dry_run,
        leads=first.config.memory_lead == _LEADS,
        has_threshold=not thresholds or any(signal_named(each.signal) in MEMORY_SIGNALS for each in thresholds),
        suspect=host_suspect(records),
        unread=unread,
    )
    within = 0 if unread else _READ_WITHIN
    soon = (each for each in records[number:] if 0 <= seconds_between(first, each) <= within)
    earlier = [_Reading.of(each) for each in records[:number] if each.observation.memory]
    grown = (_with_growth(found, earlier, each) for each in soon if each.observation.memory)
    known = next((each for each in grown if each.grower or each.outside_since), None)
    return known or (found if unread else _with_growth(found, earlier, first))


def _memory_unread(record: JournalRecord) -> bool:
    """Whether the memory of the node was not read in a cycle, or in the one before it."""
    if not record.observation.whole_memory:
        return True
    seen, before = record.state.last_seen.get(Signal.MEMORY_AVAILABLE.value), record.state.last_cycle_at
    if before is None or seen is None:
        return before is not None
    return seen.time is not None and before - seen.time > _READ_BEFORE


def _killed(record: JournalRecord) -> Iterator[str]:
    return (clean(each.where) for each in record.extra.kernel_killed)


def _highest(record: JournalRecord) -> int | None:
    thresholds = [each for each in record.config.thresholds if each.signal == Signal.MEMORY_AVAILABLE.value]
    return max((each.amount(record.observation.whole_memory) for each in thresholds), default=0) or None


def _notable(outside: int | None, record: JournalRecord) -> int:
    """Return the bytes used outside pods; 0 where they are little, or not known."""
    return outside if outside is not None and outside * _NOTABLE >= record.observation.whole_memory > 0 else 0


def _with_growth(found: KillCause, earlier: Sequence[_Reading], first: JournalRecord) -> KillCause:
    """Return the cause with what grew most from before the first kill to a record: a pod, or what is used outside pods."""
    found = replace(found, outside=_notable(outside_pods_of(first), first))
    read = [each for each in earlier if each.record.now <= first.now]  # of this boot
    if not read:
        return found
    last = read[-1]
    before = [each for each in read if seconds_between(each.record, first) <= _APART] or [last]
    if any(not each.uid for each in first.extra.kernel_killed):  # what is no pod gave back what it held
        found = replace(found, outside=max(found.outside, _notable(last.outside, first)))
    exceeded = tuple(_exceeded(found.killed, last.record))
    found = replace(found, exceeded=exceeded, largest=_largest(found.killed, last.record))
    found = _with_grower(found, before, first)
    if found.grower:
        found = replace(found, came_back=any(_held_as_much(each, found) for each in read))
    always = min((each.outside for each in read if each.outside is not None), default=found.outside)
    found = replace(found, outside_always=min(always, found.outside))
    known = [(each.outside, each.record.wall) for each in before if each.outside is not None]
    least, since = min(known, default=(found.outside, ""), key=lambda each: each[0])
    grown = found.outside - least
    if grown * _MUCH < found.capacity or grown < found.after - found.before:
        return found
    return replace(found, outside_before=least, outside_since=since)


def _with_grower(found: KillCause, before: Sequence[_Reading], first: JournalRecord) -> KillCause:
    """Return the cause with the pod that grew most from the least that it held in the readings before until the kill.

    What a killed pod uses while the memory of the node is not read is of after the kill: it says nothing of before.
    """
    latest_first = [*reversed(before)]
    lost = {each.uid for each in first.extra.kernel_killed} if found.unread else set[str]()
    used_then = {uid: used for uid, used in first.observation.memory.items() if uid not in lost}
    held = {uid: max(used, before[-1].memory.get(uid, 0)) for uid, used in used_then.items()}
    least = {uid: _least(latest_first, uid) for uid in held}
    grown = {uid: used - least[uid][0] for uid, used in held.items()}
    uid = max(grown, key=lambda each: grown[each], default="")
    if not uid or grown[uid] * _MUCH < found.capacity or grown[uid] <= 0:
        return found
    pod = next((each for each in first.observation.pods if each.metadata.uid == uid), RecordedPod())
    return replace(
        found,
        grower=clean(pod.full_name) if pod.metadata.uid else "",
        since=least[uid][1],
        before=held[uid] - grown[uid],
        after=held[uid],
        request=pod.spec.memory_request,
    )


def _held_as_much(reading: _Reading, found: KillCause) -> bool:
    """Whether the pod that grew most held about as much in a record, or one of its owner did."""
    pods, used = reading.record.observation.pods, reading.memory
    owner = next((each.owner for each in pods if clean(each.full_name) == found.grower), "")
    kin = (each for each in pods if clean(each.full_name) == found.grower or (owner and each.owner == owner))
    return any(used.get(each.metadata.uid, 0) * _MUCH > found.after * (_MUCH - 1) for each in kin)


def _least(latest_first: Sequence[_Reading], uid: str) -> tuple[int, str]:
    """Return the least that a pod held in readings, and when; nothing at the latest one if it was measured in none."""
    held = [(each.memory[uid], each.record.wall) for each in latest_first if uid in each.memory]
    return min(held, default=(0, latest_first[0].record.wall), key=lambda each: each[0])


def _exceeded(killed: Sequence[str], before: JournalRecord) -> Iterator[tuple[str, int, int]]:
    """Yield the killed pods that used more than they request in a record before the kill, which they lost their memory by."""
    return (each for each in _above_request(before) if each[0] in killed)


def _largest(killed: Sequence[str], before: JournalRecord) -> tuple[str, int, int] | None:
    """Return the pod that exceeded its request by most in a record before the kill; `None` where that is little.

    One that the kernel did not kill is not known to be a cause: it may hold as much at all times.
    """
    name, used, request = max(_above_request(before), default=("", 0, 0), key=lambda each: each[1] - each[2])
    much = (used - request) * _MUCH >= before.observation.whole_memory > 0
    return (name, used, request) if much and name in killed else None


def _above_request(record: JournalRecord) -> Iterator[tuple[str, int, int]]:
    """Yield the pods that use more memory than they request: `namespace/name`, bytes used and requested."""
    for pod in record.observation.pods:
        used, request = record.observation.memory.get(pod.metadata.uid, 0), pod.spec.memory_request
        if used > request:
            yield clean(pod.full_name), used, request
