"""Folds the reclaims that found nothing to delete, of which one comes with each eviction for a disk, in a list of events."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.text import counted

_DELETE = "delete "
"""How the text of a reclaim begins."""


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
    """Return each reclaim with the results that follow it, and each other event alone."""
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
    if reclaim.kind is not EventKind.RECLAIM or not results or not empty or not reclaim.text.startswith(_DELETE):
        return None
    return reclaim.text.removeprefix(_DELETE)
