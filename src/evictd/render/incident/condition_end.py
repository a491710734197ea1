"""Says of each node condition at the end of a journal until when it stands although no threshold of it is met any more."""

from collections.abc import Mapping

from evictd.codec.journal_record import JournalRecord
from evictd.codec.times import parse_time, rfc3339
from evictd.core.model.signal import SIGNALS, NodeCondition, Signal
from evictd.core.units.duration import SECOND
from evictd.errors import InvalidValueError
from evictd.render.attribution import clock_text
from evictd.render.incident.aftermath import says_met
from evictd.render.incident.readings import threshold_findings


def condition_ends(last: JournalRecord) -> Mapping[str, str]:
    """Return by type a clause about each condition that the last record has; none of one with a threshold that is met."""
    period = last.config.pressure_transition_period
    if period is None:
        return {}
    return {
        each.value: f"no threshold of it has been met since {since}: it stands until {_after_clear(last, each, period)}"
        for each in NodeCondition
        if (since := _after_clear(last, each, 0))
    }


def clear_text(last: JournalRecord, signal: Signal | None) -> str:
    """Write since when no threshold of a signal is met, as a clause; empty while one is, or where that is not known."""
    condition = None if signal is None else SIGNALS[signal].condition
    if signal is None or condition is None or not (since := _after_clear(last, condition, 0)):
        return ""
    return f"no threshold of {signal.value} has been met since {clock_text(since)}"


def _after_clear(last: JournalRecord, condition: NodeCondition, period: int) -> str:
    """Return the time at which a threshold of a condition was last met, plus a period in nanoseconds.

    Empty while a threshold is met, and where that time is not known.
    """
    observed, met = last.state.node_conditions_last_observed_at.get(condition.value), _met(last, condition)
    if observed is None or not met or any(met):
        return ""
    try:
        return rfc3339(parse_time(last.wall) - (last.now - observed - period) // SECOND * SECOND)
    except InvalidValueError:  # a damaged time
        return ""


def _met(last: JournalRecord, condition: NodeCondition) -> list[bool]:
    """Return of each threshold of a condition whether it is met in the last record."""
    signals = (each for each in Signal if SIGNALS[each].condition is condition)
    return [says_met(found) for each in signals for found in threshold_findings(last, each)]
