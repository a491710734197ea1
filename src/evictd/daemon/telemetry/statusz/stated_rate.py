"""States by how much a signal falls a second in the document of `/statusz`, and when it reaches its thresholds at that rate."""

from typing import Any

from evictd.core.units.duration import SECOND
from evictd.daemon.telemetry.trends import RATE_WINDOW, Fall, Trend
from evictd.render.status.times.timing import SOON_SECONDS

_NOTICED_AFTER = 1 * SECOND
"""Within this time a crossing of a watched threshold is noticed: the watch reads at least as often where one is near."""


def stated_rate(thresholds: list[dict[str, Any]], trend: Trend, now: int, *, watched: bool) -> dict[str, Any]:
    """Return the thresholds of a signal, and the units a second by which it falls, as far as that is known.

    A rate of few or of old readings (`null`), or within their scatter (0), is left out, and so are the times that it would give.
    Where a threshold is met or near, few readings suffice: a steep fall has a rate from its second reading on. `watched`: a
    crossing of a threshold between two cycles is noticed and makes a reading.
    """
    is_present = bool(trend.recent) and now - trend.recent[-1].at <= RATE_WINDOW
    rate = trend.present_rate if is_present else None
    times = [each["secondsToThreshold"] for each in thresholds]
    near = any(each["met"] for each in thresholds) or any(each is not None and each <= SOON_SECONDS for each in times)
    if rate is not None and (near or (trend.enough and trend.stands_out)):
        foreseen = [_foreseen(each, trend, now, watched=watched) for each in thresholds]
        lately, last = _over(trend.lately), _over(trend.last_fall)
        return {
            "fillRate": round(rate),
            "overSeconds": round(trend.present_time / SECOND, 1),
            "lately": lately,
            "lastFall": last,
            "lastChange": _last_change(trend, now),
            "fellBefore": None,
            "thresholds": foreseen,
        }
    fell = trend.rate_before if is_present and trend.fill_rate is None else None
    unforeseen = [
        {**each, "secondsToThreshold": None, "secondsAsBefore": fell and trend.seconds_at(fell, each["limit"], now)}
        for each in thresholds
    ]
    return {
        "fillRate": 0 if rate is not None and trend.enough else None,
        "overSeconds": None,
        "lately": None,
        "lastFall": None,
        "lastChange": _last_change(trend, now),
        "fellBefore": fell and round(fell),
        "thresholds": unforeseen,
    }


def _over(fall: Fall | None) -> dict[str, Any] | None:
    """Return a time in seconds and the fill rate over it."""
    return None if fall is None else {"overSeconds": round(fall.time / SECOND, 1), "fillRate": round(fall.rate)}


def _last_change(trend: Trend, now: int) -> dict[str, Any] | None:
    """Return the fill rate between the last two readings, the seconds between them, and those since the last one."""
    if (last := trend.last_change) is None:
        return None
    return {**(_over(last.fall) or {}), "agoSeconds": round((now - last.at) / SECOND, 1)}


def _foreseen(threshold: dict[str, Any], trend: Trend, now: int, *, watched: bool) -> dict[str, Any]:
    """Leave out a time to a threshold where the fall has ended, or, if it is not near, was as low before and rose again.

    Beside it stands the time at the rate of the last two readings, where that is much steeper. Where that time is over and a
    crossing would have been noticed, the fall at that rate has ended.
    """
    seconds = threshold["secondsToThreshold"]
    if seconds is not None and (last := trend.last_fall) is not None:
        sooner = trend.seconds_at(last.rate, threshold["limit"], now - _NOTICED_AFTER)
        if sooner != 0 or not watched:
            threshold = {**threshold, "secondsAtLastFall": trend.seconds_at(last.rate, threshold["limit"], now)}
    if seconds is not None and trend.has_ended:
        return {**threshold, "secondsToThreshold": None}
    if seconds is None or (lowest := trend.recovered_from(threshold["limit"])) is None:
        return threshold
    if seconds <= SOON_SECONDS:
        return {**threshold, "recoveredFrom": lowest}
    return {**threshold, "secondsToThreshold": None}
