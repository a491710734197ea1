"""Folds the events that the pods of one owner repeat, so that a long history shows the first round, the last and a count."""

from collections.abc import Iterator, Mapping, Sequence

from evictd.codec.times import parse_time
from evictd.errors import InvalidValueError
from evictd.render.folding import without_rounds
from evictd.render.history import EventKind, HistoryEvent, killed_of
from evictd.render.text import counted, duration_text, first_of

_NAMED = 3
"""How many pods are named at most of which the kernel killed processes."""


def folded_events(events: Sequence[HistoryEvent], lists_each: str) -> Iterator[HistoryEvent | str]:
    """Return the events, and a sentence in place of what one owner's pods repeat between the first round and the last.

    `lists_each` is the option or the command that lists what is left out.
    """
    owners = {event.uid: event.owner for event in events if event.owner}
    keys = [_what_repeats(event, owners) or place for place, event in enumerate(events)]
    for each in without_rounds(keys):
        if isinstance(each, int):
            yield events[each]
            continue
        first, last = events[each.start], events[each.end - each.length]
        of = f" of {owners[first.uid]}" if first.uid in owners else ""
        pods = () if first.kind is not EventKind.KERNEL else killed_of(events[each.start : each.end])
        killed = f", of {first_of(pods, _NAMED)}" if len(pods) > 1 else ""
        often = f"{killed}{_interval(first.at, last.at, each.count - 1)}"
        yield f"... the same{of} {counted(each.count - 2, 'more time')}{often}; the last time ({lists_each} lists each):"


def _interval(first: str, last: str, count: int) -> str:
    """Write how long it took from one time to the next; empty where a time is damaged."""
    try:
        return f", every {duration_text((parse_time(last) - parse_time(first)) // count)}"
    except InvalidValueError:
        return ""


def _what_repeats(event: HistoryEvent, owners: Mapping[str, str]) -> tuple[object, ...] | None:
    """Return what makes events of several pods of one owner equal; `None` for one that is like no other."""
    if event.uid in owners:
        because = event.evidence.get("because")
        signal = str(because.get("signal")) if isinstance(because, Mapping) else ""
        return event.kind, owners[event.uid], event.dry_run, signal
    if event.kind is EventKind.KERNEL:
        return event.kind, bool(event.pod)  # in no order: each container waits for its own restart
    return (event.kind, event.text) if event.kind is EventKind.CONDITIONS else None
