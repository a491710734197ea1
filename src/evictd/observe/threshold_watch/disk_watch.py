"""Reads disks that have a threshold between two cycles, so that a crossing is noticed soon after it.

One `statvfs` for each disk that is due. The next reading is due when the disk could be short at the fastest fill seen in an hour,
or at the least rate that is assumed if that is faster: at least every `longest`, the period of the cycles, and at most
every `SHORTEST` (`core.eviction.time_left`). So a disk with much left is not read between two cycles at all, and a node whose
disks are calm wakes up no more often than without. A disk that does not respond within `TIMEOUT` is read again after twice
`SHORTEST`, and after twice as long each time that it does not, up to `longest`: on a busy node a reading may be late once. While
its call hangs no time is spent on it, so it holds up neither memory nor the other disks. The kubelet reads every 10 s.

A reading also begins the next cycle, at most once in `longest`, where the limit will be crossed within that time at the present
rate: the cycle begins to measure pods, so that the crossing finds what fills the disk measured.

With `lead` (`disk.lead: Auto`) a crossing is what `RecentFill.led_limit` says, if that is earlier.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from evictd.core.eviction.time_left import LEAST_RATE, SHORTEST, until_next_reading
from evictd.core.model.finding import Finding, ThresholdFinding
from evictd.core.model.signal import SIGNALS, Filesystem, Resource, Signal
from evictd.core.model.stats import FsStats
from evictd.core.units.duration import MILLISECOND, MINUTE, SECOND
from evictd.observe.filesystems.filesystem import FilesystemReader
from evictd.observe.reading.problems import Problems
from evictd.observe.threshold_watch.recent_fill import RecentFill

TIMEOUT = 20 * MILLISECOND
"""Nanoseconds; how long a disk may take to answer."""

_MOST_DOUBLED = 16
_SPAN = 10 * MINUTE
_SPANS = 6
_SHORTEST_SPAN = 20 * MILLISECOND


class Noticed(Enum):
    """The result of a reading of disks; false if it does not begin a cycle."""

    NOTHING = ""
    FILLING = "filling"
    """A limit will be crossed within the period of the cycles at the present rate."""
    CROSSED = "crossed"
    """A limit is crossed."""

    def __bool__(self) -> bool:
        return bool(self.value)


@dataclass(slots=True)
class _Disk:
    """The available amount of one signal, its limit, and how fast it filled."""

    limit: int
    least_rate: int
    available: int | None = None
    at: int = 0
    due: int = 0
    missed: int = 0
    """Number of readings without a response since the last response."""
    fastest: dict[int, int] = field(default_factory=dict)
    """The fastest fill by span of ten minutes, of the last hour."""

    def add(self, available: int, now: int) -> None:
        """Add a reading."""
        elapsed = now - self.at
        if self.available is not None and elapsed >= _SHORTEST_SPAN:
            span, rate = now // _SPAN, (self.available - available) * SECOND // elapsed
            kept = {each: fastest for each, fastest in self.fastest.items() if each > span - _SPANS}
            self.fastest = {**kept, span: max(kept.get(span, 0), rate)}
        if self.available is None or elapsed >= _SHORTEST_SPAN:
            self.available, self.at = available, now

    def pace(self, distance: int, now: int, longest: int) -> None:
        """Set when it is to be read again; `distance` is what is left to the limit."""
        rate = max(self.least_rate, *self.fastest.values(), 0)
        self.due = now + until_next_reading(distance, rate, longest)


class DiskWatch:
    """The disks to read between two cycles; `paths` gives a path on each. Used by the loop's thread only."""

    def __init__(
        self,
        paths: Callable[[], Mapping[Filesystem, Path]],
        *,
        reader: FilesystemReader | None = None,
        recent: RecentFill | None = None,
        longest: int = 10 * SECOND,
    ) -> None:
        self._paths = paths
        self._reader = FilesystemReader(timeout=TIMEOUT) if reader is None else reader
        self._recent = RecentFill() if recent is None else recent
        self._lead = False
        self._longest = longest
        self._watched: dict[Signal, _Disk] = {}
        self._known: dict[Signal, _Disk] = {}
        self._filling_at: int | None = None
        """Time of the last reading that began a cycle for a disk that fills."""

    @property
    def due(self) -> int | None:
        """Time of the next reading; `None` if no disk is watched."""
        return min((disk.due for disk in self._watched.values()), default=None)

    def set_thresholds(self, findings: Iterable[Finding], now: int, *, lead: bool = False) -> None:
        """Watch the limits that this cycle found not crossed, the highest of each signal; with `lead` notice them earlier."""
        self._watched, self._lead = {}, lead
        for finding in findings:
            signal = finding.threshold.signal if isinstance(finding, ThresholdFinding) else None
            if signal is None or SIGNALS[signal].filesystem is None or not isinstance(finding, ThresholdFinding):
                continue
            disk = self._known.setdefault(signal, _Disk(limit=0, least_rate=LEAST_RATE[SIGNALS[signal].resource]))
            disk.add(finding.available.value(), now)
            if not finding.met:
                limit = finding.limit.value()
                disk.limit = max(limit, disk.limit) if signal in self._watched else limit
                disk.pace(finding.available.value() - self._limit(signal, disk), now, self._longest)
                self._watched[signal] = disk

    def read(self, now: int) -> Noticed:
        """Read the disks that are due; return what they show."""
        due = [signal for signal, disk in self._watched.items() if disk.due <= now]
        found = {kind: self._read(kind, now) for kind in {SIGNALS[signal].filesystem for signal in due}}
        crossed = [signal for signal in due if self._take_in(signal, found[SIGNALS[signal].filesystem], now)]
        if crossed:
            return Noticed.CROSSED
        rested = self._filling_at is None or now - self._filling_at >= self._longest
        if rested and any(self._is_soon_crossed(signal) for signal in due):
            self._filling_at = now
            return Noticed.FILLING
        return Noticed.NOTHING

    def close(self) -> None:
        """End the threads."""
        self._reader.close()

    def _read(self, filesystem: Filesystem | None, now: int) -> FsStats | None:
        path = None if filesystem is None else self._paths().get(filesystem)
        return None if path is None else self._reader.read(path, "disk", now, Problems())  # the next cycle reports it

    def _take_in(self, signal: Signal, stats: FsStats | None, now: int) -> bool:
        """Add a reading, and set when the next one is due; return whether the limit is crossed."""
        disk = self._watched[signal]
        inodes = SIGNALS[signal].resource is Resource.INODES
        available = None if stats is None else stats.inodes_free if inodes else stats.available_bytes
        if available is None:
            disk.missed += 1
            disk.due = now + min(self._longest, SHORTEST << min(disk.missed, _MOST_DOUBLED))
            return False
        disk.missed = 0
        disk.add(available, now)
        self._recent.add(signal, available, now)
        limit = self._limit(signal, disk)
        disk.pace(available - limit, now, self._longest)
        return available < limit

    def _is_soon_crossed(self, signal: Signal) -> bool:
        disk, rate = self._watched[signal], self._recent.rate(signal) or 0
        return disk.available is not None and disk.available - disk.limit <= rate * self._longest // SECOND

    def _limit(self, signal: Signal, disk: _Disk) -> int:
        return max(disk.limit, self._recent.led_limit(signal)) if self._lead else disk.limit
