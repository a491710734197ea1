"""Says of an eviction for a soft threshold alone how much was left above the hard one, which was not met."""

from evictd.render.incident.incident import Incident
from evictd.render.text import signal_amount


def went_for_soft(found: Incident) -> bool:
    """Whether the pod went for a soft threshold and no hard one of the signal was met up to its end, as far as readings show."""
    threshold = found.event.because.get("threshold") or {}
    left = [amount for seconds, amount in found.points if 0 < seconds <= (found.gone_after or 0)]
    left += [] if found.available is None else [found.available]
    return bool(threshold.get("gracePeriodNanoseconds")) and min(left, default=0) >= _hard(found)


def above_hard_text(found: Incident) -> str:
    """Write what was left above the hard threshold; empty where that was met, or the record has none."""
    hard = _hard(found)
    if found.signal is None or found.available is None or not hard or not went_for_soft(found):
        return ""
    left, limit = (signal_amount(each, found.signal) for each in (found.available - hard, hard))
    return f"the hard threshold, {limit}, was not met: {left} was left above it"


def _hard(found: Incident) -> int:
    return max((limit for kind, limit in found.levels if kind == "hard"), default=0)
