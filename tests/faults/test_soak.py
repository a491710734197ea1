"""Ten seconds of `make soak`, and that its laws notice what breaks them."""

import time
from pathlib import Path

import pytest

from tests.faults.churn import CRITICAL, ChurningNode, Life
from tests.faults.soak import MOST_GROWTH, WARM_SECONDS, Memory, soak


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


def test_memory_that_stays_is_noticed_and_that_of_a_fault_is_not() -> None:
    memory, size = Memory(), 100 << 20
    memory.sample(size // 2)
    assert memory.end_minute(WARM_SECONDS) == ""
    for minute, resident in enumerate((size, size + MOST_GROWTH), 1):
        memory.sample(resident)
        memory.sample(size * 2)
        assert memory.end_minute(WARM_SECONDS + minute * 60) == ""
    memory.sample(size + MOST_GROWTH + 1)
    assert memory.end_minute(WARM_SECONDS + 180) == "memory: from 100.0 to 105.0 MiB after 13 minutes"
