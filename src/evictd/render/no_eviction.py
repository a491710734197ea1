"""Says of a journal without an eviction what was short, why no pod went, and what to do."""

import re
from collections.abc import Iterable

from evictd.core.model.signal import SIGNALS, signal_named
from evictd.render.history import EventKind, HistoryEvent
from evictd.render.remedies import remedy_of

_SHORT_OF = re.compile(r"No pod is evicted for ([\w.]+)")
_NOTHING = "the journal has no eviction; `evictd history` says what was decided"


def no_eviction_text(events: Iterable[HistoryEvent]) -> str:
    """Write the last reason for which no pod was evicted, and what to do about it; where there is none, where to look."""
    last = next(
        (each for each in reversed(list(events)) if each.kind in {EventKind.NO_ACTION, EventKind.SHORTENED}), None
    )
    if last is None:
        return _NOTHING
    if last.kind is EventKind.SHORTENED:
        return f"the journal has no eviction. {last.at}: {last.text}; it was being deleted already"
    found = _SHORT_OF.match(last.text)
    signal = None if found is None else signal_named(found[1])
    resource = None if signal is None else SIGNALS[signal].resource
    remedy = remedy_of(str(last.evidence.get("reason")), resource, last.pod)
    return f"the journal has no eviction. {last.at}: {last.text}" + (f"; now: {remedy}" if remedy else "")
