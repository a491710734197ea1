"""Computes how old a measurement of a pod's disk usage may become while a filesystem is near a threshold.

The age allowed is half the time until the nearest threshold would be crossed at the fill rate seen lately: a full disk that does
not fill is walked as rarely as by the kubelet, one that runs full every second. A crossing asks once for measurements newer than
itself, because policy Standard decides on those alone (`freshness`); as long as the threshold stays met they age as usual.
"""

from collections.abc import Collection, Iterable, Iterator

from evictd.core.frozen import frozen
from evictd.core.model.finding import Finding, ThresholdFinding
from evictd.core.model.signal import SIGNALS, Signal
from evictd.core.model.state import State
from evictd.core.units.duration import MINUTE, SECOND

SHORTEST = 1 * SECOND
"""The age allowed when a threshold is about to be crossed, in nanoseconds."""
LONGEST = 1 * MINUTE
"""The age allowed of a disk that does not fill: the kubelet's `volumeStatsAggPeriod`."""
ENFORCED = 10 * SECOND
"""The age allowed while a threshold is met, and for a pod whose own limit is enforced: the loop's period by default."""

_FORGOTTEN = 1 * MINUTE
"""The time in which a fill rate that is not seen again falls to about a third."""


@frozen
class WalkAge:
    """The allowed age of measurements: at most `longest` nanoseconds, and not before `since` on the boot-time clock."""

    longest: int = LONGEST
    since: int = 0


@frozen
class _Fill:
    """The fill of one signal: bytes or inodes available at a time, and the rate per second."""

    available: int
    at: int
    rate: int = 0

    def updated(self, available: int, now: int) -> "_Fill":
        elapsed = now - self.at
        if elapsed <= 0:
            return self
        kept = self.rate - self.rate * min(elapsed, _FORGOTTEN) // _FORGOTTEN
        return _Fill(available=available, at=now, rate=max(kept, (self.available - available) * SECOND // elapsed))


class DiskFill:
    """Remembers the fill rates of the filesystems' signals."""

    def __init__(self) -> None:
        self._fills: dict[Signal, _Fill] = {}

    def walk_age(self, findings: Collection[Finding], state: State, now: int) -> WalkAge:
        """Return the age allowed at the time `now`; `findings` and `state` are those that the last cycle has left."""
        ages = (self._age(finding, now) for finding in _of_disks(findings))
        return WalkAge(longest=min(ages, default=LONGEST), since=crossed_at(findings, state))

    def _age(self, finding: ThresholdFinding, now: int) -> int:
        signal, available = finding.threshold.signal, finding.available.value()
        known = self._fills.get(signal)
        fill = _Fill(available=available, at=now) if known is None else known.updated(available, now)
        self._fills[signal] = fill
        if finding.met:
            return ENFORCED
        if fill.rate <= 0:
            return LONGEST
        left = (available - finding.limit.value()) * SECOND // fill.rate
        return max(SHORTEST, min(LONGEST, left // 2))


def crossed_at(findings: Iterable[Finding], state: State) -> int:
    """Return when the last crossing of a disk was seen, or the collection that followed it began; zero without any."""
    known = {threshold.identity: at for threshold, at in state.thresholds_first_observed_at.items()}
    crossed = max(
        (known.get(finding.threshold.identity, 0) for finding in _of_disks(findings) if finding.met), default=0
    )
    return max(crossed, *(collection.begun for collection in state.collections.values()), 0)


def _of_disks(findings: Iterable[Finding]) -> Iterator[ThresholdFinding]:
    for finding in findings:
        if isinstance(finding, ThresholdFinding) and SIGNALS[finding.threshold.signal].filesystem is not None:
            yield finding
