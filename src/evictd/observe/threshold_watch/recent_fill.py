"""Measures how fast what is available of a signal falls at present.

Readings come from the cheap readings between two cycles and from the cycles themselves. The rate is the fastest one between the
last reading and any earlier one within a second, at least 20 ms apart: a shorter span measures the kernel's per-CPU batches (256
KiB each), a longer one hides a fill that has just begun. After a notification of the kernel there may be none so old; then one of
at least 5 ms counts, and where all are older, as on a calm node, the last of them: a rate that is too low rather than none.

A disk fills by bursts: a cache that is written back, a checkpoint. Its rate is the mean since the earliest reading within two
seconds, at least 200 ms apart, or since the last one if that is older.

`fill_rate` has the fastest rate ever, which only decides when to read again.
"""

from collections import deque
from collections.abc import Callable, Mapping

from evictd.core.eviction.time_left import led_limit
from evictd.core.model.signal import SIGNALS, Signal
from evictd.core.units.duration import MILLISECOND, SECOND

SHORTEST_SPAN = 5 * MILLISECOND
SHORT_SPAN = 20 * MILLISECOND
LONGEST_SPAN = 1 * SECOND
MOST_READINGS = 64
SHORTEST_DISK_SPAN = 200 * MILLISECOND
LONGEST_DISK_SPAN = 2 * SECOND


class RecentFill:
    """The last readings of each signal. Used by the loop's thread only; `at` is boot-time nanoseconds.

    `stop_time` and `collect_time` return the values of these fields of `NodeStats`.
    """

    def __init__(
        self,
        stop_time: Callable[[], int | None] = lambda: None,
        collect_time: Callable[[], int | None] = lambda: None,
    ) -> None:
        self.stop_time = stop_time
        self.collect_time = collect_time
        self._readings: dict[Signal, deque[tuple[int, int]]] = {}

    def add(self, signal: Signal, available: int, at: int) -> None:
        """Add a reading; one that is not newer than the last is left out."""
        readings = self._readings.setdefault(signal, deque(maxlen=MOST_READINGS))
        if not readings or at > readings[-1][0]:
            readings.append((at, available))

    def forget(self, signal: Signal) -> None:
        """Drop the readings of a signal that is measured in another way from now on."""
        self._readings.pop(signal, None)

    def rate(self, signal: Signal) -> int | None:
        """Return the units per second by which it falls, negative while it rises; `None` before two readings."""
        readings = self._readings.get(signal)
        if not readings:
            return None
        if SIGNALS[signal].filesystem is not None:
            return _mean_rate(readings)
        now, available = readings[-1]
        earlier = [(at, before) for at, before in readings if now - at >= SHORTEST_SPAN]
        recent = [each for each in earlier if now - each[0] <= LONGEST_SPAN]
        recent = [each for each in recent if now - each[0] >= SHORT_SPAN] or recent or earlier[-1:]
        return max(((before - available) * SECOND // (now - at) for at, before in recent), default=None)

    def led_limit(self, signal: Signal) -> int:
        """Return the limit below which a threshold is acted on before it is crossed (`memory.lead`, `disk.lead`)."""
        on_disk = SIGNALS[signal].filesystem is not None
        return led_limit(self.rate(signal) or 0, self.stop_time(), self.collect_time() if on_disk else None)

    def is_old(self, signal: Signal) -> bool:
        """Whether the rate rests on a reading of more than a second before the last one, or there is none."""
        readings = self._readings.get(signal) or ((0, 0),)
        now = readings[-1][0]
        return not any(SHORTEST_SPAN <= now - at <= LONGEST_SPAN for at, _ in readings)

    def rates(self) -> Mapping[Signal, int]:
        """Return the rate of every signal that has one."""
        found = {signal: self.rate(signal) for signal in self._readings}
        return {signal: rate for signal, rate in found.items() if rate is not None}


def _mean_rate(readings: deque[tuple[int, int]]) -> int | None:
    now, available = readings[-1]
    earlier = [(at, before) for at, before in readings if now - at >= SHORTEST_DISK_SPAN]
    recent = [each for each in earlier if now - each[0] <= LONGEST_DISK_SPAN]
    return next(((before - available) * SECOND // (now - at) for at, before in (*recent[:1], *earlier[-1:])), None)
