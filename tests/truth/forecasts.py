"""Compares what the headline says of a played world with what happens in it next.

A statement is judged only by what could be known of it: growth that begins after the last reading has no sign yet.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from evictd.core.model.finding import ThresholdFinding
from evictd.core.units.duration import SECOND
from evictd.daemon.telemetry.statusz.status_page import snapshot_view, status_document
from evictd.render.history.pod.standing import place_in
from evictd.render.node_view import explanation_document
from evictd.render.status.headline import Headline, headline
from evictd.render.status.holders import full_name, row_numbers
from evictd.render.status.next_pod import goes_at_threshold
from evictd.render.status.times.depletion import depletions
from evictd.render.status.times.timing import approaches, first_to_act, graces
from evictd.world.loop import Run
from tests.render.snapshots import snapshots
from tests.truth.played import granted_of

Document = Mapping[str, Any]

SOON = 60.0
"""Seconds before an eviction in which the headline is to say that one comes, and which pod goes."""
_CYCLE = 10.0
"""Seconds between two readings of a calm node."""
_TOLERANCE = 4 / 3
_TIMED = re.compile(r"(?P<pod>\S+/\S+) would be evicted (then|in about)")


class Eviction(NamedTuple):
    """An eviction for pressure: when in seconds, which pod, and for which signal."""

    at: float
    pod: str
    signal: str


class Said(NamedTuple):
    """What is said of a node at one time, in seconds of the world."""

    at: float
    headline: Headline
    document: Document
    explained: Document
    readings: int


class Judged(NamedTuple):
    """A statement of a kind; `wrong` is empty where it held."""

    kind: str
    wrong: str
    detail: str


def statements(run: Run, each: float = 5.0) -> Iterator[Said]:
    """Yield what is said at the cycles of a run, at most once a second, and between two cycles every so many seconds."""
    ends, said_at = [*(cycle.at for cycle in run.cycles[1:]), run.cycles[-1].at + 1], -SECOND
    for number, (snapshot, end) in enumerate(zip(snapshots(run), ends, strict=True), 1):
        if snapshot.at < said_at + SECOND:
            continue
        view, at = snapshot_view(snapshot), snapshot.at
        explained = explanation_document(view, rows=None)
        while at < end:
            document = status_document(view, snapshot, at, reload_fault="")
            yield Said(at / SECOND, headline(document, (), depletions(document)), document, explained, number)
            said_at, at = at, at + round(each * SECOND)


def judged(run: Run) -> Iterator[Judged]:
    """Yield each statement that a run can refute, with what was wrong in it."""
    happened = _evictions(run)
    for said in statements(run):
        yield from _of_one_time(said)
        then = next((each for each in happened if each.at > said.at), None)
        if said.headline.level == "calm":
            yield _of_calm(said, then)
        if not said.document["leaving"] and not said.document["asked"]:
            yield from _of_next(said, then)
            yield from _of_time(said, run)


def _evictions(run: Run) -> list[Eviction]:
    """Return the evictions for pressure that the API server granted."""
    return [
        Eviction(at / SECOND, each.pod.full_name, each.because.threshold.signal.value)
        for at, each in granted_of(run)
        if not each.shortens and each.because.threshold is not None
    ]


def _of_calm(said: Said, then: Eviction | None) -> Judged:
    """Judge that a node is calm: with one reading, or while the signal falls, that is not known."""
    wrong = ""
    if then is not None and then.at - said.at <= SOON:
        entry = next(each for each in said.document["signals"] if each["signal"] == then.signal)
        above = entry["available"] - max(each["limit"] for each in entry["thresholds"])
        if said.readings == 1:
            wrong = "at the first reading"
        elif (entry["lastChange"] or {"fillRate": 0})["fillRate"] * SOON > above:
            wrong = "while the signal falls"
    return Judged("calm", wrong, _detail(said, then))


def _of_next(said: Said, then: Eviction | None) -> Iterator[Judged]:
    """Judge the pod that goes by the headline, less than a minute before an eviction for the same supply."""
    entry = _acting(said.document)
    if entry is None or then is None or then.at - said.at > SOON or _kind(entry["signal"]) != _kind(then.signal):
        return
    named = [each["pod"] for each in (goes_at_threshold(entry), entry["next"], entry["nextIfItStops"]) if each]
    growing = [each["pod"] for each in (entry["growing"] or {"pods": ()})["pods"]]
    within = next(each for each in (5, 15, 30, 60) if then.at - said.at <= each)
    wrong = ""
    if not named:
        wrong = "none is named"
    elif then.pod not in named and then.pod in growing:
        wrong = "another pod that grows goes"
    yield Judged(f"next pod, {within}s before", wrong, _detail(said, then))


def _of_time(said: Said, run: Run) -> Iterator[Judged]:
    """Judge the time at which the first threshold is met, where none is met yet: it is not sooner, unless growth begins."""
    near = approaches(said.document)
    if not near or any(threshold["met"] for each in said.document["signals"] for threshold in each["thresholds"]):
        return
    first = first_to_act(said.document, near[0])
    met = _met_at(run, said.at, first.entry["signal"], first.threshold["limit"])
    wrong = ""
    if met is not None and (met - said.at) * _TOLERANCE + _CYCLE / 2 < first.soonest:
        rate = (first.entry["lastChange"] or {"fillRate": 0})["fillRate"]
        passed = (met - said.at + said.document["ageSeconds"]) * _TOLERANCE
        if rate * passed >= first.entry["available"] - first.threshold["limit"]:
            wrong = "it is met earlier, as the last two readings show"
    yield Judged("time", wrong, f"{_detail(said, None)} met after {'-' if met is None else met - said.at}")


def _of_one_time(said: Said) -> Iterator[Judged]:
    """Judge that the headline, the order and the places, all said at one time, name the same pods and count alike."""
    entries = {each["signal"]: each for each in said.document["signals"]}
    for queue in said.explained["queues"]:
        for entry in filter(None, map(entries.get, queue["signals"])):
            named = entry["next"] and entry["next"]["pod"]
            wrong = "" if named == queue["next"] else "status and explain name another next pod"
            yield Judged(
                "next pod of one time", wrong, f"{_detail(said, None)} {entry['signal']}: {named}, {queue['next']}"
            )
        names = [full_name(row) for row in queue["rows"]]
        places = [place.number for each in names if (place := place_in(queue, each)) is not None]
        of_page = zip(row_numbers(queue["rows"]), queue["rows"], strict=True)
        wrong = (
            "" if places == [0 if row["protected"] else n for n, row in of_page] else "why and the page count otherwise"
        )
        yield Judged("places of one time", wrong, _detail(said, None))
    entry, timed = _acting(said.document), _TIMED.search(said.headline.text)
    if timed and entry is not None and not any(each["met"] for each in entry["thresholds"]):
        goes = goes_at_threshold(entry)
        wrong = "" if goes and goes["pod"] == timed["pod"] else "the pod beside a time is not the one that goes then"
        yield Judged("pod beside a time", wrong, _detail(said, None))


def _acting(document: Document) -> Document | None:
    """Return the entry of the threshold that the headline names."""
    if any(threshold["met"] for each in document["signals"] for threshold in each["thresholds"]):
        return next((each.entry for each in graces(document)), None)
    near = approaches(document)
    return first_to_act(document, near[0]).entry if near else None


def _met_at(run: Run, at: float, signal: str, limit: int) -> float | None:
    """Return when a threshold is met first after a time, in seconds; `None` where it is not."""
    return next(
        (
            cycle.at / SECOND
            for cycle in run.cycles
            if cycle.at > at * SECOND
            for each in cycle.step.findings
            if isinstance(each, ThresholdFinding) and each.met
            if (each.threshold.signal.value, each.limit.value()) == (signal, limit)
        ),
        None,
    )


def _kind(signal: str) -> str:
    """Return what two signals of one disk have in common; here nodefs and imagefs are one."""
    return "disk" if "fs." in signal else signal


def _detail(said: Said, then: Eviction | None) -> str:
    comes = "" if then is None else f" | {then.pod} goes after {then.at - said.at:.1f}s for {then.signal}"
    return f"at {said.at:.0f}s: {said.headline.text}{comes}"
