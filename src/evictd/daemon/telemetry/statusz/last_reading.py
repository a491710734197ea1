"""States in the document of `/statusz` what was read last of a signal that cannot be read, and how it changed then."""

from typing import Any

from evictd.core.model.config import own_thresholds
from evictd.core.model.observation import SignalObservation
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import limit_of
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import of_count
from evictd.daemon.telemetry.snapshot import Snapshot
from evictd.daemon.telemetry.trends import Trend


def last_reading(signal: Signal, snapshot: Snapshot, now: int) -> dict[str, Any] | None:
    """Return the last level, the lowest threshold above it, its age, the fill rate then, and when the next threshold is met.

    The time is from now on, at that rate; below 0 where the threshold would have been met already. `None` where nothing was read
    within the hour.
    """
    trend = snapshot.trends.signals.get(signal, Trend())
    if not trend.recent:
        return None
    last, rate = trend.recent[-1], trend.present_rate if trend.goes_on else None
    seen = SignalObservation(available=of_count(last.available), capacity=of_count(trend.capacity))
    limits = [(limit_of(each, seen).value(), each) for each in own_thresholds(snapshot.config) if each.signal is signal]
    above = [each for each in limits if each[0] < last.available]
    below = [each for each in limits if each[0] > last.available]
    lowest = min(below, key=lambda each: each[0], default=None)
    limit, threshold = max(above, key=lambda each: each[0]) if above else (None, None)
    age = (now - last.at) / SECOND
    seconds = None if limit is None or rate is None else (last.available - limit) / rate - age
    return {
        "available": last.available,
        "agoSeconds": round(age, 1),
        "fillRate": None if rate is None else round(rate),
        "kind": None if threshold is None else "hard" if threshold.hard else "soft",
        "limit": limit,
        "below": None if lowest is None else {"kind": "hard" if lowest[1].hard else "soft", "limit": lowest[0]},
        "secondsToThreshold": None if seconds is None else round(seconds, 1),
    }
