"""By how much a signal falls, and when it reaches its thresholds, as `/statusz` states it."""

from dataclasses import replace
from typing import Any

from evictd.core.model.decision import EvictPod
from evictd.core.model.signal import Signal
from evictd.core.units.duration import MINUTE, SECOND
from evictd.daemon.telemetry.trends import Point, Trend, Trends
from evictd.world.behaviours import Grow, Usage
from evictd.world.loop import play
from evictd.world.model import WorldPod
from tests.daemon.status import status_of
from tests.daemon.world import GI, NOW, snapshot
from tests.playbook import config, pod
from tests.render.snapshots import incident_snapshot, snapshot_at
from tests.world.worlds import MI, world


def rated(*points: tuple[int, int]) -> dict[str, Any]:
    """The entry of memory after readings at these seconds, of which so many MiB were left."""
    recent = tuple(Point(NOW + (at - points[-1][0]) * SECOND, left << 20) for at, left in points)
    seen = replace(
        snapshot(recent[-1].available), trends=Trends(signals={Signal.MEMORY_AVAILABLE: Trend(recent=recent)})
    )
    entry: dict[str, Any] = status_of(seen, NOW)["signals"][0]
    return entry


def times(entry: dict[str, Any]) -> list[float | None]:
    return [each["secondsToThreshold"] for each in entry["thresholds"]]


def test_a_rate_of_two_readings_is_not_stated_unless_a_threshold_is_near() -> None:
    """39 s after the start the page said that PIDs fall by one a second."""
    slow = rated((0, 6000), (5, 5990))
    assert (slow["fillRate"], times(slow)) == (None, [None, None])
    steep = rated((0, 6000), (5, 5900))
    assert steep["fillRate"] == 20 << 20
    assert times(steep) == [192.6, 243.8]
    assert steep["lastChange"] == {"overSeconds": 5.0, "fillRate": 20 << 20, "agoSeconds": 0.0}
    met = rated((0, 6000), (5, 1800))
    assert met["fillRate"] == 840 << 20


def test_times_count_from_now_and_not_from_the_reading() -> None:
    """Ten seconds after the reading of a calm node they were ten seconds too long, beside those of conditions, which were not."""
    recent = tuple(Point(NOW + at * SECOND, left << 20) for at, left in ((-5, 6000), (0, 5900)))
    seen = replace(
        snapshot(recent[-1].available), trends=Trends(signals={Signal.MEMORY_AVAILABLE: Trend(recent=recent)})
    )
    assert times(status_of(seen, NOW + 10 * SECOND)["signals"][0]) == [182.6, 233.8]
    assert times(status_of(seen, NOW + 60 * SECOND)["signals"][0]) == [132.6, 183.8]
    soft = snapshot(3 * GI // 2)
    graces = [
        status_of(soft, NOW + age * SECOND)["signals"][0]["thresholds"][0]["graceLeftSeconds"] for age in (0, 10, 95)
    ]
    assert graces == [90.0, 80.0, 0.1], "it acts in the next cycle"


def test_a_grace_period_ends_in_the_cycle_that_finds_it_over() -> None:
    """`acts in 3.6s at the latest` stood there 8.6 seconds before a grace period of 25 seconds ended in a cycle."""
    leak = WorldPod(pod=pod("leak"), behaviours=(Grow(of=Usage.MEMORY, rate=20 * MI),))
    run = play(world(leak, duration=4 * MINUTE), config(soft={"memory.available": ("1Gi", "25s")}))
    acts = next(cycle.at for cycle in run.cycles for each in cycle.step.decisions if isinstance(each, EvictPod))
    for before in (1, 8, 12, 28):
        seen = snapshot_at(run, acts / SECOND - before)
        (soft,) = status_of(seen, acts - before * SECOND)["signals"][0]["thresholds"]
        assert soft["graceLeftSeconds"] == before


def test_memory_that_is_flat_after_a_steep_fall_reaches_no_threshold() -> None:
    """`hard in 12s` stood there for 20 s after a pod had stopped to grow: the rate is the mean of a minute."""
    falls = [(at, 6000 - 200 * at) for at in range(0, 20, 2)]
    flat = [(18 + at, 2400) for at in range(2, 12, 2)]
    assert None not in times(rated(*falls))
    assert None not in times(rated(*falls, *flat[:4]))
    assert times(rated(*falls, *flat)) == [None, None]
    assert None not in times(rated(*falls, *flat[:-1], (28, 2390)))


def test_a_rate_within_scatter_is_none_unless_a_threshold_is_near() -> None:
    noisy = rated((0, 6000), (20, 5700), (40, 6100), (60, 5850))
    assert (noisy["fillRate"], times(noisy)) == (0, [None, None])
    steady = rated((0, 6000), (20, 5950), (40, 5960), (60, 5880))
    assert steady["fillRate"] == 2 << 20
    assert times(steady) == [1916.0, 2428.0]
    steep = rated((0, 4000), (20, 5000), (40, 4500), (60, 2300))
    assert times(steep)[0] == 8.9, "it rose by 1000 first"


def test_the_rate_of_a_minute_that_has_passed_is_no_present_rate() -> None:
    points = tuple(Point(at * SECOND, left * GI) for at, left in ((900, 6), (950, 5), (1000, 4)))
    seen = replace(snapshot(4 * GI), trends=Trends(signals={Signal.MEMORY_AVAILABLE: Trend(recent=points)}))
    assert None not in times(status_of(seen, NOW + MINUTE)["signals"][0])
    late = status_of(seen, NOW + MINUTE + SECOND)["signals"][0]
    assert (late["fillRate"], times(late)) == (None, [None, None])


def test_a_steep_last_fall_is_over_where_its_crossing_would_have_been_noticed() -> None:
    """`At any moment` stood there for 8 s after a burst of half a second, until the next reading of memory."""
    burst = incident_snapshot("34-control-burst-within-grace", 364.6)
    ages = (0, 2, 3, 4, 8)
    entries = [status_of(burst, burst.at + age * SECOND)["signals"][0]["thresholds"][0] for age in ages]
    assert [each["secondsAtLastFall"] for each in entries] == [2.6, 0.6, 0.0, None, None]
    assert [each["secondsToThreshold"] for each in entries] == [15.8, 13.8, 12.8, 11.8, 7.8]
