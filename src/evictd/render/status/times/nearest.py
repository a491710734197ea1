"""Says which threshold is the nearest, by time or else by distance, from the document of `/statusz`."""

from collections.abc import Mapping
from typing import Any

from evictd.core.model.signal import STALLS, Signal
from evictd.render.status.signal_entry import has_stopped
from evictd.render.status.times.depletion import FORESEEN_SECONDS
from evictd.render.status.times.timing import approaches, slowed
from evictd.render.text import gap_text, signal_amount

Document = Mapping[str, Any]


def nearest(status: Document) -> str:
    """Return the threshold that is met first at the present rates; if none is foreseen, the one at the least distance."""
    if text := nearest_by_time(status):
        return f"Nearest by time: {text}."
    distances = [
        ((entry["available"] - threshold["limit"]) / max(entry["capacity"], 1), entry, threshold)
        for entry in status["signals"]
        if entry["observed"]
        for threshold in entry["thresholds"]
        if threshold["origin"] != "derived"
    ]
    if not distances:
        return ""
    _, entry, threshold = min(distances, key=lambda each: each[0])
    signal = Signal(entry["signal"])
    side = "below" if signal in STALLS else "above"
    left = f"{gap_text(entry['available'] - threshold['limit'], signal)} {side} its {threshold['kind']} threshold"
    limit = signal_amount(threshold["limit"], signal)
    known = any(each["fillRate"] is not None for each in status["signals"] if each["observed"])
    why = "no threshold would be met within an hour at the present rates" if known else "no rate is known yet"
    if falling := [each["signal"] for each in status["signals"] if _falls_as_before(each)]:
        verb = "falls, but was" if len(falling) == 1 else "fall, but were"
        names = ", ".join(falling)
        why = f"{names} {verb} as low within the last hour and rose again"
        if falling == [entry["signal"]]:
            why = "it falls, but it was as low within the last hour and rose again"
    return f"Nearest by distance: {entry['signal']}, {left} {limit}; {why}."


def nearest_by_time(status: Document) -> str:
    """Return when the first threshold is met at the present rates, and acts, without a full stop; empty if none is foreseen."""
    near = [each for each in approaches(status, FORESEEN_SECONDS) if not has_stopped(each.entry)]
    return f"{near[0].text}{near[0].and_acts}" if near else ""


def _falls_as_before(entry: Document) -> bool:
    """Whether a threshold would be met within an hour at the present rate, and is not foreseen: see `Trend.recovered_from`."""
    rate = entry.get("fillRate") or 0
    return (
        rate > 0
        and not slowed(entry)
        and any(
            not each["met"]
            and each["secondsToThreshold"] is None
            and entry["available"] - each["limit"] <= rate * FORESEEN_SECONDS
            for each in entry["thresholds"]
        )
    )
