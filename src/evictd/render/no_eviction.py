"""Says of a journal without an eviction what was short, why no pod went, and what to do."""

from collections.abc import Iterable

from evictd.core.model.signal import SIGNALS, signal_named
from evictd.render.history import EventKind, HistoryEvent
from evictd.render.remedies import remedy_of

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
    signal = signal_named(last.signal)
    resource = None if signal is None else SIGNALS[signal].resource
    remedy = remedy_of(str(last.evidence.get("reason")), resource, last.pod)
    return f"the journal has no eviction. {last.at}: {last.text}" + (f"; now: {remedy}" if remedy else "")
