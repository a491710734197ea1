"""An incident as text, document and file."""

import io
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

import pytest

from evictd.core.model.signal import Signal
from evictd.core.units.duration import MINUTE
from evictd.render.console import make_console
from evictd.render.history.history import EventKind
from evictd.render.incident.incident_list import incident_list_document
from evictd.render.incident.record.aftermath import MetAfter
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.verdict import EvictionVerdict, Grower, Need
from evictd.render.incident.relief.relief import relief_lines
from evictd.render.incident.remedy.avoidance import avoidance
from evictd.render.incident.view import (
    chart_lines,
    incident_document,
    incident_page,
    next_reading_text,
    print_incident,
    row_text,
)
from tests.render.recorded_incident import incident
from tests.stories import check_golden

GREW = (Grower(pod="default/hog-old", rate=85 << 20),)
NEEDED = EvictionVerdict(
    need=Need.NEEDED, pod="default/hog-old", fewest=("default/hog-old",), growers=GREW, played=5 * MINUTE
)


def test_as_text_it_is_as_in_the_golden_file() -> None:
    out = io.StringIO()
    print_incident(replace(incident(), verdict=NEEDED), make_console(out, width=100))
    check_golden("incident.txt", out.getvalue())


def variants() -> Iterator[tuple[str, Incident]]:
    """One of each kind; what is as in the golden file above is left out."""
    found = incident()
    victim = found.victim
    assert victim is not None
    side = replace(victim, number=1, pod="default/side", usage=1 << 20, chosen=False, skipped="Budget")
    second = replace(victim, number=2)
    yield "a dry run", incident(dry_run=True)
    yield "for a limit of its own", replace(found, signal=None, available=None, points=(), levels=())
    yield "another pod was passed over", replace(found, ranking=(side, second))
    yield "no other pod exceeded its request", replace(found, ranking=(victim,))
    yield "within its request", replace(found, ranking=(replace(victim, request=8 << 30), replace(side, skipped="")))
    yield "a slow fall", replace(found, points=((-30.0, 1 << 30), (0.0, 1 << 29)))
    yield "a damaged record", replace(found, available=None, points=(), levels=(), ranking=(), successors=())
    yield "the host is the cause", replace(found, verdict=replace(NEEDED, need=Need.NO_POD_HELPS, fewest=()))
    yield "its minimum reclaim kept it short", replace(found, available=9 << 28, min_reclaim=1 << 30)
    yield "one of many of its owner", replace(found, of_owner=117)
    yield "too little came back", replace(found, points=((0.0, 1 << 29), (9.0, 5 << 27)), successors=())


def test_each_kind_is_as_in_the_golden_file() -> None:
    text = ""
    for name, found in variants():
        lines = [
            *relief_lines(found),
            "avoided by",
            *avoidance(found).by,
            "not avoided by",
            *avoidance(found).not_by,
            *(row_text(row, found) for row in found.ranking),
        ]
        text += "\n  ".join([f"== {name} ==", *lines]) + "\n"
    check_golden("incident-kinds.txt", text)


def test_an_amount_says_what_is_counted() -> None:
    found = replace(incident(), signal=Signal.PID_AVAILABLE)
    assert found.victim is not None
    assert row_text(replace(found.victim, usage=80), found).startswith("1. default/hog-old: uses 80 processes, ")
    old = row_text(found.victim, replace(found, measured=False))
    assert old.startswith("1. default/hog-old: when last measured used ")


def test_a_reason_that_is_that_of_the_row_before_is_not_repeated() -> None:
    """It stood eight times before the evicted pod, and filled a phone."""
    found = incident()
    assert found.victim is not None
    side = replace(found.victim, chosen=False, skipped="Unnecessary")
    rows = [replace(side, number=number, pod=f"default/web-{number}") for number in (1, 2, 3)]
    found = replace(found, ranking=(*rows, replace(side, number=4, skipped="USES_NOTHING")))
    first, second, third, fourth = (row_text(row, found) for row in found.ranking)
    assert first.endswith("(passed over: its end would free too little, or not for long)")
    assert second.endswith("(passed over as well)")
    assert third.endswith("(passed over as well)")
    assert fourth.endswith("(passed over: USES_NOTHING)")


@pytest.mark.parametrize("width", [30, 80, 200, 4096])
def test_the_chart_fits_and_marks_the_eviction(width: int) -> None:
    lines = chart_lines(incident(), width)
    assert max(map(len, lines)) <= max(width, 40)
    assert lines[0].strip() == "▼"
    assert any("hard" in line for line in lines)
    assert "30s before" in lines[-1]


def test_many_events_around_it_are_left_out_with_their_number() -> None:
    """376 lines were printed where a DaemonSet's pod was evicted 117 times."""
    found, out = incident(), io.StringIO()
    many = tuple(replace(found.after[0], text=f"pod-{number} is gone") for number in range(40))
    print_incident(replace(found, before=many, after=many[:30]), make_console(out, width=80))
    assert "before (28 earlier left out)" in out.getvalue()
    assert "after (18 later left out)" in out.getvalue()
    assert out.getvalue().count("is gone") == 24


def repeated(found: Incident) -> Incident:
    """An incident after 40 others of the same DaemonSet."""
    names = [f"default/leak-{number}" for number in range(40)]
    evicted = replace(found.event, owner="DaemonSet/leak")
    gone = replace(found.after[0], kind=EventKind.GONE)
    pairs = (
        (replace(each, pod=name, uid=name, text=f"{each.kind.value} {name}") for each in (evicted, gone))
        for name in names
    )
    return replace(found, before=tuple(chain.from_iterable(pairs)))


def test_evictions_that_one_owner_repeats_are_counted_in_text_and_file() -> None:
    """78 pairs of an eviction and an end stood before what would have avoided it: 17,940 px on a phone."""
    found, out = repeated(incident()), io.StringIO()
    print_incident(found, make_console(out, width=200))
    folded = "... the same of DaemonSet/leak 38 more times, every 0s; the last time"
    assert f"{folded} (`evictd history --all` lists each):" in out.getvalue()
    assert "left out" not in out.getvalue()
    text = incident_page(found)
    assert f"{folded} (<code>evictd history --all</code> lists each):" in text
    for shown in (out.getvalue(), text):
        assert [shown.count(f"Evicted default/leak-{number}") for number in (0, 1, 20, 39)] == [1, 0, 0, 1]


def test_what_would_have_avoided_it_stands_before_what_is_long() -> None:
    out = io.StringIO()
    print_incident(incident(), make_console(out, width=200))
    order = (
        "what came back",
        "what would have avoided it",
        "what would not have",
        "ranking at that moment",
        "before",
        "after",
    )
    for text in (out.getvalue(), incident_page(incident()).lower()):
        heads = [text.index(f">{each}" if "<html" in text else f"\n{each}") for each in order]
        assert heads == sorted(heads)


def test_without_readings_there_is_no_chart() -> None:
    assert chart_lines(replace(incident(), points=()), 80) == []
    assert chart_lines(replace(incident(), points=((0.0, 1), (0.5, 2))), 80) == []


def test_a_program_gets_everything() -> None:
    document = incident_document(replace(incident(), verdict=NEEDED))
    assert (document["kind"], document["id"], document["signal"]) == ("Incident", "uid-hog-", "memory.available")
    assert document["cameBack"] > document["missing"]
    assert document["ranking"][0]["chosen"]
    assert (document["node"], document["need"]) == ("node-1", "Needed")
    assert incident_list_document([incident().event])["incidents"][0]["pod"] == "default/hog-old"


def test_the_long_lists_of_the_document_stand_behind_what_to_do() -> None:
    """What would have avoided the eviction stood behind sixty readings, the ranking and two lists of events."""
    keys = [*incident_document(replace(incident(), verdict=NEEDED))]
    at = {key: number for number, key in enumerate(keys)}
    first = max(at[each] for each in ("summary", "now", "avoidedBy", "notAvoidedBy", "need", "account", "relief"))
    assert first < min(at[each] for each in ("thresholds", "successors", "ranking", "before", "after", "events"))
    assert keys[-1] == "readings"


def test_the_headline_of_the_file_is_cause_and_effect_and_the_choice_stands_below() -> None:
    """Its largest text was that of two equal pods the name decides, of a disk that no pod had filled."""
    event = replace(incident().event, owner="DaemonSet/hog")
    found = replace(incident(), event=event, host_filled=True, of_owner=117)
    text = incident_page(found)
    short = "What filled memory belongs to no pod; the eviction relieved the node; 117 pods of"
    assert f'<h1 class="soft">{short}' in text
    assert "In short" not in text
    assert text.count(found.event.why) == 1 + sum(found.event.why in message for _, message in found.events)
    assert ">eviction (00:00:30)</text>" in text
    assert "<span>default/hog-old</span>" in text
    again = incident_page(replace(found, host_filled=False, verdict=NEEDED))
    assert (
        "; mend DaemonSet/hog (if its last change is the cause: <code>kubectl -n default rollout undo daemonset/hog</code>)"
        in again
    )
    assert "`" not in again.partition("</style>")[2]


def test_the_file_has_everything_in_it_and_names_are_text() -> None:
    found = incident()
    text = incident_page(replace(found, verdict=NEEDED))
    assert "What would have avoided it" in text
    assert "What would not have" in text
    assert "default/hog-new" in text
    assert "<polyline" in text
    assert "<span>30s before (00:00:00)</span><span>12s after (00:00:42)</span>" in text
    assert "http" not in text.partition("</title>")[2].replace("http-equiv", "")
    hostile = replace(found, event=replace(found.event, why='<script>alert("1")</script>'))
    assert "<script>" not in incident_page(hostile)


def test_the_mark_of_the_eviction_has_its_own_time_beside_it() -> None:
    """On a phone the time of the chart's end lay below the mark, as if it were the mark's (incident 31)."""
    svg = incident_page(incident()).partition('<div class="chart">')[2].partition("</svg>")[0]
    assert svg.strip() == '<svg class="moment"><text x="71.4%" y="50%" text-anchor="middle">eviction (00:00:30)</text>'
    late = replace(incident(), points=tuple(each for each in incident().points if each[0] <= 2))
    assert 'text-anchor="end">eviction' in incident_page(late)
    assert ">would-be eviction (00:00:30)<" in incident_page(incident(dry_run=True))


def test_the_colour_of_the_headline_says_whether_the_eviction_relieved_the_node() -> None:
    """It was red above "the eviction relieved the node", and so was the evicted pod in the ranking."""
    relieved = incident_page(incident())
    assert '<h1 class="calm">' in relieved
    assert "<li><strong>1. default/hog-old: uses" in relieved
    again = incident_page(replace(incident(), met=MetAfter(again=20.0)))
    assert '<h1 class="hard">' in again


def test_a_chart_that_ends_early_says_for_how_long_there_is_no_reading() -> None:
    """It ended 0.2 s after the eviction, and the text below it spoke of 18m50s."""
    found = replace(incident(), points=((-60.0, 1 << 30), (0.0, 1 << 29), (0.2, 5 << 27)), known_for=1400.0)
    why = "the journal keeps one where something changes"
    assert next_reading_text(found) == f"no other reading in the 15m0s after the eviction: {why}"
    assert f'<p class="few">No other reading in the 15m0s after the eviction: {why}.</p>' in incident_page(found)
    later = replace(found, points=(*found.points, (300.0, 1 << 30)))
    assert next_reading_text(later) == f"no other reading until 5m0s after the eviction: {why}"
    assert next_reading_text(replace(found, known_for=30.0)) == ""
    assert next_reading_text(replace(found, points=())) == ""


def test_a_chart_ends_at_the_capacity_and_no_pod_requests_processes() -> None:
    """Of 32768 PIDs the chart went up to 35000, and each pod was said to request none of them."""
    found = replace(
        incident(), signal=Signal.PID_AVAILABLE, capacity=32_768, available=3275, levels=(("hard", 3276),),
        points=((-60.0, 32_520), (0.0, 3275), (10.0, 32_520)),
    )  # fmt: skip
    assert 'aria-label="from 0 to 32768"' in incident_page(found)
    assert any("32768" in line for line in chart_lines(found, 80))
    assert next(row_text(row, found).partition(", ")[2] for row in found.ranking).startswith("priority")


def test_the_chart_of_a_supply_that_was_empty_for_long_begins_with_the_fall() -> None:
    """It was flat at 0 for its five minutes (world 14)."""
    fell = ((-700.0, 1 << 30), (-600.0, 0), (-400.0, 0), (-200.0, 0), (0.0, 0), (9.0, 0), (500.0, 1 << 30))
    found = replace(incident(), available=0, points=fell)
    assert chart_lines(found, 80)[-1].split() == ["11m40s", "before", "9.0s", "after"]
    not_empty = ((-700.0, 1 << 30), *((at, 1) for at, _ in fell[1:-1]))
    assert chart_lines(replace(found, available=1, points=not_empty), 80)[-1].split()[0] == "3m20s"
