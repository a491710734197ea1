"""Folds the events that the pods of one owner repeat, so that a long history shows the first round, the last and a count."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from evictd.codec.times import parse_time
from evictd.core.units.duration import SECOND
from evictd.errors import InvalidValueError
from evictd.render.folding import without_rounds
from evictd.render.history.history import EventKind, HistoryEvent, killed_of
from evictd.render.text import counted, duration_text, first_of

_NAMED = 3
"""How many pods are named at most of which the kernel killed processes."""

_UNEVEN = 2
"""Events come unevenly where the longest time between two is more than this many times the shortest one."""


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
        first = events[each.start]
        of = f" of {owners[first.uid]}" if first.uid in owners else ""
        pods = () if first.kind is not EventKind.KERNEL else killed_of(events[each.start : each.end])
        killed = f", of {first_of(pods, _NAMED)}" if len(pods) > 1 else ""
        often = f"{killed}{_interval([found.at for found in events[each.start : each.end : each.length]])}"
        yield f"... the same{of} {counted(each.count - 2, 'more time')}{often}; the last time ({lists_each} lists each):"


def _interval(times: Sequence[str]) -> str:
    """Write the time from one to the next, or of uneven times the least and the most; empty where a time is damaged."""
    try:
        at = list(map(parse_time, times))
    except InvalidValueError:
        return ""
    between = [after - before for before, after in pairwise(at)]
    least, most, mean = min(between), max(between), (at[-1] - at[0]) // len(between)
    if most > _UNEVEN * max(least, SECOND):
        return f", {duration_text(least)} to {duration_text(most)} apart"
    return f", every {duration_text(mean)}"


def _what_repeats(event: HistoryEvent, owners: Mapping[str, str]) -> tuple[object, ...] | None:
    """Return what makes events of several pods of one owner equal; `None` for one that is like no other."""
    if event.uid in owners:
        because = event.evidence.get("because")
        signal = str(because.get("signal")) if isinstance(because, Mapping) else ""
        return event.kind, owners[event.uid], event.dry_run, signal
    if event.kind is EventKind.KERNEL:
        return event.kind, bool(event.pod)  # in no order: each container waits for its own restart
    return (event.kind, event.text) if event.kind is EventKind.CONDITIONS else None
