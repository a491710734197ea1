"""Has memory crossed a threshold since the last cycle? So that the interval is an upper bound and not the reaction time.

No thread: the loop's own wait is a poll over its wake-up pipe and what the kernel offers here (memcg v1 eventfds, PSI
triggers, `memory.events`), with the time-out of the next cheap reading. A kernel event never decides anything; it
only brings the reading forward, and a crossing only brings the cycle forward, which then reads everything afresh.
Kubelet term: `ThresholdNotifier`, which exists for cgroup v1 alone and decides on old stats.
"""

import select
from collections.abc import Callable, Mapping, Sequence
from enum import Enum

from evictd.core.duration import MILLISECOND, SECOND
from evictd.core.signal import Signal
from evictd.core.stats import MemoryStats
from evictd.errors import NodeError
from evictd.observe.fill_rate import FillRate, next_reading
from evictd.observe.kept_notifier import KeptNotifier, Notifier
from evictd.observe.memory_notify_v1 import MemcgNotifier

_TOLERANCE = 16
"""A level may be off by this part of the distance: exact when it matters, and rarely moved while it does not."""

_BROKEN = select.POLLERR | select.POLLHUP | select.POLLNVAL

MemorySource = Callable[[], MemoryStats | None]
"""A cheap reading of one memory signal: a file or two, `None` when they cannot be read."""


class Woken(Enum):
    """Why a wait ended."""

    TIME = "time"
    ASKED = "asked"
    """Somebody wrote to the wake-up pipe: a signal, a finished collector, a finished termination."""
    MEMORY = "memory"
    """A memory threshold that was not met is crossed now."""


class MemoryWatch:
    """The wait of the loop. Sources and notifiers are given; with no source it is a plain wait."""

    def __init__(
        self,
        *,
        clock: Callable[[], int],
        sources: Mapping[Signal, MemorySource],
        memcg: Mapping[Signal, KeptNotifier[MemcgNotifier]] | None = None,
        others: Sequence[KeptNotifier[Notifier]] = (),
        longest: int = 10 * SECOND,
    ) -> None:
        self.crossed_at: int | None = None
        """When the last crossing was noticed, on the clock given."""
        self._clock = clock
        self._sources = dict(sources)
        self._memcg = dict(memcg or {})
        self._others = tuple(others)
        self._longest = longest
        self._rates: dict[Signal, FillRate] = {}
        self._limits: dict[Signal, int] = {}
        self._next_reading: int | None = None

    def aim(self, limits: Mapping[Signal, int]) -> None:
        """Watch for these limits in bytes of what is available: the highest of each signal that is not crossed yet.

        Notifiers whose file came, went or was replaced since the last time are opened or given back now.
        """
        for kept in (*self._memcg.values(), *self._others):
            kept.renew()
        self._limits = {signal: limit for signal, limit in limits.items() if signal in self._sources}
        self._next_reading = self._clock() if self._limits else None

    def wait(self, until: int, *, wake_fd: int) -> Woken:
        """Block until the time given, a byte on `wake_fd`, or a crossing; whichever comes first."""
        while (now := self._clock()) < until:
            if self._next_reading is not None and now >= self._next_reading:
                if self._read(now):
                    return Woken.MEMORY
                continue
            deadline = until if self._next_reading is None else min(until, self._next_reading)
            ready = self._poll(wake_fd, deadline - now)
            if wake_fd in ready:
                return Woken.ASKED
            if ready and self._next_reading is not None:
                self._next_reading = self._clock()
        return Woken.TIME

    def close(self) -> None:
        """Give every descriptor back."""
        for kept in (*self._memcg.values(), *self._others):
            kept.close()
        self._memcg, self._others = {}, ()

    def _poll(self, wake_fd: int, nanoseconds: int) -> set[int]:
        poll = select.poll()
        poll.register(wake_fd, select.POLLIN)
        watched = [self._memcg[signal] for signal in self._limits if signal in self._memcg]
        asked = {
            kept.current.fileno(): (kept, kept.current)
            for kept in (*watched, *(self._others if self._limits else ()))
            if kept.current is not None
        }
        for fd, (_, notifier) in asked.items():
            poll.register(fd, notifier.events)
        # Rounded up: a wait that ends a moment early would only go round once more.
        ready = dict(poll.poll(-(-nanoseconds // MILLISECOND)))
        for fd in asked.keys() & ready.keys():
            kept, notifier = asked[fd]
            if ready[fd] & _BROKEN:
                # The file is gone and every poll would end at once; the next cycle looks for a new one.
                kept.failed(f"{notifier.name}: the kernel notifies no longer")
            else:
                notifier.drain()
        return set(ready)

    def _read(self, now: int) -> bool:
        """Read every watched signal once; whether one of them is crossed."""
        soonest = self._longest
        for signal, limit in self._limits.items():
            distance = self._distance(signal, limit, now)
            if distance is None:
                continue
            if distance < 0:
                self.crossed_at = now
                return True
            soonest = min(soonest, next_reading(distance, self._rates[signal].fastest, longest=self._longest))
        self._next_reading = now + soonest
        return False

    def _distance(self, signal: Signal, limit: int, now: int) -> int | None:
        memory = self._sources[signal]()
        if memory is None or memory.available_bytes is None:
            return None
        self._rates[signal] = self._rates.get(signal, FillRate()).seen(memory.available_bytes, now)
        distance = memory.available_bytes - limit
        if distance >= 0 and self._arm(signal, memory, distance):
            # A crossing while the level moved fires no event; this reading sees it.
            memory = self._sources[signal]()
            if memory is not None and memory.available_bytes is not None:
                distance = memory.available_bytes - limit
        return distance

    def _arm(self, signal: Signal, memory: MemoryStats, distance: int) -> bool:
        """Put the kernel's level where the threshold lies now: usage plus distance, as the kubelet's sum comes to."""
        kept = self._memcg.get(signal)
        if kept is None or kept.current is None or memory.usage_bytes is None:
            return False
        try:
            return kept.current.aim(memory.usage_bytes + distance, tolerance=distance // _TOLERANCE)
        except NodeError as error:
            kept.failed(str(error))
            return False
