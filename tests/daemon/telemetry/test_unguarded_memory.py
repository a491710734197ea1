"""What is left of memory without a threshold."""

from dataclasses import replace

import pytest

from evictd.core.model.observation import Observation
from evictd.core.model.signal import Signal
from evictd.core.units.duration import SECOND
from evictd.daemon.telemetry.statusz.unguarded_memory import unguarded_memory
from evictd.daemon.telemetry.trends import Point, Trend, Trends
from tests.render.snapshots import incident_snapshot


def test_the_amounts_the_time_and_the_largest_pod() -> None:
    snapshot = incident_snapshot("43-no-memory-threshold", 80)
    assert unguarded_memory(snapshot, snapshot.at + SECOND) == {
        "available": 220 << 20,
        "capacity": 6 << 30,
        "secondsToZero": 3.4,
        "growth": {
            "text": "of 2.44Gi that filled memory in the last 50s, pods took 2.44Gi (all of it default/hog); nothing else grew",
            "pod": "default/hog",
            "elsewhere": False,
        },
        "largest": {"pod": "default/hog", "usage": 4000 << 20},
        "firstToGo": "default/api",
    }


def test_no_time_where_no_rate_is_known_and_no_pod_where_none_was_measured() -> None:
    snapshot = incident_snapshot("43-no-memory-threshold", 80)
    unknown = replace(snapshot, trends=Trends(), observation=replace(snapshot.observation, pod_stats={}))
    found = unguarded_memory(unknown, snapshot.at)
    assert found is not None
    assert (found["secondsToZero"], found["largest"], found["firstToGo"]) == (None, None, "")


@pytest.mark.parametrize("readings", [(0, 4), (0, 1, 2, 10, 18, 30)], ids=["two readings", "ended"])
def test_no_time_where_no_fall_goes_on(readings: tuple[int, ...]) -> None:
    """A time of two readings was said, twice as much 2 s later, and nothing after 3 s more."""
    snapshot = incident_snapshot("43-no-memory-threshold", 80)
    trend = Trend()
    for at in readings:
        trend = trend.added(Point(at * SECOND, (1 << 30) - min(at, 9) * (8 << 20)), 6 << 30)
    fell = replace(snapshot, trends=Trends(signals={Signal.MEMORY_AVAILABLE: trend}))
    found = unguarded_memory(fell, snapshot.at)
    assert found is not None
    assert (trend.fill_rate or 0) > 0
    assert (found["secondsToZero"], found["growth"]) == (None, None)


def test_nothing_where_memory_has_a_threshold_or_was_not_read() -> None:
    guarded = incident_snapshot("26-control-plain-leak", 80)
    assert unguarded_memory(guarded, guarded.at) is None
    snapshot = incident_snapshot("43-no-memory-threshold", 80)
    assert unguarded_memory(replace(snapshot, observation=Observation(node=None)), snapshot.at) is None
