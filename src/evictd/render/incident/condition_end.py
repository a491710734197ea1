"""Says of each node condition at the end of a journal until when it stands although no threshold of it is met any more."""

from collections.abc import Mapping

from evictd.codec.journal_record import JournalRecord
from evictd.codec.times import parse_time, rfc3339
from evictd.core.model.signal import SIGNALS, NodeCondition, Signal
from evictd.core.units.duration import SECOND
from evictd.errors import InvalidValueError
from evictd.render.incident.aftermath import says_met
from evictd.render.incident.readings import threshold_findings


def condition_ends(last: JournalRecord) -> Mapping[str, str]:
    """Return by type a clause about each condition that the last record has; none of one with a threshold that is met."""
    period, observed = last.config.pressure_transition_period, last.state.node_conditions_last_observed_at
    if period is None:
        return {}
    try:
        wall = parse_time(last.wall)
    except InvalidValueError:  # a damaged time
        return {}
    found = dict[str, str]()
    for each in NodeCondition:
        met = _met(last, each)
        if each.value in observed and met and not any(met):
            clear_for = last.now - observed[each.value]
            since = rfc3339(wall - clear_for // SECOND * SECOND)
            until = rfc3339(wall - (clear_for - period) // SECOND * SECOND)
            found[each.value] = f"no threshold of it has been met since {since}: it stands until {until}"
    return found


def _met(last: JournalRecord, condition: NodeCondition) -> list[bool]:
    """Return of each threshold of a condition whether it is met in the last record."""
    signals = (each for each in Signal if SIGNALS[each].condition is condition)
    return [says_met(found) for each in signals for found in threshold_findings(last, each)]
