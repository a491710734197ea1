"""Leaves out the times in which evictd compared no threshold and that are over: they are no reason for what happens now."""

from collections.abc import Iterable

from evictd.render.history.history import EventKind, HistoryEvent


def without_ended_blindness(events: Iterable[HistoryEvent]) -> tuple[HistoryEvent, ...]:
    """Return the events without the reasons that ended with a `Resumed`, and without that."""
    kept = list[HistoryEvent]()
    for event in events:
        if event.kind is EventKind.RESUMED:
            kept = [each for each in kept if each.kind is not EventKind.NO_ACTION or each.evidence != event.evidence]
        else:
            kept.append(event)
    return tuple(kept)
