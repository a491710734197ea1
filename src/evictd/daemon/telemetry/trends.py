"""Keeps an hour of each signal and of what pods hold, and since when conditions are reported, for the status page and metrics.

A value that each cycle replaces: `advanced` returns the next one, and readers on other threads keep theirs. It is bounded: for
each signal an hour in slots of 30 s, each with its reading of the least amount, and the last minute for the present rate.

Theory of operation: a rate is by how much `available` falls a second, in the signal's unit; below zero it rises. No single rate
says when a threshold will be met: the mean of a minute hides a fill that has just begun, two readings show scatter. So a `Trend`
has several, each over readings of the last minute, and none over a jump (`render.jump`):

    fill_rate     from the first reading since the last jump to the last one
    present_rate  the same, or that of the last ten seconds or more where each four seconds of them fell faster by a quarter
    lately        that of the last ten seconds or more, where it is less than half of `fill_rate`: the fall is ending
    last_fall     that of the last four seconds or more, where it is 1.5 times `present_rate` or more: a fall may have just begun
    last_change   that of the last two readings that are two seconds apart, whatever it is
    rate_before   that before the last jump

`enough` and `stands_out` say whether the readings are more than scatter, `has_ended` and `recovered_from` whether the fall will
not go on. `fall_began` looks for the begin of the fall in the whole hour.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, starmap
from operator import attrgetter
from typing import NamedTuple

from evictd.core.eviction.reclaim import Layout, device_of
from evictd.core.frozen import frozen
from evictd.core.model.holdings import SupplyHoldings
from evictd.core.model.observation import ReclaimOutcome, SignalObservation
from evictd.core.model.signal import NodeCondition, Signal
from evictd.core.units.duration import HOUR, MINUTE, SECOND
from evictd.daemon.telemetry.usage_history import UsageHistory
from evictd.render.jump import since_jump

SLOT = 30 * SECOND
LENGTH = HOUR
RATE_WINDOW = MINUTE
_RECENT_SPACING = 2 * SECOND
"""Least time between two points of the last minute: a busy loop makes a cycle several times a second."""
_LEAST_TIME = 4 * SECOND
"""Least time between the two readings of a rate; those between them do not count, as less time shows scatter."""
_BEFORE = 5 * MINUTE
"""Least age of a level to which the present one is compared."""
_LITTLE_PART = 20
"""A fall has begun when more than this part of it is over: what is available scatters before that."""
_FASTER = 1.5
"""By how many times the last fall is faster than the present rate where both are said: of three readings of which the last one
alone shows the fall, the mean is half of it."""
_STEEPER = 1.25
"""By how many times a fall is faster than that of a minute, in each four seconds of the last ten or more, where it counts
instead: what falls from the middle of that minute on has half its rate in the mean."""
_ENOUGH_READINGS, _ENOUGH_TIME = 3, 10 * SECOND
"""The least number of readings, and the least time between the first and the last, that distinguish a rate from scatter."""


class Point(NamedTuple):
    """The amount available at one time of the boot-time clock."""

    at: int
    available: int


class Fall(NamedTuple):
    """How fast `available` falls: the nanoseconds that were looked at, and the units a second, below 0 where it rises."""

    time: int
    rate: float


class LastChange(NamedTuple):
    """The change at the last reading, which was at `at`."""

    at: int
    fall: Fall


@dataclass(frozen=True, slots=True)
class Trend:
    """One signal: `hour` oldest first, `recent` the last minute."""

    hour: tuple[Point, ...] = ()
    recent: tuple[Point, ...] = ()
    capacity: int = 0
    """The capacity at the last reading, to which a threshold in percent refers."""
    reclaimed_at: int = 0
    """The reading that has what the last reclaim freed, however little: what it gave back is no part of a rate."""
    lows: tuple[Point, ...] = ()
    """The readings of the last minute that `recent` left out, of each of its steps the lowest: an action may follow from it."""

    def added(self, point: Point, capacity: int) -> "Trend":
        """Return the trend with one more reading, and the capacity then."""
        hour, recent, lows = self.hour, self.recent, self.lows
        if hour and hour[-1].at // SLOT == point.at // SLOT:
            hour = (*hour[:-1], min(hour[-1], point, key=attrgetter("available")))
        else:
            hour = (*(each for each in hour if each.at > point.at - LENGTH), point)
        if len(recent) > 1 and point.at - recent[-2].at < _RECENT_SPACING:
            step = [each for each in lows if each.at > recent[-2].at]
            lowest = min((*step, recent[-1]), key=attrgetter("available"))
            recent, lows = recent[:-1], (*lows[: len(lows) - len(step)], lowest)
        recent = (*(each for each in recent if each.at >= point.at - RATE_WINDOW), point)
        lows = tuple(each for each in lows if each.at >= point.at - RATE_WINDOW)
        return replace(self, hour=hour, recent=recent, lows=lows, capacity=capacity)

    @property
    def points(self) -> tuple[Point, ...]:
        """Return the hour with the last minute in more detail, oldest first."""
        begin = self.recent[0].at if self.recent else 0
        return (*(each for each in self.hour if not self.recent or each.at < begin), *self.recent)

    @property
    def drawn(self) -> Sequence[Point]:
        """Return the points with the lowest reading of each step, oldest first."""
        return sorted({*self.points, *self.lows})

    @property
    def _steady(self) -> Sequence[Point]:
        return since_jump([each for each in self.recent if each.at >= self.reclaimed_at])

    @property
    def fill_rate(self) -> float | None:
        """Units a second by which `available` falls since the last jump; negative where it rises, `None` before it is known."""
        steady = self._steady
        return _fall(steady[0], steady[-1]) if steady and _time(steady) >= _LEAST_TIME else None

    @property
    def _late(self) -> Sequence[Point]:
        """The fewest of the last readings that distinguish a rate from scatter; else empty."""
        steady = self._steady
        lasts = (steady[-each:] for each in range(_ENOUGH_READINGS, len(steady) + 1))
        return next((each for each in lasts if _time(each) >= _ENOUGH_TIME), ())

    @property
    def enough(self) -> bool:
        """Whether there are the readings since the last jump that distinguish a rate from scatter."""
        steady = self._steady
        return len(steady) >= _ENOUGH_READINGS and steady[-1].at - steady[0].at >= _ENOUGH_TIME

    @property
    def stands_out(self) -> bool:
        """Whether the change since the last jump is larger than the largest move against it."""
        amounts = [point.available for point in self._steady]
        change = amounts[-1] - amounts[0] if amounts else 0
        against = extreme = 0
        for amount in amounts:
            moved = amount - amounts[0] if change > 0 else amounts[0] - amount
            extreme = max(extreme, moved)
            against = max(against, extreme - moved)
        return abs(change) > against

    @property
    def lately(self) -> Fall | None:
        """Return the fall over the least time of ten seconds or more before the last reading.

        `None` unless the signal fell, and since then less than half as fast as in the last minute.
        """
        rate, steady = self.fill_rate, self._steady
        before = next((each for each in reversed(steady) if steady[-1].at - each.at >= _ENOUGH_TIME), None)
        if rate is None or rate <= 0 or before is None:
            return None
        late = _fall(before, steady[-1])
        return Fall(steady[-1].at - before.at, late) if late * 2 < rate else None

    @property
    def present_rate(self) -> float | None:
        """Return the fill rate, or that of the last readings if the signal falls clearly faster in each of them.

        A leak that began ten seconds ago has a sixth of its rate in the mean of a minute.
        """
        over = self._present
        return self.fill_rate if len(over) < 2 else _fall(over[0], over[-1])

    @property
    def present_time(self) -> int:
        """The nanoseconds over which the present rate is; 0 before it is known."""
        over = self._present or self._steady
        return _time(over) if len(over) > 1 else 0

    @property
    def _present(self) -> Sequence[Point]:
        """The last readings, where the signal falls faster by a quarter throughout them; else empty."""
        rate, late = self.fill_rate, self._late
        if rate is None or rate <= 0 or not late:
            return ()
        return late if min(starmap(_fall, pairwise(_spaced(late)))) > rate * _STEEPER else ()

    @property
    def last_fall(self) -> Fall | None:
        """Return the fall to the last reading from the one before it, or from an earlier one that is four seconds older.

        `None` unless the signal fell much faster in it than the present rate says: one reading is no trend yet.
        """
        rate, last = self.present_rate, _spaced(self._steady)[-2:]
        if rate is None or rate <= 0 or len(last) < 2:
            return None
        fall = _fall(*last)
        return Fall(_time(last), fall) if fall >= rate * _FASTER else None

    @property
    def last_change(self) -> LastChange | None:
        """Return when the last reading was, and the fall since the one before it.

        A reading less than two seconds before it does not count: scatter looks like a steep fall there.
        """
        points = self.points
        before = next((each for each in reversed(points) if points[-1].at - each.at >= _RECENT_SPACING), None)
        if before is None:
            return None
        last = points[-1]
        return LastChange(last.at, Fall(last.at - before.at, _fall(before, last)))

    @property
    def rate_before(self) -> float | None:
        """Return the fill rate before the last jump; `None` where the signal did not fall then, or it is not known."""
        before = Trend(recent=self.recent[: len(self.recent) - len(self._steady)])
        rate = before.fill_rate
        return rate if rate is not None and rate > 0 else None

    @property
    def has_ended(self) -> bool:
        """Whether a fall within the last minute has ended: the last three readings or more, over ten seconds, show none."""
        late = self._late
        return bool(late) and late[0].available <= late[-1].available

    @property
    def goes_on(self) -> bool:
        """Whether a fall is known to be more than scatter, and not to have ended."""
        rate = self.present_rate
        return rate is not None and rate > 0 and self.enough and self.stands_out and not self.has_ended

    def seconds_to(self, limit: int) -> float | None:
        """Return the seconds until `available` falls to a limit at the present rate; `None` if it does not, or is below it."""
        rate = self.present_rate
        if rate is None or rate <= 0 or self.recent[-1].available < limit:
            return None
        return (self.recent[-1].available - limit) / rate

    def seconds_at(self, rate: float, limit: int, now: int) -> float | None:
        """Return the seconds from `now` until `available` falls to a limit at a rate above 0; `None` where it is below it."""
        last = self.recent[-1]
        if last.available < limit:
            return None
        return round(max((last.available - limit) / rate - (now - last.at) / SECOND, 0), 1)

    @property
    def fall_began(self) -> int | None:
        """The last time before `available` fell to its present level, as far as the hour reaches; `None` where it did not fall.

        Since then it was not as low as now, but for the scatter of the last minute.
        """
        points = self.points
        if not points:
            return None
        now = points[-1]
        older = [point for point in points if point.at <= now.at - RATE_WINDOW]
        low = next((place for place in range(len(older), 0, -1) if older[place - 1].available <= now.available), 0)
        fall = older[low:]
        highest = max((point.available for point in fall), default=now.available)
        nearly = highest - (highest - now.available) // _LITTLE_PART
        return next((point.at for point in reversed(fall) if point.available >= nearly), None)

    def recovered_from(self, limit: int) -> int | None:
        """Return to what amount the signal fell before within the hour, as low as now or lower, if it rose again.

        `None` where it did not, or fell to a limit. The rate of a minute says little there of what comes: what is available goes
        up and down. The last minutes do not count: scatter of a slow fall is as low there. Where it fell to the limit within the
        hour, an action of evictd raised it.
        """
        if not self.recent:
            return None
        last = self.recent[-1]
        before = min((point.available for point in self.hour if point.at <= last.at - _BEFORE), default=None)
        lowest = min((point.available for point in self.hour), default=limit)
        return before if before is not None and limit < lowest and before <= last.available else None


def _spaced(points: Sequence[Point]) -> list[Point]:
    """Return the last reading and those before it that are `_LEAST_TIME` apart, oldest first."""
    kept = list(points[-1:])
    for each in reversed(points):
        if kept[-1].at - each.at >= _LEAST_TIME:
            kept.append(each)
    return kept[::-1]


def _fall(before: Point, after: Point) -> float:
    """Return the units a second by which `available` fell between two readings."""
    return (before.available - after.available) * SECOND / (after.at - before.at)


def _time(points: Sequence[Point]) -> int:
    """Return the nanoseconds between the first and the last of the readings."""
    return points[-1].at - points[0].at


@frozen
class ReportedSpan:
    """Wall-clock times of a reported condition. `since` is `None` if it began before the daemon's start."""

    since: int | None
    until: int | None = None
    """`None` while it is reported."""


@frozen
class Trends:
    """All signals, what pods held of each supply, and the last time of each condition."""

    signals: Mapping[Signal, Trend] = field(default_factory=dict)
    usage: UsageHistory = field(default_factory=dict)
    conditions: Mapping[NodeCondition, ReportedSpan] = field(default_factory=dict)
    limits: Mapping[str, Trend] = field(default_factory=dict)
    """What is left of each limit of which a pod uses half or more (`own_limits`)."""
    memory: SupplyHoldings | None = None
    """What holds memory without a threshold (`memory_holdings`)."""
    started: bool = False


NO_TRENDS = Trends()


def advanced(
    trends: Trends,
    seen: Mapping[Signal, SignalObservation],
    reported: tuple[NodeCondition, ...],
    *,
    now: int,
    wall: int,
    usage: UsageHistory | None = None,
    before: tuple[NodeCondition, ...] | None = None,
    reclaimed: Collection[Signal] = (),
    limits: Mapping[str, Trend] | None = None,
    memory: SupplyHoldings | None = None,
) -> Trends:
    """Return the trends after a cycle, with `usage`, `limits` and `memory` up to it; `now` is on the boot-time clock.

    `before`: the conditions before the cycle; `None` where they are not known. `reclaimed`: the signals of which this reading is
    the first one with what a reclaim freed.
    """
    signals = {
        signal: trend
        for signal, trend in trends.signals.items()
        if trend.recent and trend.recent[-1].at > now - LENGTH  # a signal that cannot be read keeps what was read of it
    }
    for signal, observation in seen.items():
        point, capacity = Point(now, observation.available.value()), observation.capacity.value()
        signals[signal] = trends.signals.get(signal, Trend()).added(point, capacity)
    signals.update({each: replace(signals[each], reclaimed_at=now) for each in reclaimed if each in signals})
    spans = _spans(trends, reported, before, wall)
    return Trends(
        signals=signals, usage=usage or {}, conditions=spans, limits=limits or {}, memory=memory, started=True
    )


def reclaimed_signals(ended: Iterable[ReclaimOutcome], layout: Layout) -> frozenset[Signal]:
    """Return the signals of the devices on which reclaims that have ended freed something."""
    freed = {each.device for each in ended if each.freed_bytes or each.removed}
    return frozenset(
        signal
        for signal in Signal
        if (device := device_of(signal, layout)) is not None and not freed.isdisjoint({device, None})
    )


def _spans(
    trends: Trends, reported: tuple[NodeCondition, ...], before: tuple[NodeCondition, ...] | None, wall: int
) -> dict[NodeCondition, ReportedSpan]:
    spans = dict(trends.conditions)
    for condition in NodeCondition:
        span = spans.get(condition)
        is_open = span is not None and span.until is None
        if condition in reported and not is_open:
            begins = trends.started or (before is not None and condition not in before)
            spans[condition] = ReportedSpan(since=wall if begins else None)
        elif condition not in reported and span is not None and is_open:
            spans[condition] = replace(span, until=wall)
    return spans


def recent_readings(
    trends: Trends, signals: Collection[Signal], *, now: int, within: int
) -> dict[str, list[tuple[float, int]]]:
    """Return the readings of some signals within the last nanoseconds: how many seconds ago, and what was available."""
    return {
        signal.value: _ago([point for point in trend.points if now - point.at <= within], now)
        for signal, trend in trends.signals.items()
        if signal in signals
    }


def drawn_readings(trends: Trends, *, now: int) -> dict[str, list[tuple[float, int]]]:
    """Return all kept readings as `recent_readings` does, with the lowest one of each step of the last minute."""
    return {signal.value: _ago(trend.drawn, now) for signal, trend in trends.signals.items()}


def _ago(points: Iterable[Point], now: int) -> list[tuple[float, int]]:
    return [(round((now - point.at) / SECOND, 1), point.available) for point in points]
