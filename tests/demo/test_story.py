"""The demonstration's node, played for real: leftovers first, then the right pod, nobody else."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from evictd.demo.screen import Happening
from evictd.demo.story import HOG, INNOCENTS, JOBS, Stage
from evictd.demo.story import _happening as happening


def told(**line: object) -> Happening | None:
    found = happening(line, 2.5)
    return None if found is None else found[1]


def test_an_eviction_is_loud_and_a_collection_is_told() -> None:
    eviction = told(event="evict default/hog", decision="EvictPod")
    assert eviction == Happening(at=2.5, text="evict default/hog", loud=True)
    collection = told(event="collected", what="images", removed=2, freed_bytes=30 << 20)
    assert collection is not None
    assert collection.text == "collected 2 unused images, 30 MiB by the runtime's word"


@pytest.mark.parametrize(
    "line",
    [
        {"event": "evictd begins"},
        {"event": "collected", "what": "images", "removed": 0, "freed_bytes": 0},
        {"event": "threshold met", "signal": "containerfs.available", "available": "1", "threshold": "2"},
        {},
    ],
)
def test_what_does_not_belong_to_the_story_is_left_out(line: dict[str, object]) -> None:
    assert told(**line) is None


def test_what_is_said_at_once_is_told_in_the_order_of_cause_and_effect(tmp_path: Path) -> None:
    lines = [
        {"event": "evict default/hog", "decision": "EvictPod"},
        {"event": "threshold met", "signal": "nodefs.available", "available": "1Mi", "threshold": "2Mi"},
    ]
    (tmp_path / "evictd.log").write_text("".join(json.dumps(line) + "\n" for line in lines) + "no json\n")
    stage = Stage(node=SimpleNamespace(folder=tmp_path))  # type: ignore[arg-type] # only its folder is looked at
    assert [one.text[:5] for one in stage.news(1.0)] == ["thres", "evict"]
    assert stage.news(2.0) == []


def test_the_cast_has_no_two_of_the_same_name() -> None:
    names = [recipe.name for recipe in (*INNOCENTS, *JOBS, HOG)]
    assert len(set(names)) == len(names)
