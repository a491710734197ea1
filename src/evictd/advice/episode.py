"""One eviction as the journal of a node tells it: what was left, what was used up until the pod was gone, and how fast.

What is used up is the fall from the decision to the lowest reading, or the fill rate times the time, whichever is more. The
readings between two records are known from the later one, which has those of the ten minutes before it. Where there is neither a
rate nor a reading between the decision and the end, the use was not measured: such an eviction is no evidence of any threshold.

A dry run ends no pod, and a journal can end at a decision. The use is estimated then: the fill rate times the longest time of a
quick stop (`QUICK`).
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

from evictd.codec.records.ranked_row import Overtaken
from evictd.codec.records.reading_record import Chosen, RecordedCycle
from evictd.core.eviction.time_left import grace_limit, led_limit
from evictd.core.frozen import frozen
from evictd.core.model.signal import MEMORY_SIGNALS, SIGNALS, Resource, Signal
from evictd.core.model.state import IMMEDIATE_EVICTION_GRACE_PERIOD_SECONDS
from evictd.core.units.duration import MINUTE, SECOND

RESERVE = {
    # The kubelet's default hard threshold; below it the kernel's own reclaim stalls everything.
    Resource.MEMORY: 100 * 2**20,
    Resource.EPHEMERAL_STORAGE: 500 * 2**20,  # for logs and state while pods end
    Resource.INODES: 5_000,
    Resource.PIDS: 400,  # the kernel never assigns the first 300 again
}
"""The reserve of a resource that should be left at the worst moment; at most a `_PART` of the capacity."""
_PART = 10
AGAIN = 10 * MINUTE
"""Two evictions for a signal so close together count as one shortage that came back."""
_NEAR = 2 * MINUTE
"""Two readings so close together give a rate."""
QUICK = 5 * SECOND
"""A hard eviction that took no longer was as quick as possible; only an earlier start helps."""
MEASURED_EVERY = 10 * SECOND
"""How often the container runtime measures the writable layers of pods, for which a decision waits: the longest such wait."""
_WAITED_FOR = (Resource.EPHEMERAL_STORAGE, Resource.INODES)
PRECISION = SECOND // 10
"""Of the times of readings between two records."""
_LEAST_LED = 10
"""Part of the threshold, as a divisor, by which a lead begins earlier at least where that is of use."""
_RATE_HOLDS = 30 * SECOND
"""How long a fill rate counts after its reading; later only the measured fall counts."""


@frozen
class Episode:
    """One eviction for a signal; amounts in its unit, times in nanoseconds."""

    node: str
    wall: str
    pod: str
    signal: Signal
    hard: bool
    available: int
    used: int
    """Amount used up from the decision until the pod was gone; of a soft one its grace period is a part of that time."""
    took: int
    rate: int
    """Fall of the available amount in units per second; 0: not measured, or it did not fall."""
    ended: bool
    """Whether the end of the pod was recorded; never in a dry run."""
    measured: bool = True
    """Whether what was used up is known: from a fill rate, or from readings between the decision and the end."""
    estimated: bool = False
    """Whether nothing was recorded after the decision, so that the time of a stop is taken to be `QUICK`."""
    threshold: int = 0
    """The hard threshold that the node had; 0 without one."""
    leads: bool = False
    """Whether `memory.lead`, or `disk.lead` for a disk, was on."""
    capacity: int = 0
    """Capacity of the node; 0 if it was not recorded."""
    overcounted: int = 0
    """Part of `available` that no process can allocate, where the threshold's formula counts it."""
    limit: int = 0
    """The hard threshold that was met; 0 for a soft one."""
    fell: int = 0
    """Amount used up from the crossing of that threshold to the decision."""
    waits: int = 0
    """The longest wait for pods to be measured, or for the next cycle; 0 where the decision did not wait. How long it is depends
    on when the threshold is crossed."""
    fitted: bool = False
    """Whether the pod had no grace period because what was left did not last for it; never where the use is estimated."""
    shortened: bool = False
    """Whether its grace period was shortened: how long the pod takes to end by itself is not known then."""
    grace: int | None = None
    """The grace period in seconds that it was given; `None` where that was not recorded."""
    own_grace: int | None = None
    """Its `terminationGracePeriodSeconds`; `None` where that was not recorded."""
    recovered: int | None = None
    """The most that was available between the pod's end and the next eviction; `None` where its end was not recorded, or the pod
    that was next in the ranking was evicted next."""

    owner: str = ""
    """Namespace and `Kind/name` of the pod's controlling owner; empty without one."""
    overtaken: Overtaken = Overtaken()
    killed: bool = False
    """Whether the kernel killed for want of memory of the node before the pod was gone, so that nothing was left then."""
    again: bool = False
    """Whether it is of the same shortage as the eviction before it, which went on or came back."""

    @property
    def timed_out(self) -> bool:
        """Whether the pod was killed at the end of its grace period: it needs at least that."""
        return self.ended and self.grace is not None and self.took >= self.grace * SECOND

    @property
    def needed(self) -> int:
        """The hard threshold that would have left the reserve; more where nothing was left at the decision.

        A higher one can need more (`used_with`).
        """
        return self.needed_with(0)

    def needed_with(self, hard: int) -> int:
        """Return the hard threshold that leaves the reserve after what is used up where `hard` is set."""
        return self.fell_at_most + self.used_with(hard) + self.reserve + self.overcounted

    def used_with(self, hard: int) -> int:
        """Return the amount that a hard eviction uses up with this threshold: more where it leaves time for a grace period."""
        left, grace = hard - self.fell, IMMEDIATE_EVICTION_GRACE_PERIOD_SECONDS
        given = self.fitted and left >= grace_limit(self.rate, grace, self.took)
        return self.used_if_hard + (self.rate * grace if given else 0)

    @property
    def fell_at_most(self) -> int:
        """Amount used up from the crossing to the decision where the wait takes its whole time.

        A threshold that is met a second earlier waits a second longer for the same measurement or cycle.
        """
        return max(self.fell, self.rate * self.waits // SECOND)

    @property
    def left(self) -> int:
        """What was left at the decision that a process could still take."""
        return 0 if self.killed else max(0, self.available - self.overcounted)

    @property
    def too_late(self) -> bool:
        """Whether less than the reserve was left."""
        return self.left < self.used + self.reserve

    @property
    def known(self) -> bool:
        """Whether it is evidence: what was used up is known, or without it less than the reserve was left."""
        return self.measured or self.too_late

    @property
    def used_if_hard(self) -> int:
        """Amount that a hard eviction of the pod would have used up: it has not the grace period of a soft one."""
        slow = not self.hard and self.took > QUICK
        return self.used * QUICK // self.took if slow else self.used

    @property
    def led_by(self) -> int:
        """By how much more available that lead would have begun it, where it was off and the eviction too late; else 0.

        A stop that was slow says little of an earlier begin, and less than a `_LEAST_LED` of the threshold changes little.
        """
        if self.leads or not (self.hard and self.too_late and 0 < self.took <= QUICK):
            return 0
        earlier = max(0, led_limit(self.rate, self.took) - self.limit)
        return earlier if earlier * _LEAST_LED >= self.limit else 0

    @property
    def reserve(self) -> int:
        """What should be left at the worst moment."""
        reserve = RESERVE[SIGNALS[self.signal].resource]
        return min(reserve, self.capacity // _PART) if self.capacity else reserve

    def leaves_reserve(self, hard: int) -> bool:
        """Whether this hard threshold would have left the reserve: no lower one than that which was too late."""
        if not self.measured:
            return False
        if self.hard and not self.too_late and hard >= self.limit and self.used_with(hard) <= self.used:
            return True
        if self.too_late and (hard <= self.limit or not self.left):
            return False  # where nothing was left at the decision, how much is needed is not known
        return hard >= self.needed_with(hard)


def longest_wait(signal: Signal) -> int:
    """Return how long a decision for a signal waits at most until pods are measured; 0 where it waits for none."""
    return MEASURED_EVERY if SIGNALS[signal].resource in _WAITED_FOR else 0


def episode_of(
    node: str, readings: Sequence[RecordedCycle], index: int, chosen: Chosen, killed: Collection[Signal]
) -> tuple[RecordedCycle, Episode]:
    """Follow one victim until it is gone, or the clock begins anew; return the last reading and the episode.

    `killed`: signals for want of which the kernel had killed before.
    """
    first = readings[index]
    signal, level = chosen.signal, first.levels[chosen.signal]
    ended, last = False, index
    # A dry run stops no pod, so later usage says nothing about eviction time.
    for number in range(index + 1, index + 1 if chosen.stays else len(readings)):
        later = readings[number]
        if later.at < readings[last].at or later.at - first.at > AGAIN:  # another boot, or its end was not recorded
            break
        last = number
        if chosen.uid in later.gone:
            ended = True
            break
    end = readings[last]
    after = list(_after(readings[index : last + 1], signal))
    known = [*filter(None, [chosen.fill_rate]), *_rates_before(readings, index, chosen)]
    rate, took = max(known, default=0), end.at - first.at
    estimated = took == 0 and not ended
    fell = level.available - min((left for _, left in after), default=level.available)
    used = max(0, fell, rate * (QUICK if estimated else min(took, _RATE_HOLDS)) // SECOND)
    episode = Episode(
        node=node, wall=first.wall, pod=chosen.pod, signal=signal, hard=chosen.hard,
        available=level.available, used=used, took=took, rate=rate, ended=ended, capacity=level.capacity,
        measured=bool(known) or any(at < end.at for at, _ in after), estimated=estimated,
        threshold=level.hard or 0, leads=first.memory_lead if SIGNALS[signal].filesystem is None else first.disk_lead,
        overcounted=first.overcounted if signal is Signal.MEMORY_AVAILABLE else 0,
        limit=(level.hard or 0) if chosen.hard else 0, fitted=chosen.fitted and not estimated,
        shortened=any(chosen.uid in each.shortened for each in readings[index : last + 1]),
        grace=chosen.grace, own_grace=chosen.own_grace,
        recovered=_recovered(readings, last, chosen) if ended else None,
        owner=chosen.owner, overtaken=chosen.overtaken,
        killed=signal in killed
        or (signal in MEMORY_SIGNALS and any(each.killed for each in readings[index + 1 : last + 1])),
    )  # fmt: skip
    return end, episode


def shortages_of(episodes: Iterable[Episode]) -> int:
    """Count the shortages of one node of which an eviction is evidence.

    Evictions within ten minutes of each other are for one shortage, unless the node reported the end of the condition between
    them, and so are those without relief.
    """
    count, counted = 0, False
    for each in episodes:
        counted = counted and each.again
        if each.known and not counted:
            count, counted = count + 1, True
    return count


def other_first(episodes: Iterable[Episode], threshold: int, grace: int = 0) -> Episode | None:
    """Return the eviction in which this threshold would have evicted another pod, by the widest margin; `None` without one.

    A threshold that acts earlier acts when the pod used less. `grace` is that of a soft threshold, in nanoseconds.
    """
    found = [
        each for each in episodes if each.overtaken.by and _less_use(each, threshold, grace) > each.overtaken.less_use
    ]
    return max(found, key=lambda each: _less_use(each, threshold, grace) - each.overtaken.less_use, default=None)


def still_met(episodes: Iterable[Episode], threshold: int) -> Episode | None:
    """Return the eviction with the least available after it, if this threshold is met then: one more pod goes; else `None`."""
    found = [each for each in episodes if each.recovered is not None and each.limit <= each.recovered < threshold]
    return min(found, key=lambda each: each.recovered or 0, default=None)


def _less_use(each: Episode, threshold: int, grace: int) -> int:
    """Return by how much less would have been used at the decision; 0 where it is not known."""
    falls = each.rate * grace // SECOND if grace else each.fell
    return 0 if grace and not each.rate else threshold - falls - each.available


def _recovered(readings: Sequence[RecordedCycle], last: int, chosen: Chosen) -> int | None:
    """Return the most that was available from the reading of the pod's end to the next eviction for the signal."""
    most: int | None = None
    for number in range(last, len(readings)):
        reading = readings[number]
        if not 0 <= reading.at - readings[last].at <= AGAIN:
            break
        others = [each.uid for each in reading.chosen if each.signal is chosen.signal]
        if chosen.next_uid in others:
            return None
        if others and number > last:
            break
        if chosen.signal in reading.levels:
            most = max(most or 0, reading.levels[chosen.signal].available)
    return most


def _after(readings: Sequence[RecordedCycle], signal: Signal) -> Iterator[tuple[int, int]]:
    """Yield the time and the amount of each reading after the first of these, also of those between two records."""
    first = readings[0]
    for reading in readings[1:]:
        yield from (
            (at, left)
            for ago, left in reading.earlier.get(signal, ())
            if (at := reading.at - round(ago * SECOND)) - first.at >= PRECISION and at < reading.at
        )
        if signal in reading.levels:
            yield reading.at, reading.levels[signal].available


def _rates_before(readings: Sequence[RecordedCycle], index: int, chosen: Chosen) -> Iterator[int]:
    """Yield how fast the signal fell just before a decision; nothing where the readings do not say."""
    first, before = readings[index], readings[max(0, index - 1)]
    signal = chosen.signal
    if signal in first.rates:
        yield first.rates[signal]
    elif chosen.hard and 0 < first.at - before.at <= _NEAR and signal in before.levels:
        # Not after a grace period, in which the growth can have ended.
        fell = before.levels[signal].available - first.levels[signal].available
        yield max(0, fell * SECOND // (first.at - before.at))
