"""What a walk does where it cannot remember everything."""

import os
from pathlib import Path

import pytest

from evictd.core.model.stats import DiskUsage
from evictd.observe.disk_usage import inode_set
from evictd.observe.disk_usage.rate_limiter import RateLimiter
from evictd.observe.disk_usage.tree_walk import TreeWalk
from tests.observe.disk_usage.test_walk import du, opened
from tests.trees import Hard, plant


def test_hard_links_that_are_not_remembered_count_for_a_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inode_set, "_MAX_ROWS", 1)
    top = plant(tmp_path / "top", {"a": "x" * 5000, "b": Hard("a"), "c": "y" * 5000, "d": Hard("c"), "e": Hard("c")})
    os.link(top / "e", tmp_path / "outside")
    whole = du(top)
    assert whole.used_bytes is not None
    assert whole.inodes_used is not None
    with opened(top) as folder:
        walk = TreeWalk(folder, RateLimiter())
        walk._linked.add(1 << 60)
        assert [*walk.steps()]
    assert (walk.complete, walk.counted) == (False, DiskUsage(whole.used_bytes - 2048, whole.inodes_used - 1))


def test_a_walk_that_is_given_up_closes_what_it_had_opened(tmp_path: Path) -> None:
    top = plant(tmp_path / "top", {"a": {"b": {"c": {"file": "x"}}}})
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    with opened(top) as folder:
        walk = TreeWalk(folder, RateLimiter())
        steps = walk.steps()
        for _ in range(3):
            next(steps)
        assert walk.counted.inodes_used == 4, "what was counted so far"
        steps.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors
