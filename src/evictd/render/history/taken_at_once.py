"""Says of a pause of evictions what the last two evicted pods held, where growth took that: they "gave back 0" otherwise."""

from collections.abc import Mapping
from typing import Any

from evictd.codec.journal_record import JournalRecord
from evictd.core.model.signal import SIGNALS, signal_named
from evictd.render.history.recorded_amount import recorded_amount
from evictd.render.text import usage_text

_LAST = 2


def taken_at_once(record: JournalRecord, finding: Mapping[str, Any]) -> str:
    """Return a clause where more is missing than before the last two evictions; empty where it is not known, or not so."""
    name, missing = str(finding.get("signal")), recorded_amount(finding.get("needed"))
    signal, last = signal_named(name), record.state.effects.get(name, ())[-_LAST:]
    if signal is None or missing is None or len(last) < _LAST:
        return ""
    held, freed = sum(each.held for each in last), sum(each.freed for each in last)
    if held <= freed or missing < last[0].missing:
        return ""
    took = "the rest" if freed else "as much"
    return f"; the two pods held {usage_text(held, SIGNALS[signal].resource)}, and what grew took {took} at once"
