"""Says that a hard threshold will cut the grace period of a pod that leaves for a soft one, from the document of `/statusz`."""

from collections.abc import Mapping
from typing import Any

from evictd.render.status.times.depletion import FORESEEN_SECONDS
from evictd.render.status.times.timing import acts_in, in_text, slowed

Document = Mapping[str, Any]

# Plain values: importing the decisions takes a third of the time of `status`.
_KUBELET = "Kubelet"
_CUT_TO = 1
"""Seconds: `core.model.state.IMMEDIATE_EVICTION_GRACE_PERIOD_SECONDS`."""
_STOP_TIME = 0.5
"""Seconds: `core.eviction.time_left.STOP_TIME`."""


def cut_at_hard(row: Document, status: Document) -> str:
    """Write that a hard threshold cuts the grace period of a leaving pod; empty where none does, or nothing is to cut."""
    if status["policy"] == _KUBELET or row["gracePeriodSeconds"] <= _CUT_TO:
        return ""
    hard = _hard(row, status)
    if not hard or any(each["met"] for each in hard):
        return ""
    return f"cut to {_CUT_TO}s as soon as the hard threshold is met"


def cut_in(row: Document, status: Document) -> str:
    """Write after a comma when the hard threshold is met that cuts the grace period; empty where that is not foreseen."""
    entry = entry_of(row, status)
    if entry is None or slowed(entry):
        return ""
    times = [left for each in _hard(row, status) if (left := each["secondsToThreshold"]) is not None]
    return f", {in_text(min(times))} at the present rate" if times and min(times) <= FORESEEN_SECONDS else ""


def next_cut_at_hard(entry: Document, status: Document) -> str:
    """Write after a comma the grace period of the next pod, where a hard threshold will be met before its end; else nothing.

    Where the hard threshold comes before a soft one acts, that is the one which it will have.
    """
    row = {"gracePeriodSeconds": 0, **entry["next"], "signal": entry["signal"]}
    grace, cut = row["gracePeriodSeconds"], cut_at_hard(row, status)
    times = [left for each in _hard(row, status) if (left := each["secondsToThreshold"]) is not None]
    acts = _soft_acts(entry)
    if not cut or not times or min(times) >= acts + grace:
        return ""
    if min(times if not slowed(entry) else _times_lately(row, entry, status), default=acts + grace) <= acts:
        return f", with a grace period of {fitting_grace(entry)}s"
    return f", with a grace period of {grace}s, {cut}{cut_in(row, status)}"


def fitting_grace(entry: Document) -> int:
    """Return the grace period in seconds at the hard threshold: 0 where the rest does not last for it and a stop at the rate."""
    hard = (each for each in entry["thresholds"] if _is_hard(each))
    rates = (entry, entry.get("lastFall") or {}) if not slowed(entry) else (entry["lately"],)
    rate = max((each.get("fillRate") or 0 for each in rates), default=0)
    lasts = all(each["limit"] >= rate * (_CUT_TO + _STOP_TIME) for each in hard)
    return _CUT_TO if lasts else 0


def _times_lately(row: Document, entry: Document, status: Document) -> list[float]:
    """Return in how many seconds the hard thresholds are met at the lower rate of the last readings."""
    rate = entry["lately"]["fillRate"]
    return [(entry["available"] - each["limit"]) / rate for each in _hard(row, status)] if rate > 0 else []


def _soft_acts(entry: Document) -> float:
    """Return in how many seconds the first soft threshold of a signal acts; 0 where none is foreseen."""
    return min(
        (
            left
            for each in entry["thresholds"]
            if each["kind"] == "soft" and each["origin"] != "derived" and (left := acts_in(each)) is not None
        ),
        default=0.0,
    )


def _hard(row: Document, status: Document) -> list[Document]:
    """Return the hard thresholds of the signal that a pod leaves for."""
    thresholds = (entry_of(row, status) or {"thresholds": ()})["thresholds"]
    return [each for each in thresholds if _is_hard(each)]


def _is_hard(threshold: Document) -> bool:
    return bool(threshold["kind"] == "hard" and threshold["origin"] != "derived")


def entry_of(row: Document, status: Document) -> Document | None:
    """Return the signal that a pod leaves for; `None` where it cannot be read."""
    return next((each for each in status["signals"] if each["signal"] == row.get("signal") and each["observed"]), None)
