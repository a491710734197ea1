"""Waits for the next cycle, and ends the wait early when available memory crosses a threshold.

Theory of operation: there is no thread. The loop's wait is a `poll` on its wake-up pipe and on the kernel's notifications that
exist on this node (memcg v1 eventfds, PSI triggers, `memory.events`), with a timeout until the next cheap reading is due
(`next_reading`). A notification only makes that reading due at once; a reading below a threshold only ends the wait,
and the next cycle then reads and decides everything anew. So a false or lost notification changes no decision, only its time.
After a notification none is polled for `SHORTEST`, because a cgroup at its limit changes `memory.events` thousands of times a
second. A memcg level replaces the cheap readings where it covers every crossing (`_arm`).
The kubelet's counterpart is `ThresholdNotifier`, which exists for cgroup v1 alone and decides on cached statistics.
"""

import select
from collections.abc import Callable, Mapping, Sequence
from enum import Enum

from evictd.core.frozen import frozen
from evictd.core.model.signal import MEMORY_SIGNALS, Signal
from evictd.core.model.stats import MemoryStats
from evictd.core.units.duration import MILLISECOND, SECOND
from evictd.errors import NodeError
from evictd.observe.threshold_watch.disk_watch import DiskWatch
from evictd.observe.threshold_watch.kernel_notifiers import MemcgNotifier
from evictd.observe.threshold_watch.recent_fill import RecentFill
from evictd.observe.threshold_watch.renewing_notifier import KernelNotifier, RenewingNotifier

SHORTEST = 50 * MILLISECOND
"""Nanoseconds; the least time between two cheap readings, and between two that notifications ask for."""

LEAST_RATE = 256 << 20
"""The least rate that is assumed, in bytes per second: that of an ordinary process that fills memory."""

CONCEIVABLE_RATE = 4 << 30
"""Bytes per second; what one core can touch for the first time."""

UNSEEN_INTERVAL = 1 * SECOND
"""Nanoseconds; the greatest time between two readings where a fill at the conceivable rate could cross sooner."""

ASSUMED_PIDS_RATE = 20_000
"""PIDs per second assumed before any was taken: what one core can fork."""

_TOLERANCE = 16
"""A memcg level may be off by one 16th of the distance: it is exact near the threshold, and rarely moved far from it."""

_BROKEN = select.POLLERR | select.POLLHUP | select.POLLNVAL

MemorySource = Callable[[], MemoryStats | None]
"""Reads one memory signal from one or two files; returns `None` if they cannot be read."""


class Woken(Enum):
    """The reason for the end of a wait."""

    TIME = "time"
    ASKED = "polled"
    """A byte arrived on the wake-up pipe: after a Unix signal, a finished garbage collection or a finished termination."""
    MEMORY = "memory"
    """Available memory is below a threshold that was not met in the last cycle."""
    DISK = "disk"
    """A disk is below a threshold that was not met in the last cycle, or soon will be (`disk_watch.Noticed`)."""


@frozen
class FillRate:
    """The fastest fill seen so far in bytes per second, and the last reading: available bytes at a time in nanoseconds."""

    fastest: int = LEAST_RATE
    available: int | None = None
    at: int = 0

    def updated(self, available: int, at: int) -> "FillRate":
        """Return the rate after another reading. It never decreases: a fill that happened once can happen again."""
        fastest = self.fastest
        if self.available is not None and at - self.at >= MILLISECOND:
            fastest = max(fastest, (self.available - available) * SECOND // (at - self.at))
        return FillRate(fastest=fastest, available=available, at=at)


_FIRST_RATES = {Signal.PID_AVAILABLE: FillRate(fastest=ASSUMED_PIDS_RATE)}


class MemoryWatch:
    """Waits with `sources` to read and notifiers to poll; without sources it is a plain wait.

    `memcg` holds the notifiers with a level, by signal; `others` those without. `clock` is monotonic, in nanoseconds; `longest`
    is the greatest time between two readings. Every reading is added to `recent`.
    Not thread-safe.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], int],
        sources: Mapping[Signal, MemorySource],
        memcg: Mapping[Signal, RenewingNotifier[MemcgNotifier]] | None = None,
        others: Sequence[RenewingNotifier[KernelNotifier]] = (),
        longest: int = 10 * SECOND,
        recent: RecentFill | None = None,
    ) -> None:
        self.crossed_at: int | None = None
        """Time of the last crossing that was read, on `clock`."""
        self.disks: DiskWatch | None = None
        """The disks to read as well; closed with the watch."""
        self._clock = clock
        self._sources = dict(sources)
        self._memcg = dict(memcg or {})
        self._others = tuple(others)
        self._longest = longest
        self._recent = RecentFill() if recent is None else recent
        self._lead = False
        self._rates: dict[Signal, FillRate] = {}
        self._limits: dict[Signal, int] = {}
        self._covered: set[Signal] = set()
        """The signals whose armed level is reached before any crossing."""
        self._next_reading: int | None = None
        self._paced_until = 0
        """Time until which no notification is polled; those that arrive before stay pending in the kernel."""

    def set_thresholds(self, limits: Mapping[Signal, int], *, lead: bool = False) -> None:
        """Replace the limits to watch: for each signal the highest limit not crossed yet, in available bytes.

        With `lead` a limit of memory is noticed before it is crossed, as early as `recent` says.
        Also opens notifiers whose file appeared or was replaced, and closes those whose file was removed.
        """
        for renewing in (*self._memcg.values(), *self._others):
            renewing.renew()
        self._lead = lead
        self._limits = {signal: limit for signal, limit in limits.items() if signal in self._sources}
        # A led limit moves with the rate: paced, so that one that the cycle did not act on does not begin the next at once.
        pace = SHORTEST if self._lead else 0
        self._next_reading = self._clock() + pace if self._limits else None

    def wait(self, until: int, *, wake_fd: int) -> Woken:
        """Block until the time `until`, a byte on `wake_fd`, or a crossing, whichever comes first."""
        while (now := self._clock()) < until:
            if self._next_reading is not None and now >= self._next_reading:
                if self._read(now):
                    return Woken.MEMORY
                continue
            disks_due = None if self.disks is None else self.disks.due
            if self.disks is not None and disks_due is not None and now >= disks_due:
                if self.disks.read(now):
                    return Woken.DISK
                continue
            deadline = min(each for each in (until, self._next_reading, disks_due) if each is not None)
            paced = now < self._paced_until
            ready = self._poll(wake_fd, (min(deadline, self._paced_until) if paced else deadline) - now, paced=paced)
            if wake_fd in ready:
                return Woken.ASKED
            if ready and self._next_reading is not None:
                self._next_reading = self._clock()
                self._paced_until = self._next_reading + SHORTEST
        return Woken.TIME

    def close(self) -> None:
        """Close all notifiers."""
        for renewing in (*self._memcg.values(), *self._others):
            renewing.close()
        self._memcg, self._others = {}, ()
        if self.disks is not None:
            self.disks.close()

    def _poll(self, wake_fd: int, nanoseconds: int, *, paced: bool) -> set[int]:
        poll = select.poll()
        poll.register(wake_fd, select.POLLIN)
        watched = [self._memcg[signal] for signal in self._limits if signal in self._memcg]
        polled = {
            renewing.current.fileno(): (renewing, renewing.current)
            for renewing in (*watched, *(self._others if self._limits else ()))
            if renewing.current is not None and not paced
        }
        for fd, (_, notifier) in polled.items():
            poll.register(fd, notifier.events)
        # Rounded up to milliseconds: a poll that ends early would only repeat the loop.
        ready = dict(poll.poll(-(-nanoseconds // MILLISECOND)))
        for fd in polled.keys() & ready.keys():
            renewing, notifier = polled[fd]
            if ready[fd] & _BROKEN:
                # The file was removed, and every further poll would return at once; the next `renew` finds its successor.
                renewing.failed(f"{notifier.name}: the kernel has ended the notifications")
            else:
                notifier.drain()
        return set(ready)

    def _read(self, now: int) -> bool:
        """Read every watched signal once; returns whether a limit is crossed, and else sets the time of the next reading."""
        soonest = self._longest
        for signal, limit in self._limits.items():
            distance = self._distance(signal, limit, now)
            if distance is None:
                continue
            if distance < 0:
                self.crossed_at = now
                return True
            if signal not in self._covered:
                soonest = min(soonest, next_reading(distance, self._rates[signal].fastest, longest=self._longest))
        self._next_reading = now + soonest
        return False

    def _distance(self, signal: Signal, limit: int, now: int) -> int | None:
        """Return the bytes between what is available now and the limit, below 0 after a crossing; `None` where it is unread.

        Beside that, note the reading for the rates, and set the kernel's notification where one covers this limit.
        """
        memory = self._sources[signal]()
        if memory is None or memory.available_bytes is None:
            return None
        self._rates[signal] = self._rates.get(signal, _FIRST_RATES.get(signal, FillRate())).updated(
            memory.available_bytes, now
        )
        self._recent.add(signal, memory.available_bytes, now)
        self._covered.discard(signal)
        if self._lead and signal in MEMORY_SIGNALS:
            # A fill that must be noticed before the limit is crossed causes no notification.
            return memory.available_bytes - max(limit, self._recent.led_limit(signal))
        distance = memory.available_bytes - limit
        if distance >= 0 and self._arm(signal, memory, distance):
            # A crossing during the registration of the new level causes no event, so memory is read once more after it.
            memory = self._sources[signal]()
            if memory is None or memory.available_bytes is None:
                return distance
            distance = memory.available_bytes - limit
        if self._is_covered(signal, memory, distance):
            self._covered.add(signal)
        return distance

    def _arm(self, signal: Signal, memory: MemoryStats, distance: int) -> bool:
        """Set the memcg level; returns whether it changed.

        The working set is never above the usage. So while the usage is below the working set at which the limit is crossed, that
        amount as a level covers every crossing, and memory need not be read before its event. Above it, as on a node full of page
        cache, the level is the usage at which the limit is crossed if no cache is freed: usage plus distance (kubelet
        `UpdateThreshold`). That level misses a working set that grows while the cache shrinks, so memory is read as well.
        """
        renewing = self._memcg.get(signal)
        if renewing is None or renewing.current is None or memory.usage_bytes is None:
            return False
        crossing = _crossing(memory, distance)
        try:
            if crossing is not None and memory.usage_bytes < crossing:
                return renewing.current.set_level(crossing)
            return renewing.current.set_level(memory.usage_bytes + distance, tolerance=distance // _TOLERANCE)
        except NodeError as error:
            renewing.failed(str(error))
            return False

    def _is_covered(self, signal: Signal, memory: MemoryStats, distance: int) -> bool:
        renewing, crossing = self._memcg.get(signal), _crossing(memory, distance)
        if renewing is None or renewing.current is None or crossing is None or memory.usage_bytes is None:
            return False
        level = renewing.current.level
        return level is not None and memory.usage_bytes < level <= crossing


def _crossing(memory: MemoryStats, distance: int) -> int | None:
    """Return the working set at which the limit is crossed; `None` where available memory does not follow from it."""
    return None if memory.working_set_bytes is None else memory.working_set_bytes + distance


def next_reading(distance: int, fastest_rate: int, *, longest: int) -> int:
    """Return the nanoseconds until memory must be read again, in [SHORTEST, longest], so that a crossing is noticed soon.

    That is the distance divided by the fastest rate that this node has shown: a calm node is read rarely, a node near its
    threshold often. Against a fill faster than any before, memory is also read once a second where `CONCEIVABLE_RATE` could cross
    sooner; that reading shows the new rate. The kubelet has no such rule; it reads every 10 s.

    `distance` is in bytes to the nearest threshold, `fastest_rate` in bytes per second, at least 1.
    """
    unseen = max(UNSEEN_INTERVAL, distance * SECOND // CONCEIVABLE_RATE)
    return max(SHORTEST, min(longest, unseen, distance * SECOND // fastest_rate))
