"""Says of a pause of evictions what the last two evicted pods held, where growth took that: they "gave back 0" otherwise."""

import re
from collections.abc import Mapping
from typing import Any

from evictd.codec.journal_record import JournalRecord
from evictd.core.model.signal import SIGNALS, signal_named
from evictd.core.units.quantity import parse_quantity
from evictd.errors import InvalidValueError
from evictd.render.text import usage_text

_LAST = 2
_GAVE_BACK = re.compile(r"the last two evictions (?:gave back [^;,]+|left no more available)")


def with_taken(text: str, record: JournalRecord, finding: Mapping[str, Any]) -> str:
    """Return the recorded message of a pause, with what the last two evicted pods held where more is missing than before."""
    signal, gave_back = signal_named(str(finding.get("signal"))), _GAVE_BACK.search(text)
    effects = record.state.effects.get(str(finding.get("signal")), ())[-_LAST:]
    if signal is None or gave_back is None or len(effects) < _LAST:
        return text
    try:
        missing = parse_quantity(str(finding.get("needed"))).value()
    except InvalidValueError:
        return text
    held, freed = (sum(amounts) for amounts in zip(*((each.held, each.freed) for each in effects), strict=True))
    if held <= freed or missing < effects[0].missing:
        return text
    took = f" (they held {usage_text(held, SIGNALS[signal].resource)}, and what grew took as much at once)"
    return f"{text[: gave_back.end()]}{took}{text[gave_back.end() :]}"
