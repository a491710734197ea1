"""Compares what is said of another configuration with a play of the same world under it."""

from collections import Counter
from pathlib import Path

import pytest

from tests.truth.many import seeds
from tests.truth.random_worlds import world_document
from tests.truth.what_if import CHANGES, POLICY, changed, false_claims, played, recorded, said, written


def _false(seeds: range | tuple[int, ...], folder: Path) -> Counter[str]:
    """Return how often each change led to a false claim, and how many were asked (`asked`)."""
    found = Counter[str]()
    for seed in seeds:
        document = world_document(seed)
        _, entries, _ = recorded(document)
        for change in (*CHANGES, POLICY):
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


@pytest.mark.slow
def test_replay_claims_hardly_anything_false_of_many_worlds(tmp_path: Path) -> None:
    found = _false(seeds(100, 4), tmp_path)
    asked = found.pop("asked")
    assert found.total() * 200 <= asked, found
