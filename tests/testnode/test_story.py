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


def test_simultaneous_events_are_in_the_order_of_cause_and_effect(tmp_path: Path) -> None:
    lines = [
        {"event": "evict default/hog: 1Mi left", "decision": "EvictPod", "pod": "default/hog"},
        {"event": "threshold met", "signal": "nodefs.available", "available": "1Mi", "threshold": "2Mi"},
    ]
    (tmp_path / "evictd.log").write_text("".join(json.dumps(line) + "\n" for line in lines) + "no json\n")
    demo = DemoNode(node=SimpleNamespace(folder=tmp_path))  # type: ignore[arg-type] # only its folder is used
    assert [one.text[:5] for one in demo.new_events(1.0)] == ["1Mi o", "evict"]
    assert demo.new_events(2.0) == []


def test_a_condition_is_shown_when_it_changes() -> None:
    demo = DemoNode(node=None)  # type: ignore[arg-type] # reads no node
    calm, pressed = {"event_reason": "NodeHasNoDiskPressure"}, {"event_reason": "NodeHasDiskPressure"}
    evict = {"event": "evict default/hog: 1Mi left", "decision": "EvictPod", "pod": "default/hog"}
    assert demo.events_of([calm], 1.0) == []
    assert [each.text[:11] for each in demo.events_of([pressed, pressed, calm], 2.0)] == ["the node re", "DiskPressur"]
    [_, _, over] = demo.events_of([pressed, evict, calm], 3.0)
    assert over.step.startswith("It was not enough")
    assert demo.events_of([calm], 4.0) == []


def test_the_pods_have_different_names() -> None:
    names = [recipe.name for recipe in (*OTHER_PODS, *JOBS, HOG)]
    assert len(set(names)) == len(names)
