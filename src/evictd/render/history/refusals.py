"""Folds the refusals of a pod's eviction, for which evictd asks again each ten seconds, in a list of events."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from evictd.render.attribution import clock_text
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.text import clean

_LEAST = 3
"""Fewest refusals of one pod that are folded."""
_ASKED = frozenset({EventKind.REQUESTED, EventKind.REFUSED})


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


def _folded(events: Sequence[HistoryEvent], left_out: set[int], counted: Mapping[int, str]) -> list[HistoryEvent]:
    kept = ((place, event) for place, event in enumerate(events) if place not in left_out)
    return [replace(event, text=counted.get(place, event.text)) for place, event in kept]
