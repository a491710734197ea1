"""Compares what is said of another configuration with a play of the same world under it."""

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from evictd.render.replay.as_kubelet import unrefused_text
from evictd.render.replay.replayed import refusals_in
from tests.truth.many import seeds
from tests.truth.raised_worlds import raised_world
from tests.truth.random_worlds import world_document
from tests.truth.what_if import (
    CHANGES,
    POLICY,
    RAISED,
    changed,
    evictions,
    false_claims,
    played,
    recorded,
    said,
    written,
)

Make = Callable[[int], dict[str, Any]]


def _false(
    seeds: Iterable[int], folder: Path, make: Make = world_document, changes: Iterable[str] = (*CHANGES, POLICY)
) -> Counter[str]:
    """Return how often each change led to a false claim, and how many were asked (`asked`)."""
    found = Counter[str]()
    for seed in seeds:
        document = make(seed)
        _, entries, _ = recorded(document)
        for change in changes:
            other = changed(document, change)
            if not entries or other == document:
                continue
            config = written(other, folder / "config.yaml")
            found["asked"] += 1
            for each in false_claims(said(entries, config), played(other, config)):
                found[f"{change}: {each}: seed {seed}"] += 1
    return found


def test_replay_claims_nothing_that_a_play_contradicts(tmp_path: Path) -> None:
    found = _false((2, 25), tmp_path)
    assert found.pop("asked") > 30
    assert not found


def test_of_a_raised_threshold_only_what_is_certain_is_said(tmp_path: Path) -> None:
    """`Would have been evicted earlier: default/job`, where another pod goes, and the job later or never."""
    found = _false((21, 24), tmp_path, raised_world, RAISED)
    assert found.pop("asked") == 8
    assert not found


@pytest.mark.slow
def test_of_raised_thresholds_nothing_false_is_said_of_many_worlds(tmp_path: Path) -> None:
    found = _false(seeds(60, 4), tmp_path, raised_world, RAISED)
    asked = found.pop("asked")
    assert found.total() * 200 <= asked, found


@pytest.mark.slow
def test_replay_claims_hardly_anything_false_of_many_worlds(tmp_path: Path) -> None:
    found = _false(seeds(100, 4), tmp_path)
    asked = found.pop("asked")
    assert found.total() * 200 <= asked, found


def test_the_pod_that_a_kubelet_is_said_to_evict_past_a_budget_is_evicted_without_one(tmp_path: Path) -> None:
    named = 0
    for seed in range(12):
        document = raised_world(seed)
        pods = ["default/job", *(f"default/web-{number}" for number in range(document["pods"][1]["count"]))]
        document["apiServer"] = {"budgets": [{"pods": pods, "allowed": 0}]}
        _, entries, _ = recorded(document)
        config = written(changed(document, POLICY), tmp_path / "config.yaml")
        replayed = said(entries, config).replayed
        found = unrefused_text(replayed, refusals_in(replayed)).partition("would have evicted ")[2]
        if found:
            first = evictions(played(changed(document, POLICY), config))[0]
            assert found.startswith(f"{first.pod}, by the readings of ")
            named += 1
    assert named
