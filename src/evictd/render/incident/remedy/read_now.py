"""Says whether the node is short: by the daemon that answers, otherwise by the journal's last record."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evictd.codec.times import rfc3339
from evictd.core.model.signal import SIGNALS, Signal
from evictd.core.units.duration import SECOND
from evictd.render.attribution import clock_text
from evictd.render.incident.record.aftermath import time_of
from evictd.render.incident.record.incident import Incident
from evictd.render.status.signal_entry import is_pressed
from evictd.render.text import signal_amount


def read_now(found: Incident, status: Mapping[str, Any]) -> Incident:
    """Return the incident with the state of the node as `/statusz` has it; as it was where the signals are not observed.

    The journal may have no record after the eviction until its node condition ends.
    """
    if found.signal is None:
        return found
    condition = SIGNALS[found.signal].condition
    alike = [each for each in status["signals"] if SIGNALS[Signal(each["signal"])].condition is condition]
    if not any(each["observed"] for each in alike):
        return found
    answered = replace(found, answered=True, ends_before_relief=False)
    if met := next((each["signal"] for each in alike if any(map(is_pressed, each["thresholds"]))), ""):
        again = "" if found.still_met else f"a threshold of {met} is met"
        return replace(answered, clear_text="", also_short=again or found.also_short)
    clear = f"no threshold of {found.signal.value} is met"
    return replace(answered, still_met=False, paused="", clear_text=clear)


def short_text(found: Incident) -> str:
    """Write that the node is short, or was at the end of the journal where no daemon answered, and how much was left."""
    if found.answered:
        return "the node is still short"
    if not (left := _left(found)):
        return f"the node was short at the journal's last record, {_clock(found, found.known_for)}"
    return f"the node was short at the journal's last reading, {_clock(found, found.points[-1][0])}, with {left} left"


def last_left_text(found: Incident) -> str:
    """Write how much of what is short was left at the end of the journal; empty where that was enough, or a pause says it."""
    left = _left(found)
    return left and f"{left} was left at the journal's last reading, {_clock(found, found.points[-1][0])}"


def _left(found: Incident) -> str:
    at, left = found.points[-1] if found.points else (0.0, None)
    if not found.still_met or found.answered or found.paused or found.signal is None or at <= 0 or left is None:
        return ""
    if left >= found.highest_limit():
        return ""  # another signal of the supply is short
    return f"{signal_amount(left, found.signal) if left else 'nothing'} of {found.signal.value}"


def _clock(found: Incident, seconds: float) -> str:
    """Return the time so many seconds after the eviction."""
    return clock_text(rfc3339(time_of(found.event.at) + round(seconds * SECOND)))
