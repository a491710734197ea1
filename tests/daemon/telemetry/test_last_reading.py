"""What was read last of a signal that cannot be read, as `/statusz` states it."""

from dataclasses import replace
from typing import Any

from evictd.core.model.config import EvictionConfig
from evictd.core.model.signal import Signal
from evictd.core.units.duration import SECOND
from evictd.daemon.telemetry.statusz.last_reading import last_reading
from evictd.daemon.telemetry.trends import Point, Trend, Trends
from tests.daemon.world import NOW, snapshot
from tests.playbook import config
from tests.world.worlds import GI

INODES = Signal.NODEFS_INODES_FREE
HARD = config(hard={"nodefs.inodesFree": "10%"})


def last(*points: tuple[int, int], configured: EvictionConfig = HARD) -> dict[str, Any] | None:
    """What is stated now of inodes, of a million, of which so many were left at these seconds before."""
    trend = Trend(recent=tuple(Point(NOW - ago * SECOND, left) for ago, left in points), capacity=1_000_000)
    seen = replace(snapshot(4 * GI), config=configured, trends=Trends(signals={INODES: trend}))
    return last_reading(INODES, seen, NOW)


def test_a_fall_before_the_last_reading_gives_the_time_to_the_threshold_from_now_on() -> None:
    found = last((50, 300_000), (40, 290_000), (30, 280_000), (20, 270_000))
    assert found == {
        "available": 270_000, "agoSeconds": 20.0, "fillRate": 1000, "kind": "hard", "limit": 100_000,
        "below": None, "secondsToThreshold": 150.0,
    }  # fmt: skip


def test_a_time_that_is_over_is_below_zero() -> None:
    found = last((250, 300_000), (240, 290_000), (230, 280_000), (220, 270_000))
    assert found is not None
    assert found["secondsToThreshold"] == -50.0


def test_no_time_is_stated_without_a_fall_or_below_the_threshold() -> None:
    steady = last((50, 300_000), (40, 300_000), (30, 300_000))
    below = last((50, 90_000), (40, 80_000), (30, 70_000))
    assert steady is not None
    assert below is not None
    assert (steady["fillRate"], steady["secondsToThreshold"]) == (None, None)
    assert (below["limit"], below["secondsToThreshold"]) == (None, None)
    assert last() is None


def test_the_threshold_that_it_was_below_is_stated() -> None:
    found = last((50, 90_000), (40, 80_000))
    assert found is not None
    assert found["below"] == {"kind": "hard", "limit": 100_000}
