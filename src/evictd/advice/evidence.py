"""Collects what the journal of one node knows of how early its thresholds would have had to be, for `evictd.advice`."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from evictd.advice.crossings import Crossings, seen_between_cycles
from evictd.advice.episode import AGAIN, MEASURED_EVERY, Episode, episode_of
from evictd.codec.records.journaled import RecordedPoint
from evictd.codec.records.reading_record import Chosen, RecordedCycle
from evictd.config.little_left import LARGE
from evictd.core.frozen import frozen
from evictd.core.model.finding import RankedPod
from evictd.core.model.signal import SIGNALS, STALLS, Resource, Signal
from evictd.core.model.threshold_config import DEFAULT_EVICTION_HARD, parse_threshold_value
from evictd.core.units.duration import MINUTE, SECOND

_PROPOSED = {**DEFAULT_EVICTION_HARD, Signal.PID_AVAILABLE.value: "5%"}
"""The hard threshold that is proposed for a signal without one: the kubelet's default, and for PIDs that of `evictd check`."""
_PROPOSED_MEMORY, _PROPOSED_MEMORY_BELOW_4_GIB = "500Mi", "150Mi"
"""Those of docs/tuning.md: the kubelet's default for memory is often not met before the OOM killer acts."""
_STEADY = 30
"""Seconds for which the oldest readings before a record do not fall where the node was at rest then."""
_REMOVED = MINUTE
"""How long after an eviction, or the end of a victim, files of it can still be there."""
_STEADY_PART = 64
"""Part of the amount, as a divisor, by which they can fall all the same."""
_CLOSE = 1.5
"""A signal was close to the proposed threshold if at most this many times the threshold was available."""
_GREW = 10
"""What is used outside pods grew where it did by this part of the capacity or more."""


@frozen
class OutsidePods:
    """The use that belonged to no pod in one reading of a node."""

    node: str
    wall: str
    amount: int
    capacity: int = 0
    """Capacity of the node; 0 if it was not recorded."""
    least: int | None = None
    """The least in any reading of the node; `None` where that is not known."""
    with_images: bool = False
    """Whether it contains images that no container uses, as far as is recorded; reclaim frees them."""

    @property
    def grew(self) -> bool:
        """Whether it grew by a tenth of the capacity or more: what leaks is no constant use."""
        return self.least is not None and (self.amount - self.least) * _GREW >= self.capacity > 0


@frozen
class AtRest:
    """The least that was available of a signal on a node while nothing was used up and there was no shortage."""

    node: str
    wall: str
    ago: int
    """Nanoseconds before that record; 0: in its own reading."""
    amount: int


@frozen
class Uncovered:
    """The lowest reading of a signal for which a node has no threshold, if that was close to a useful one.

    Of memory that of the readings that follow kills by the kernel, which free it before it is read.
    """

    node: str
    wall: str
    signal: Signal
    available: int
    capacity: int
    line: str
    """The hard threshold that would cover it, as in the configuration."""
    below: int
    """Readings that would have met that."""
    occasions: int
    """How often it would have been met, readings of the same ten minutes and the same boot counted once."""
    readings: int
    """Readings in which the signal was measured and had no threshold."""
    first_met: str = ""
    """Time of the first reading that would have met it; empty if none would have."""
    killed: int = 0
    """Readings that follow kills by the kernel for want of memory of the node."""
    goes_first: RankedPod | None = None
    """The pod that would have been evicted first then; `None` where none would have been, or that was not asked."""


@frozen
class NodeEvidence:
    """The recorded evidence of one node."""

    node: str
    readings: int = 0
    episodes: tuple[Episode, ...] = ()
    came_back: dict[Signal, int] = field(default_factory=dict)
    """The most that was used up again between an eviction and that of the pod that was next in the ranking."""
    hard: dict[Signal, int] = field(default_factory=dict)
    """The hard thresholds of the last reading."""
    soft: dict[Signal, int] = field(default_factory=dict)
    """The soft thresholds of the last reading."""
    derived: frozenset[Signal] = frozenset()
    """The signals whose hard threshold is derived from that of another one: no configuration names it."""
    soft_derived: frozenset[Signal] = frozenset()
    """The same of soft thresholds."""
    capacity: dict[Signal, int] = field(default_factory=dict)
    most: dict[Signal, int] = field(default_factory=dict)
    """The most of each signal that was available in any reading."""
    rest: dict[Signal, AtRest] = field(default_factory=dict)
    unallocatable: int = 0
    """The most memory that soft thresholds counted as available although no process can allocate it."""
    outside_pods: dict[Resource, OutsidePods] = field(default_factory=dict)
    """The most that the system and the Kubernetes daemons used."""
    outside_readings: dict[Resource, int] = field(default_factory=dict)
    """The readings in which that was measured."""
    stalls: int = 0
    """Evictions for stalled tasks, which are no amount that is used up: no threshold follows from them."""
    uncovered: tuple[Uncovered, ...] = ()
    unguarded: Mapping[Signal, str] = field(default_factory=dict)
    """The other signals without a threshold in all readings, each with the documented one: no shortage of them is recorded."""
    in_vain: dict[Signal, str] = field(default_factory=dict)
    """When evictions for a signal were paused first, because the last ones did not help."""
    max_pod_grace: int = 0
    """`evictionMaxPodGracePeriod` of the last reading in seconds; negative: a pod has all of its own."""
    longest_grace: tuple[int, str] = (0, "")
    """The greatest `terminationGracePeriodSeconds` of the recorded pods, and that pod."""
    killed: dict[str, int] = field(default_factory=dict)
    """How many processes the kernel killed for want of memory of the node, by pod or cgroup."""
    problems: tuple[str, ...] = ()

    def episodes_of(self, signal: Signal) -> list[Episode]:
        """Return the evictions for a signal."""
        return [each for each in self.episodes if each.signal is signal]

    @property
    def copies_memory(self) -> bool:
        """Whether the threshold of the memory of all pods follows that of the node, and no pod was evicted for it."""
        copy = Signal.ALLOCATABLE_MEMORY_AVAILABLE
        return copy in self.derived and not self.episodes_of(copy)


def node_evidence(node: str, readings: Sequence[RecordedCycle], problems: Iterable[str] = ()) -> NodeEvidence:
    """Collect the evidence of one node from its readings, oldest first."""
    evictions, outside = _evictions_of(node, readings), tuple(_outside_pods(node, readings))
    levels = {signal: level for reading in readings for signal, level in reading.levels.items()}
    uncovered = tuple(_uncovered(node, readings, levels))
    return NodeEvidence(
        node=node,
        readings=len(readings),
        episodes=tuple(evictions.episodes),
        came_back=evictions.came_back,
        hard={signal: level.hard for signal, level in levels.items() if level.hard is not None},
        soft={signal: level.soft for signal, level in levels.items() if level.soft is not None},
        derived=frozenset(signal for signal, level in levels.items() if level.derived),
        soft_derived=frozenset(signal for signal, level in levels.items() if level.soft_derived),
        capacity={signal: level.capacity for signal, level in levels.items()},
        most={signal: max(_available(signal, readings)) for signal in levels},
        rest=_at_rest(node, readings),
        unallocatable=max((reading.unallocatable for reading in readings), default=0),
        outside_pods=_most_outside_pods(outside),
        outside_readings=Counter(resource for resource, _ in outside),
        stalls=evictions.stalls,
        uncovered=uncovered,
        unguarded=_unguarded(readings, {*levels, *(each.signal for each in uncovered)}),
        in_vain={signal: reading.wall for reading in reversed(readings) for signal in reading.in_vain},
        max_pod_grace=readings[-1].max_pod_grace if readings else 0,
        longest_grace=max((reading.longest_grace for reading in readings), default=(0, "")),
        killed=_killed(readings),
        problems=tuple(problems),
    )


@dataclass(slots=True)
class _Evictions:
    """What the evictions of a node show."""

    episodes: list[Episode] = field(default_factory=list)
    came_back: dict[Signal, int] = field(default_factory=dict)
    """By signal the most that was used up again after an end, until the next decision."""
    stalls: int = 0


def _evictions_of(node: str, readings: Sequence[RecordedCycle]) -> _Evictions:
    """Follow the evictions through the readings of one node, oldest first."""
    made, last = _Evictions(), dict[Signal, _Ended]()
    crossings, over = Crossings(seen_between_cycles(readings)), set[Signal]()
    """`over`: signals of which the node reported the end of the condition since the last eviction for them."""
    short = set[Signal]()
    """Signals that pods were evicted for and that were below their hard threshold ever since."""
    waiting = set[Signal]()
    """Signals below their hard threshold whose decision was held back until pods were measured."""
    for index, reading in enumerate(readings):
        crossings.add(reading)
        clear = {each for each, level in reading.levels.items() if level.hard is None or level.available >= level.hard}
        short -= clear
        booted = index > 0 and reading.at < readings[index - 1].at
        waiting = ((set[Signal]() if booted else waiting) | reading.awaited) - clear
        if reading.conditions is not None:
            over |= {each for each in last if SIGNALS[each].condition.value not in reading.conditions}
        for chosen in (each for each in reading.chosen if not _refused(readings, index, each)):
            made.stalls += chosen.signal in STALLS
            if chosen.signal not in reading.levels or SIGNALS[chosen.signal].own:
                continue
            before = last.get(chosen.signal)
            again = before is not None and 0 <= reading.at - before.end.at <= AGAIN
            fall = 0 if before is None or not again else before.used_again(chosen, reading)
            if fall > 0:
                made.came_back[chosen.signal] = max(fall, made.came_back.get(chosen.signal, 0))
            end, episode = episode_of(node, readings, index, chosen, crossings.killed)
            same = again and chosen.signal not in over
            # In a dry run no pod ends, and the fall goes on from decision to decision.
            fell = 0 if chosen.stays and again else crossings.fell(chosen, reading)
            episode = replace(episode, fell=fell, again=same or chosen.signal in short)
            measures = MEASURED_EVERY if chosen.signal in waiting else 0
            waits = max(measures, crossings.cycle_waited_for(episode, reading)) if chosen.hard else 0
            waiting.discard(chosen.signal)
            made.episodes.append(replace(episode, waits=waits))
            last[chosen.signal] = _Ended(chosen=chosen, end=end)
            short.add(chosen.signal)
            over.discard(chosen.signal)
    return made


def _available(signal: Signal, readings: Iterable[RecordedCycle]) -> Iterator[int]:
    return (reading.levels[signal].available for reading in readings if signal in reading.levels)


def _at_rest(node: str, readings: Sequence[RecordedCycle]) -> dict[Signal, AtRest]:
    """Return the least amounts at rest: of the first reading of a boot, and of the oldest before a record that do not fall."""
    least: dict[Signal, AtRest] = {}
    for index, reading in enumerate(readings):
        begins = index == 0 or reading.at < readings[index - 1].at
        chosen = {each.signal for each in reading.chosen}
        for signal, level in reading.levels.items():
            before = reading.earlier.get(signal, ())
            own = [(0.0, level.available)] if begins and not before and signal not in chosen else []
            for ago, amount in [*own, *_steady(before)]:
                if amount >= (level.hard or 0) and (signal not in least or amount < least[signal].amount):
                    least[signal] = AtRest(node=node, wall=reading.wall, ago=round(ago * SECOND), amount=amount)
    return least


def _steady(points: Iterable[RecordedPoint]) -> Iterator[RecordedPoint]:
    """Yield the oldest reading, with the most that was available, if those after it do not fall."""
    oldest_first = sorted(points, reverse=True)
    ago, left = oldest_first[0] if oldest_first else (0.0, 0)
    later = next((amount for at, amount in oldest_first if ago - at >= _STEADY), None)
    if later is not None and later >= left - left // _STEADY_PART:
        yield ago, max(left, later)


def _killed(readings: Iterable[RecordedCycle]) -> dict[str, int]:
    killed = Counter[str]()
    for reading in readings:
        killed.update(reading.killed)
    return dict(killed)


def _uncovered(node: str, readings: Sequence[RecordedCycle], covered: Collection[Signal]) -> Iterator[Uncovered]:
    """Yield what was close to the useful threshold of a signal that none of the readings has a threshold for."""
    for signal in Signal:
        found = [each for each in readings if signal in each.uncovered]
        if signal in covered or not found:
            continue
        kills = [each for each in found if each.killed and signal is Signal.MEMORY_AVAILABLE]
        lowest = min(kills or found, key=lambda each: each.uncovered[signal].available)
        level = lowest.uncovered[signal]
        line = documented_line(signal, level.capacity)
        value = parse_threshold_value(signal, line)
        limit = 0 if value is None else value.resolve(SIGNALS[signal].amount(level.capacity)).value()
        if kills or level.available <= limit * _CLOSE:
            below = [each for each in found if each.uncovered[signal].available < limit]
            yield Uncovered(
                node=node, wall=lowest.wall, signal=signal, available=level.available, capacity=level.capacity,
                line=line, below=len(below), occasions=_occasions(below), readings=len(found),
                first_met=below[0].wall if below else "", killed=len(kills),
            )  # fmt: skip


def _unguarded(readings: Iterable[RecordedCycle], known: Collection[Signal]) -> dict[Signal, str]:
    found = {
        signal: level for reading in readings for signal, level in reading.uncovered.items() if signal not in known
    }
    return {each: documented_line(each, found[each].capacity) for each in Signal if each in found}


def _occasions(readings: Sequence[RecordedCycle]) -> int:
    return bool(readings) + sum(not 0 <= after.at - before.at <= AGAIN for before, after in pairwise(readings))


def documented_line(signal: Signal, capacity: int) -> str:
    """Return the hard threshold of a signal that the documentation begins with."""
    if signal is Signal.MEMORY_AVAILABLE:
        return _PROPOSED_MEMORY if capacity >= LARGE.value() else _PROPOSED_MEMORY_BELOW_4_GIB
    return _PROPOSED[signal.value]


def _refused(readings: Sequence[RecordedCycle], index: int, chosen: Chosen) -> bool:
    """Whether a disruption budget refused this eviction: the pod stayed, and the time until its end is not that of a stop.

    The refusal is in a later reading, at the latest in that in which the pod is chosen again.
    """
    for later in readings[index + 1 :]:
        if chosen.uid in later.refused:
            return True
        if chosen.uid in later.gone or any(each.uid == chosen.uid for each in later.chosen):
            return False
    return False


def _outside_pods(node: str, readings: Sequence[RecordedCycle]) -> Iterator[tuple[Resource, OutsidePods]]:
    """Yield the use outside pods in each reading; of the disk without unused images where their size is known.

    Of the disk none while files of a victim, which are of no pod, are removed.
    """
    last: int | None = None
    for reading, unused in zip(readings, _unused_images(readings), strict=True):
        if reading.chosen or reading.gone:
            last = reading.at
        removes = last is not None and 0 <= reading.at - last <= _REMOVED
        for resource, amount in reading.outside_pods.items():
            of_disk, capacity = resource is Resource.EPHEMERAL_STORAGE, reading.capacity.get(resource, 0)
            if not (removes and of_disk):
                yield (
                    resource,
                    OutsidePods(
                        node=node,
                        wall=reading.wall,
                        amount=max(0, amount - (unused or 0)) if of_disk else amount,
                        capacity=capacity,
                        with_images=of_disk and unused is None,
                    ),
                )


def _unused_images(readings: Sequence[RecordedCycle]) -> list[int | None]:
    """Return the bytes of unused images in each reading: as recorded, or what the next collection freed; `None`: not known."""
    found: list[int | None] = []
    freed: int | None = None
    for reading, after in zip(reversed(readings), (None, *reversed(readings)), strict=False):
        if after is not None and after.freed_images != reading.freed_images:
            freed = after.freed_images
        found.append(freed if reading.unused_images is None else reading.unused_images)
    return found[::-1]


def _most_outside_pods(found: Iterable[tuple[Resource, OutsidePods]]) -> dict[Resource, OutsidePods]:
    most: dict[Resource, OutsidePods] = {}
    least: dict[Resource, int] = {}
    for resource, outside in found:
        least[resource] = min(outside.amount, least.get(resource, outside.amount))
        if resource not in most or outside.amount > most[resource].amount:
            most[resource] = outside
    return {resource: replace(each, least=least[resource]) for resource, each in most.items()}


@frozen
class _Ended:
    """A chosen pod, and the last reading of its episode."""

    chosen: Chosen
    end: RecordedCycle

    def used_again(self, chosen: Chosen, reading: RecordedCycle) -> int:
        """Return what was used up from its end to the decision for the pod that was next in the ranking; 0 for another pod.

        Nothing was used up again where the threshold was met still, or in a dry run.
        """
        level = self.end.levels.get(chosen.signal)
        if chosen.stays or chosen.uid != self.chosen.next_uid or level is None or level.available < (level.hard or 0):
            return 0
        return level.available - reading.levels[chosen.signal].available
