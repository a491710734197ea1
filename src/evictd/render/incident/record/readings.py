"""Reads the readings and the thresholds of one signal from records of the journal."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from evictd.codec.decision import DECISION_FORM
from evictd.codec.records.journal_record import JournalRecord
from evictd.core.frozen import frozen
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Origin, Threshold
from evictd.core.units.duration import MINUTE, SECOND
from evictd.core.units.quantity import of_count
from evictd.errors import InputError, InvalidValueError
from evictd.render.history.cause.recorded import recorded_amount, threshold_signal
from evictd.render.history.history import HistoryEvent
from evictd.render.incident.record.aftermath import AFTER, says_met, seconds_between
from evictd.render.jump import since_jump

BEFORE = 10 * MINUTE
"""Time before an eviction that belongs to its incident."""
_MINUTE_BEFORE = 90
"""Seconds before an eviction whose readings give its rate: a minute, and the readings around its begin."""
_LATELY = 30
"""Seconds before an eviction in which a supply must have gone on falling."""
_STOOD_STILL = 10
"""A supply stood still if it fell by less than this part of its rate before."""
_ENDED_READINGS = 3
"""How many readings, of two cycles, show that a fall has ended."""
_NOISE, _STEP = 100, 20
"""Readings differ by noise within the first part of the whole fall, and by a step of it from the second part on."""
_ROUNDED = 1
"""By how many seconds at most the times of two events differ more than their readings do."""


@frozen
class SignalLevels:
    """A signal and its thresholds as one record has them; `None` for what the record does not have."""

    available: int | None = None
    capacity: int | None = None
    levels: tuple[tuple[str, int], ...] = ()
    """Kind and limit of each threshold, the highest first."""
    soft: int | None = None
    """The highest soft threshold as it is configured; its limit may be lower by what no process can allocate."""
    soft_grace: int | None = None
    """Its grace period."""
    grace_left: int | None = None
    """What is left of that; `None` where it is not met."""


def threshold_findings(record: JournalRecord, signal: Signal | None) -> Iterator[Mapping[str, Any]]:
    """Yield the findings about the thresholds of a signal."""
    for finding in record.findings if signal is not None else ():
        if finding.get("kind") == "Threshold" and threshold_signal(finding) is signal:
            yield finding


def levels_of(record: JournalRecord, signal: Signal | None) -> SignalLevels:
    """Return what was available, the capacity, and the thresholds."""
    available = capacity = soft = grace = grace_left = None
    levels: dict[tuple[str, int], None] = {}
    for finding in threshold_findings(record, signal):
        limit = recorded_amount(finding.get("limit"))
        available, capacity = recorded_amount(finding.get("available")), recorded_amount(finding.get("capacity"))
        if limit is not None:
            kind = "soft" if finding["threshold"].get("gracePeriodNanoseconds") else "hard"
            levels[kind, limit] = None
            configured = _configured(finding["threshold"]) or limit
            if kind == "soft" and configured > (soft or 0):
                soft, grace_left = configured, recorded_amount(finding.get("graceLeftNanoseconds"))
                grace = recorded_amount(finding["threshold"].get("gracePeriodNanoseconds"))
    ordered = tuple(sorted(levels, key=lambda each: -each[1]))
    return SignalLevels(
        available=available, capacity=capacity, levels=ordered, soft=soft, soft_grace=grace, grace_left=grace_left
    )


def _configured(threshold: Mapping[str, Any]) -> int | None:
    """Return the amount that a threshold is configured with; `None` for a share."""
    value = threshold.get("value")
    return recorded_amount(value.get("quantity")) if isinstance(value, Mapping) else None


def points_of(
    records: Iterable[JournalRecord], signal: Signal | None, evicting: JournalRecord, *, before: int = BEFORE
) -> tuple[tuple[float, int], ...]:
    """Return every reading of the signal in the records: of their findings, and of the minutes before some of them."""
    if signal is None:
        return ()
    points: dict[float, int] = {}
    for record in records:
        since = seconds_between(evicting, record)
        for ago, amount in record.extra.trend.get(signal.value, ()):
            if -before <= (since - ago) * SECOND <= AFTER:
                points[round(since - ago, 1)] = amount
        is_near = -before <= since * SECOND <= AFTER
        if is_near and (available := levels_of(record, signal).available) is not None:
            points[round(since, 1)] = available
    return tuple(sorted(points.items()))


def recent_fall(points: Sequence[tuple[float, int]]) -> int | None:
    """Return by how much a second a signal fell in the last minute before an eviction; `None` where it is not known.

    Each point has its seconds from the eviction and its amount; those before the last jump, and those before it began to fall,
    do not count. Where the signal stood still lately or fell twice as fast, the rate is that of the last readings: that is what
    goes on.
    """
    known = falling(points)
    if len(known) < 2 or known[-1][0] - known[0][0] < 1:
        return None
    whole = _fall(known)
    last = [each for each in known if each[0] >= -_LATELY]
    if len(last) > 1 and last[-1][0] - last[0][0] >= _LATELY / 2:
        fell = _fall(last)
        if fell * _STOOD_STILL < whole or fell > 2 * whole:
            return round(fell)
    return round(whole)


def falling(points: Sequence[tuple[float, int]]) -> Sequence[tuple[float, int]]:
    """Return the readings of the last minute before an eviction from the one on at which the signal fell.

    It began to fall between that one and the last one before, which counts where the others are less than a second apart.
    """
    known = since_jump([(seconds, amount) for seconds, amount in points if -_MINUTE_BEFORE <= seconds <= 0])
    most = max((amount for _, amount in known), default=0)
    whole = most - known[-1][1] if known else 0
    begin = max((place for place, each in enumerate(known) if whole and (most - each[1]) * _STEP <= whole), default=0)
    fell = known[begin + 1 :] if begin else known
    return fell if len(fell) > 1 and fell[-1][0] - fell[0][0] >= 1 else known[begin:]


def still_for(points: Sequence[tuple[float, int]]) -> float:
    """Return for how many seconds before an eviction a signal that fell had fallen no more; 0 where it may fall on.

    A fall in steps goes on: the signal must have stood still for longer than between any two of its steps.
    """
    known = since_jump([each for each in points if each[0] <= 0])
    if not known:
        return 0
    last = known[-1][1]
    fell = max(amount for _, amount in known) - last
    moved = [place for place, (_, amount) in enumerate(known) if abs(amount - last) * _NOISE > fell]
    still = known[max(moved, default=-1) + 1 :]
    seconds = still[-1][0] - still[0][0]
    steps = [now[0] for then, now in pairwise(known) if fell and (then[1] - now[1]) * _STEP >= fell]
    pause = max((later - earlier for earlier, later in pairwise(steps)), default=0)
    ended = fell > 0 and len(still) >= _ENDED_READINGS and seconds >= _LATELY / 2
    return seconds if ended and seconds > pause else 0


def later_fall(points: Sequence[tuple[float, int]], evicted: Iterable[float]) -> int | None:
    """Return by how much a second a signal fell before the last of later evictions of which that is known; else `None`.

    `evicted` are their times, the earliest first, rounded to seconds as those of the points are not. Where less was left then
    than at the first eviction, or nothing, something filled the supply meanwhile, and the rate does not tell how fast.
    """
    falls = list[int]()
    for at in (each - _ROUNDED for each in evicted):
        left, fall = _left(points, at), recent_fall([(seconds - at, amount) for seconds, amount in points])
        falls += [] if fall is None or not left or left < _left(points, 0) else [fall]
    return next(reversed(falls), None)


def _left(points: Sequence[tuple[float, int]], at: float) -> int:
    """Return the last amount until then; 0 without one."""
    return next((amount for seconds, amount in reversed(points) if seconds <= at), 0)


def _fall(points: Sequence[tuple[float, int]]) -> float:
    """Return by how much a second the amount fell from the first reading to the last one."""
    return (points[0][1] - points[-1][1]) / (points[-1][0] - points[0][0])


def min_reclaim(event: HistoryEvent, capacity: int | None) -> int:
    """Return the minimum reclaim of the threshold for which the pod was evicted; 0 without one."""
    threshold = event.because.get("threshold") or {}
    try:
        found = DECISION_FORM.decode(Threshold, threshold, "threshold").min_reclaim
    except (InputError, InvalidValueError):
        return 0
    return 0 if found is None else found.resolve(of_count(capacity or 0)).value()


def allocatable_met(record: JournalRecord) -> Origin | None:
    """Return the origin of a threshold of `allocatableMemory.available` that is met; a recorded one without an origin was set."""
    for each in threshold_findings(record, Signal.ALLOCATABLE_MEMORY_AVAILABLE):
        if says_met(each):
            return Origin.DERIVED if each["threshold"].get("origin") == Origin.DERIVED.value else Origin.SET
    return None
