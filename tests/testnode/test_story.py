"""The timeline of the demonstration, from the lines of evictd's log."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from evictd_testnode.screen import TimelineEvent
from evictd_testnode.story import HOG, JOBS, OTHER_PODS, DemoNode
from evictd_testnode.story import _timeline_event as event


def timeline_event(**line: object) -> TimelineEvent | None:
    found = event(line, 2.5)
    return None if found is None else found[1]


def test_an_eviction_is_highlighted_and_a_collection_is_in_the_timeline() -> None:
    event = (
        "evict default/hog (grace period 1s) for nodefs.available: 1Mi left, threshold 2Mi; it uses 9Mi, requests none"
    )
    eviction = timeline_event(event=event, decision="EvictPod", pod="default/hog")
    assert eviction is not None
    text = "evicts default/hog: nothing unused, 1Mi left by then"
    assert replace(eviction, step="", conclusion="") == TimelineEvent(at=2.5, text=text, highlighted=True)
    assert eviction.conclusion == "evictd evicted default/hog: nothing unused, 1Mi left by then."
    looks = timeline_event(event="delete unused containers and images", decision="ReclaimNode")
    assert looks is not None
    assert looks.text == "looks for dead containers and unused images", "what it removed is said when it has"
    collection = timeline_event(event="collected", what="images", removed=2, freed_bytes=30 << 20)
    assert collection is not None
    assert collection.text == "2 unused images removed: 30Mi came back"


@pytest.mark.parametrize(
    "line",
    [
        {"event": "starting"},
        {"event": "collected", "what": "images", "removed": 0, "freed_bytes": 0},
        {"event": "threshold met", "signal": "containerfs.available", "available": "1", "threshold": "2"},
        {},
    ],
)
def test_other_lines_of_the_log_are_left_out(line: dict[str, object]) -> None:
    assert timeline_event(**line) is None


def test_the_reason_of_an_eviction_is_what_happens_now() -> None:
    why = timeline_event(event="Evicted default/hog (9Mi): it is the only one.", pod="default/hog", uid="u")
    assert why is not None
    assert (why.text, why.step) == (
        "why this pod: it is the only one.",
        "Why this pod? Evicted default/hog (9Mi): it is the only one.",
    )


CROSSED = {"event": "threshold met", "signal": "nodefs.available", "available": "1Mi", "threshold": "2Mi"}
PRESSED, CALM = {"event_reason": "NodeHasDiskPressure"}, {"event_reason": "NodeHasNoDiskPressure"}
LOOKS = {"event": "delete unused containers and images", "decision": "ReclaimNode"}
COLLECTED = {"event": "collected", "what": "images", "removed": 2, "freed_bytes": 30 << 20}
RELIEVED = {"event": "threshold no longer met", "signal": "nodefs.available"}
EVICT = {"event": "evict default/hog: 1Mi left", "decision": "EvictPod", "pod": "default/hog"}


def new_demo(folder: Path | None = None) -> DemoNode:
    return DemoNode(node=SimpleNamespace(folder=folder))  # type: ignore[arg-type] # only its folder is used


def test_causes_are_shown_before_their_effects(tmp_path: Path) -> None:
    (tmp_path / "evictd.log").write_text("".join(json.dumps(line) + "\n" for line in (EVICT, CROSSED)) + "no json\n")
    demo = new_demo(tmp_path)
    assert [one.text[:5] for one in demo.new_events(1.0)] == ["1Mi o", "evict"]
    assert demo.new_events(2.0) == []


def test_effects_wait_for_their_cause_wherever_the_log_ends() -> None:
    """Evictd logs a crossing after it has acted; a reading between the two showed DiskPressure before the crossing."""
    log = (PRESSED, LOOKS, CROSSED, COLLECTED, RELIEVED, CALM, PRESSED, EVICT, CROSSED, RELIEVED, CALM)
    expected = ["1Mi o", "the n", "looks", "2 unu", "enoug", "DiskP", "1Mi o", "the n", "evict", "enoug", "DiskP"]
    for first in range(len(log) + 1):
        for second in range(first, len(log) + 1):
            demo = new_demo()
            parts = (log[:first], log[first:second], log[second:])
            assert [each.text[:5] for part in parts for each in demo.events_of(part, 1.0)] == expected


def test_a_crossing_has_the_time_at_which_evictd_was_seen_to_act_on_it() -> None:
    """The timeline had `16.4 s looks for dead containers` below `16.6 s the threshold is crossed`."""
    demo = new_demo()
    assert demo.events_of([PRESSED, LOOKS], 16.4) == []
    assert demo.events_of([COLLECTED], 16.6) == []
    found = demo.events_of([CROSSED, EVICT], 16.8)
    assert [(each.at, each.text[:5]) for each in found] == [
        (16.4, "1Mi o"),
        (16.4, "the n"),
        (16.4, "looks"),
        (16.6, "2 unu"),
        (16.8, "evict"),
    ]


def test_what_was_read_at_one_time_is_shown_by_cause() -> None:
    """The timeline had `9.2 s enough is left again` above `9.2 s 2 dead containers removed`."""
    found = new_demo().events_of([LOOKS, PRESSED, CROSSED, RELIEVED, COLLECTED, EVICT, CROSSED, RELIEVED], 9.2)
    assert [each.text[:5] for each in found] == ["1Mi o", "the n", "looks", "2 unu", "enoug", "1Mi o", "evict", "enoug"]


def test_relief_waits_for_what_was_removed() -> None:
    """The log ended between the two: `9.2 s enough is left again` stood above `9.4 s 2 dead containers removed`."""
    nothing = {"event": "collected", "what": "images", "removed": 0, "freed_bytes": 0}
    for collected, expected in ((COLLECTED, ["2 unu", "enoug"]), (nothing, ["enoug"]), (CALM, ["enoug", "DiskP"])):
        demo = new_demo()
        demo.events_of([LOOKS, PRESSED, CROSSED], 9.0)
        assert demo.events_of([RELIEVED], 9.2) == []
        found = demo.events_of([collected], 9.4)
        assert [(each.at, each.text[:5]) for each in found] == [(9.4, text) for text in expected]


def test_what_happens_now_follows_from_the_last_event() -> None:
    """It asked `was that enough?` for 3 s after `enough is left again`; images can also be gone after that."""
    demo = new_demo()
    demo.events_of([CROSSED, LOOKS], 9.0)
    [_, relieved] = demo.events_of([COLLECTED, RELIEVED], 9.2)
    assert relieved.step.startswith("That was enough: no pod was evicted.")
    assert [each.step for each in demo.events_of([COLLECTED], 9.4)] == [""]
    found = demo.events_of([EVICT, CROSSED, RELIEVED], 16.0)
    assert found[-1].step == "", "why the pod was evicted remains"


def test_a_line_that_is_not_complete_is_read_when_it_is(tmp_path: Path) -> None:
    log, demo, line = tmp_path / "evictd.log", new_demo(tmp_path), json.dumps(CROSSED) + "\n"
    log.write_text("")
    assert demo.new_events(1.0) == []
    log.write_text(line[:20])
    assert demo.new_events(2.0) == []
    log.write_text(line)
    assert [one.text[:5] for one in demo.new_events(3.0)] == ["1Mi o"]
    assert demo.new_events(4.0) == []


def test_a_condition_is_shown_when_it_changes() -> None:
    demo = new_demo()
    assert demo.events_of([CALM], 1.0) == []
    found = demo.events_of([CROSSED, PRESSED, PRESSED, CALM], 2.0)
    assert [each.text[:11] for each in found] == ["1Mi of the ", "the node re", "DiskPressur"]
    [_, eviction, over] = demo.events_of([PRESSED, EVICT, CALM], 3.0)
    assert eviction.step.startswith("It was not enough")
    assert over.step.startswith("The pressure is over")
    assert demo.events_of([CALM], 4.0) == []


def test_the_pods_have_different_names() -> None:
    names = [recipe.name for recipe in (*OTHER_PODS, *JOBS, HOG)]
    assert len(set(names)) == len(names)
