"""Determines when a limit is crossed between two cycles, as the daemon's threshold watch does.

Memory and PIDs are watched all the time: with the present growth it is known when they are crossed. A disk is read when it could
be short at the least rate that the daemon assumes, or at the measured one if that is faster (`core.eviction.time_left`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from evictd.core.eviction.time_left import LEAST_RATE, until_next_reading
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

    def set_thresholds(self, findings: Iterable[Finding], now: int) -> None:
        """Watch the limits that this cycle found not crossed, the highest of each signal."""
        self._began, self._limits, self._disks = now, {}, {}
        for each in findings:
            if not isinstance(each, ThresholdFinding) or each.met:
                continue
            signal, limit = each.threshold.signal, each.limit.value()
            on_disk = SIGNALS[signal].filesystem is not None
            if on_disk or signal in MEMORY_SIGNALS or signal is Signal.PID_AVAILABLE:
                self._limits[signal] = max(self._limits.get(signal, 0), limit)
            if on_disk:
                self._disks[signal] = self._paced(signal, each.available.value(), None, now)

    def next_times(self, now: int) -> Iterator[int]:
        """Yield when a limit is crossed at the present growth, and when a disk is to be read."""
        earliest = self._began + SHORTEST
        growth = {
            signal: self.node.growth((Usage.PROCESSES,) if signal is Signal.PID_AVAILABLE else OF_MEMORY, now)
            for signal in self._limits
            if signal not in self._disks
        }
        for signal, rate in growth.items():
            left = self._available(signal, now) - self._limits[signal]
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
        if any(self._available(signal, now) < self._limits[signal] for signal in watched):
            return True
        due = [signal for signal, disk in self._disks.items() if disk.due <= now]
        return bool(due) and self._read(due, now)

    def _read(self, due: Iterable[Signal], now: int) -> bool:
        crossed, seen = False, signal_observations(self.observer.disk_stats(now))
        for signal in due:
            available = seen[signal].available.value()
            crossed = crossed or available < self._limits[signal]
            self._disks[signal] = self._paced(signal, available, self._disks[signal], now)
        return crossed

    def _paced(self, signal: Signal, available: int, before: _Disk | None, now: int) -> _Disk:
        rate = LEAST_RATE[SIGNALS[signal].resource]
        if before is not None and now > before.at:
            rate = max(rate, (before.available - available) * SECOND // (now - before.at))
        due = now + until_next_reading(available - self._limits[signal], rate, LONGEST_OF_DISKS)
        return _Disk(available=available, at=now, due=due)

    def _available(self, signal: Signal, now: int) -> int:
        """Return what is available of memory or PIDs."""
        spec = self.node.world.node
        if signal is Signal.MEMORY_AVAILABLE:
            return self.observer.memory_available(now)
        if signal is Signal.PID_AVAILABLE:
            return spec.pids - self.node.processes(now)
        return spec.memory_of_pods - self.node.memory(now).pods_working_set
