"""Says of a node that is short at the end of a journal until when evictions pause, and what follows then."""

from collections.abc import Mapping
from typing import Any

from evictd.codec.journal_record import JournalRecord
from evictd.codec.times import parse_time, rfc3339
from evictd.core.model.amount_text import amount_with
from evictd.core.model.finding import NoActionReason
from evictd.core.model.signal import SIGNALS, Signal
from evictd.core.units.quantity import of_count
from evictd.errors import InvalidValueError
from evictd.render.attribution import clock_text
from evictd.render.history.recorded_amount import recorded_amount


def pause_clause(last: JournalRecord, signal: Signal | None) -> str:
    """Write until when evictions pause for the node condition of a signal, as a clause; empty where they do not."""
    alike = [each for each in Signal if signal is not None and SIGNALS[each].condition is SIGNALS[signal].condition]
    texts = (_text(last, finding, each) for finding in last.findings for each in alike if _pauses(finding, each))
    return next(texts, "")


def _pauses(finding: Mapping[str, Any], signal: Signal) -> bool:
    in_vain = finding.get("why") == NoActionReason.EVICTIONS_DO_NOT_HELP.value
    return in_vain and finding.get("signal") == signal.value and isinstance(finding.get("until"), int)


def _text(last: JournalRecord, finding: Mapping[str, Any], signal: Signal) -> str:
    try:
        at = clock_text(rfc3339(parse_time(last.wall) + finding["until"] - last.now))
    except InvalidValueError:  # a damaged time
        return ""
    missing = recorded_amount(finding.get("needed"))
    short = (
        f"{amount_with(of_count(missing), SIGNALS[signal].resource, 'was', 'were')} missing at the last record; "
        if missing
        else ""
    )
    return f"{short}evictions pause until {at}, and one more pod goes then if a threshold is still met"
