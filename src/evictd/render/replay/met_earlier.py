"""Says which thresholds of another configuration the readings before a recorded eviction met.

A journal has these readings as numbers only (`extra.trend`), so what would have been decided then is not known. A threshold does
not act earlier than a recorded one with the same or a higher limit, and the same or a shorter grace period.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import takewhile
from typing import Any

from evictd.codec.records.journal import JournalEntry
from evictd.codec.records.journal_record import name_of, recorded_evictions
from evictd.codec.records.journaled import undamaged_points
from evictd.core.frozen import frozen
from evictd.core.model.finding import Finding, ThresholdFinding
from evictd.core.model.threshold import Origin
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import of_bytes, parse_quantity
from evictd.errors import InvalidValueError
from evictd.render.text import clean, duration_text, threshold_text

_NOT_MET = -1.0


@frozen
class RecordedLimit:
    """What a record has of one threshold."""

    signal: str
    limit: int
    available: int
    grace: int
    """In nanoseconds."""

    def covers(self, finding: ThresholdFinding) -> bool:
        """Whether it acts no later than this threshold."""
        same = self.signal == finding.threshold.signal.value
        return same and self.limit >= finding.limit.value() and self.grace <= finding.threshold.grace_period


@frozen
class MetEarlier:
    """A threshold that would have been met before a recorded eviction, of which the journal has no complete reading."""

    threshold: str
    seconds: float
    """At least, before the eviction: its crossing lies before the first of the readings that met it."""
    most: float | None
    """At most, before the eviction: the last reading that did not meet it; `None` where there is none."""
    pod: str
    """The pod that was evicted."""
    grace: int = 0
    """The grace period of the threshold, in nanoseconds."""

    def text(self, wall: str) -> str:
        """Write it of the eviction at this time."""
        bound = (
            f"at most {_seconds(self.most)}" if self.most and not self.seconds else f"at least {_seconds(self.seconds)}"
        )
        over = round(self.seconds * SECOND) - self.grace
        ended = (
            f", and its grace period would have ended {duration_text(over)} before" if self.grace and over > 0 else ""
        )
        return f"{self.threshold} would have been met {bound} before the eviction of {clean(self.pod)} at {clean(wall)}{ended}"


def recorded_limits(entry: JournalEntry, *, met: bool = False) -> Iterator[RecordedLimit]:
    """Yield the recorded thresholds, or only those that are met; what is damaged is left out."""
    for finding in entry.findings:
        threshold: Any = finding.get("threshold")
        asked = not met or finding.get("met") is True
        if asked and finding.get("kind") == "Threshold" and isinstance(threshold, Mapping):
            with suppress(InvalidValueError, TypeError, ValueError):
                grace = int(threshold.get("gracePeriodNanoseconds") or 0)
                limit = parse_quantity(str(finding.get("limit"))).value()
                available = parse_quantity(str(finding.get("available"))).value()
                signal = str(threshold.get("signal"))
                yield RecordedLimit(signal=signal, limit=limit, available=available, grace=grace)


def as_recorded(recorded: Iterable[RecordedLimit], finding: ThresholdFinding) -> ThresholdFinding:
    """Return a finding with its amounts by the recorded memory formula, by which the readings before an eviction are.

    The formulas differ by what no process can allocate, which is the difference of what was available by both.
    """
    signal = finding.threshold.signal.value
    available = next((each.available for each in recorded if each.signal == signal), finding.available.value())
    if not (more := available - finding.available.value()):
        return finding
    return replace(finding, available=of_bytes(available), limit=of_bytes(finding.limit.value() + more))


def met_earlier(entry: JournalEntry, findings: Iterable[Finding]) -> list[MetEarlier]:
    """Return the thresholds that were met before the recorded eviction of this entry, and before the recorded ones."""
    pod = next((name_of(each) for each in recorded_evictions(entry.decisions)), None)
    if pod is None:
        return []
    found, recorded = list[MetEarlier](), list(recorded_limits(entry))
    for each in findings:
        if not isinstance(each, ThresholdFinding) or each.threshold.origin is Origin.DERIVED:
            continue
        finding = as_recorded(recorded, each)
        if any(limit.covers(finding) for limit in recorded):
            continue
        signal, available = finding.threshold.signal.value, finding.available.value()
        readings = [(0.0, available), *readings_before(entry, signal)]
        alike = (
            each.limit for each in recorded if each.signal == signal and (not each.grace) is finding.threshold.hard
        )
        now, then = _met_for(readings, finding.limit.value()), _met_for(readings, max(alike, default=0))
        most = next((ago for ago, left in readings if left >= finding.limit.value()), None)
        if now > max(then, _NOT_MET) and (now > 0 or most):
            name = threshold_text(finding.threshold)
            grace = finding.threshold.grace_period
            found.append(MetEarlier(threshold=name, seconds=now, most=most, pod=pod, grace=grace))
    return found


def readings_before(entry: JournalEntry, signal: str) -> list[tuple[float, int]]:
    """Return how many seconds before an entry what was available, the last reading first; what is damaged is left out."""
    trend = (entry.extra or {}).get("trend")
    return sorted(undamaged_points(trend.get(signal) if isinstance(trend, Mapping) else None))


def _met_for(readings: Iterable[tuple[float, int]], limit: int) -> float:
    """Return for how many seconds up to the last reading the limit is met without a break; below 0 where it does not meet it."""
    return max((ago for ago, _ in takewhile(lambda reading: reading[1] < limit, readings)), default=_NOT_MET)


def _seconds(seconds: float) -> str:
    return duration_text(round(seconds * SECOND))
