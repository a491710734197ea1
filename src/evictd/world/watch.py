"""Determines when a limit is crossed between two cycles, as the daemon's threshold watch does.

Memory and PIDs are watched all the time: with the present growth it is known when they are crossed. A disk is read when it could
be short at the least rate that the daemon assumes, or at the measured one if that is faster (`core.eviction.time_left`).
With `memory.lead` or `disk.lead` the limit is the higher one at which the present growth leaves the time of an eviction.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from evictd.core.eviction.time_left import LEAST_RATE, led_limit, may_be_led, until_next_reading
from evictd.core.model.finding import Finding, ThresholdFinding
from evictd.core.model.observation import signal_observations
from evictd.core.model.signal import MEMORY_SIGNALS, SIGNALS, Signal
from evictd.core.units.duration import MILLISECOND, SECOND
from evictd.world.behaviours import OF_MEMORY, Usage
from evictd.world.node import SimulatedNode
from evictd.world.observe import WorldObserver

SHORTEST = 50 * MILLISECOND
"""The least time between a cycle and one that a crossing begins, as the watch reads memory no more often."""
LONGEST_OF_DISKS = 10 * SECOND


@dataclass(slots=True)
class _Disk:
    """The last reading of a disk's signal, and the time of the next one."""

    available: int
    at: int
    due: int


@dataclass(slots=True)
class SimulatedWatch:
    """The limits that are watched until the next cycle."""

    node: SimulatedNode
    observer: WorldObserver
    _limits: dict[Signal, int] = field(default_factory=dict)
    _disks: dict[Signal, _Disk] = field(default_factory=dict)
    _began: int = 0
    _stop_time: int | None = None

    def set_thresholds(self, findings: Iterable[Finding], now: int, stop_time: int | None) -> None:
        """Watch the limits that this cycle found not crossed, the highest of each signal, with the leads of the configuration.

        `stop_time` is the longest measured time of a stop, as in `NodeStats`.
        """
        self._began, self._limits, self._disks, self._stop_time = now, {}, {}, stop_time
        led = may_be_led(Signal.NODEFS_AVAILABLE, self.observer.config)
        disks = signal_observations(self.observer.disk_stats(now)) if led else {}
        for each in findings:
            if not isinstance(each, ThresholdFinding) or each.met:
                continue
            signal, limit = each.threshold.signal, each.limit.value()
            on_disk = SIGNALS[signal].filesystem is not None
            if on_disk or signal in MEMORY_SIGNALS or signal is Signal.PID_AVAILABLE:
                self._limits[signal] = max(self._limits.get(signal, 0), limit)
            if on_disk:
                limit = self._led(signal, disks[signal].fill_rate if signal in disks else 0)
                self._disks[signal] = self._paced(signal, each.available.value(), None, now, limit)

    def next_times(self, now: int) -> Iterator[int]:
        """Yield when a limit is crossed at the present growth, and when a disk is to be read."""
        earliest = self._began + SHORTEST
        growth = {
            signal: self.node.growth((Usage.PROCESSES,) if signal is Signal.PID_AVAILABLE else OF_MEMORY, now)
            for signal in self._limits
            if signal not in self._disks
        }
        for signal, rate in growth.items():
            left = self._available(signal, now) - self._limit(signal, now)
            if left < 0:
                yield earliest  # crossed within the shortest time after the cycle; later `crossed` has said so
            elif rate > 0:
                yield max(now + left * SECOND // rate + 1, earliest)
        yield from (disk.due for disk in self._disks.values())

    def crossed(self, now: int) -> bool:
        """Whether a limit is crossed, as far as the watch has read."""
        if now - self._began < SHORTEST:
            return False
        watched = (signal for signal in self._limits if signal not in self._disks)
        if any(self._available(signal, now) < self._limit(signal, now) for signal in watched):
            return True
        due = [signal for signal, disk in self._disks.items() if disk.due <= now]
        return bool(due) and self._read(due, now)

    def _read(self, due: Iterable[Signal], now: int) -> bool:
        crossed, seen = False, signal_observations(self.observer.disk_stats(now))
        for signal in due:
            available, limit = seen[signal].available.value(), self._led(signal, seen[signal].fill_rate)
            crossed = crossed or available < limit
            self._disks[signal] = self._paced(signal, available, self._disks[signal], now, limit)
        return crossed

    def _limit(self, signal: Signal, now: int) -> int:
        """Return the limit of memory or PIDs at the present growth."""
        if not may_be_led(signal, self.observer.config):
            return self._limits[signal]
        of_pods = signal is Signal.ALLOCATABLE_MEMORY_AVAILABLE
        return self._led(signal, (self.node.growth_of_pods if of_pods else self.node.growth)(OF_MEMORY, now))

    def _led(self, signal: Signal, rate: int | None) -> int:
        """Return the limit of a signal, or the higher one with a lead at this rate."""
        if not may_be_led(signal, self.observer.config):
            return self._limits[signal]
        collect_time = None if SIGNALS[signal].filesystem is None else self.observer.collect_time
        return max(self._limits[signal], led_limit(rate or 0, self._stop_time, collect_time))

    def _paced(self, signal: Signal, available: int, before: _Disk | None, now: int, limit: int) -> _Disk:
        rate = LEAST_RATE[SIGNALS[signal].resource]
        if before is not None and now > before.at:
            rate = max(rate, (before.available - available) * SECOND // (now - before.at))
        due = now + until_next_reading(available - limit, rate, LONGEST_OF_DISKS)
        return _Disk(available=available, at=now, due=due)

    def _available(self, signal: Signal, now: int) -> int:
        """Return what is available of memory or PIDs."""
        spec = self.node.world.node
        if signal is Signal.MEMORY_AVAILABLE:
            return self.observer.memory_available(now)
        if signal is Signal.PID_AVAILABLE:
            return spec.pids - self.node.processes(now)
        return spec.memory_of_pods - self.node.memory(now).pods_working_set
