"""Ten seconds of `make soak`, and that its laws notice what breaks them."""

import time
from pathlib import Path

import pytest

from tests.faults.churn import CRITICAL, ChurningNode, Life
from tests.faults.soak import soak


@pytest.mark.slow
def test_no_law_is_broken_in_ten_seconds(tmp_path: Path) -> None:
    assert soak(tmp_path, minutes=1 / 6, seed=1) == 0


def test_a_stop_that_breaks_each_law_is_noticed(tmp_path: Path) -> None:
    node, now = ChurningNode(tmp_path, 0), time.monotonic()
    innocent = Life("innocent", 10, request=20, ends=now + 60)
    hog = Life("hog", 30, request=20, ends=now + 60, exceeds_since=now - 60, priority=1)
    critical = Life("critical", 30, request=20, ends=now + 60, priority=CRITICAL)
    for life in (innocent, hog, critical):
        node.lives[life.key] = life
        node.add(life)
    node._stop(innocent)
    node._stop(critical)
    assert [line.partition(":")[0] for line in node.broken] == ["fairness", "thrift", "protection", "thrift"]
    node._stop(innocent)
    assert node.counts["evicted"] == 2, "a pod that has stopped is not stopped again"
