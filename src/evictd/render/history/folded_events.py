"""Folds what repeats in events: refusals, reasons for no eviction, reclaims that found nothing, events of one owner's pods."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, pairwise

from evictd.codec.times import parse_time
from evictd.core.units.duration import SECOND
from evictd.errors import InvalidValueError
from evictd.render.attribution import clock_text
from evictd.render.folding import without_rounds
from evictd.render.history.history import EventKind, HistoryEvent, killed_of
from evictd.render.text import DELETES, clean, counted, duration_text, first_of

_NAMED = 3
"""How many pods are named at most of which the kernel killed processes."""
_UNEVEN = 2
"""Events come unevenly where the longest time between two is more than this many times the shortest one."""
_LEAST = 3
"""Fewest refusals of one pod that are folded."""
_BEGINS_ANEW = frozenset(
    {EventKind.EVICTED, EventKind.REQUESTED, EventKind.CONDITIONS, EventKind.BOOT, EventKind.RESUMED}
)
"""Events after which a reason for which no pod is evicted is listed again."""
_ASKED = frozenset({EventKind.REQUESTED, EventKind.REFUSED})


def folded_events(events: Sequence[HistoryEvent], lists_each: str) -> Iterator[HistoryEvent | str]:
    """Yield the events, and a sentence in place of what one owner's pods repeat between the first round and the last.

    Refusals of one pod, and reclaims that found nothing, are one event each.
    `lists_each` is the option or the command that lists what is left out.
    """
    events = without_empty_reclaims(without_repeated_reasons(without_repeated_refusals(events)))
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
        return event.kind, owners[event.uid], event.dry_run, str(event.because.get("signal"))
    if event.kind is EventKind.KERNEL:
        return event.kind, bool(event.pod)  # in no order: each container waits for its own restart
    return (event.kind, event.text) if event.kind is EventKind.CONDITIONS else None


def without_empty_reclaims(events: Sequence[HistoryEvent]) -> list[HistoryEvent]:
    """Return the events with one in place of reclaims that follow each other and deleted nothing, each with its results."""
    found = list[HistoryEvent]()
    for first, rounds in groupby(_rounds(events), key=_what_found_nothing):
        each = list(rounds)
        if first is None:
            found += [event for one in each for event in one]
            continue
        times = f"{counted(len(each), 'time')} " if len(each) > 1 else ""
        found.append(replace(each[0][0], text=f"looked {times}for {first}: nothing"))
    return found


def _rounds(events: Sequence[HistoryEvent]) -> Iterator[list[HistoryEvent]]:
    """Yield each reclaim with the results that follow it, and each other event alone."""
    found = list[HistoryEvent]()
    for event in events:
        if found and not (event.kind is EventKind.RECLAIMED and found[0].kind is EventKind.RECLAIM):
            yield found
            found = []
        found.append(event)
    if found:
        yield found


def _what_found_nothing(found: Sequence[HistoryEvent]) -> str | None:
    """Return what a reclaim looked for and did not find: `unused images for nodefs.available`; else `None`."""
    reclaim, *results = found
    empty = all(not each.evidence.get("removed") and not each.evidence.get("error") for each in results)
    if reclaim.kind is not EventKind.RECLAIM or not results or not empty or not reclaim.text.startswith(DELETES):
        return None
    return reclaim.text.removeprefix(DELETES)


def without_repeated_refusals(events: Sequence[HistoryEvent]) -> list[HistoryEvent]:
    """Return the events without the requests and refusals that repeat a pod's first; the first refusal counts them.

    A request that was not answered yet stays. Another event of the pod, as when it goes in the end, begins anew.
    """
    runs: list[list[int]] = []
    open_runs: dict[str, list[int]] = {}
    for place, event in enumerate(events):
        if event.kind not in _ASKED:
            open_runs.pop(event.uid, None)
        elif event.uid in open_runs:
            open_runs[event.uid].append(place)
        else:
            open_runs[event.uid] = [place]
            runs.append(open_runs[event.uid])
    left_out, counted = set[int](), dict[int, str]()
    for run in runs:
        refusals = [place for place in run if events[place].kind is EventKind.REFUSED]
        if len(refusals) < _LEAST:
            continue
        first, last = refusals[0], refusals[-1]
        left_out |= {place for place in run if first < place <= last}
        times = f"{len(refusals) - 1} times more until {clean(clock_text(events[last].at))}"
        counted[first] = f"{events[first].text}, and {times}"
    return _folded(events, left_out, counted)


def without_repeated_reasons(events: Sequence[HistoryEvent]) -> list[HistoryEvent]:
    """Return the events with the first of those that say the same reason for which no pod is evicted; it counts the others.

    An eviction or a change of the conditions begins anew.
    """
    runs: list[list[int]] = []
    open_runs: dict[tuple[object, ...], list[int]] = {}
    for place, event in enumerate(events):
        if event.kind in _BEGINS_ANEW:
            open_runs.clear()
        elif event.kind is EventKind.NO_ACTION:
            key = event.text, event.dry_run
            if key not in open_runs:
                runs.append(open_runs.setdefault(key, []))
            open_runs[key].append(place)
    left_out = {place for run in runs for place in run[1:]}
    counted_in = dict[int, str]()
    for first, *others in runs:
        if others:
            last = clean(clock_text(events[others[-1]].at))
            again = f"again at {last}" if len(others) == 1 else f"{len(others)} more times until {last}"
            counted_in[first] = f"{events[first].text}; the same {again}"
    return _folded(events, left_out, counted_in)


def _folded(events: Sequence[HistoryEvent], left_out: set[int], counted: Mapping[int, str]) -> list[HistoryEvent]:
    kept = ((place, event) for place, event in enumerate(events) if place not in left_out)
    return [replace(event, text=counted.get(place, event.text)) for place, event in kept]
