"""Checks the readings and the thresholds of one signal from records of the journal."""

from dataclasses import replace

import msgspec
import pytest

from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Origin
from evictd.core.units.duration import SECOND
from evictd.render.incident.record.readings import (
    SignalLevels,
    allocatable_met,
    later_fall,
    levels_of,
    min_reclaim,
    points_of,
    recent_fall,
    still_for,
    threshold_findings,
)
from tests.daemon.world import GI
from tests.render.recorded_incident import incident, recorded

MEMORY = Signal.MEMORY_AVAILABLE


def test_a_record_has_what_was_available_and_each_threshold_once() -> None:
    found = levels_of(recorded()[1], MEMORY)
    assert (found.available, found.levels) == (GI // 2, (("soft", 2 * GI), ("hard", GI)))
    assert (found.soft, found.soft_grace, found.grace_left) == (2 * GI, 90 * SECOND, 90 * SECOND)
    assert found.capacity is not None
    assert levels_of(recorded()[1], Signal.PID_AVAILABLE) == SignalLevels()
    assert list(threshold_findings(recorded()[1], None)) == []


def test_a_damaged_amount_is_left_out() -> None:
    record = recorded()[1]
    damaged = tuple({**each, "available": "much"} if each["kind"] == "Threshold" else each for each in record.findings)
    assert levels_of(msgspec.structs.replace(record, findings=damaged), MEMORY).available is None


def test_readings_come_from_the_records_and_from_the_minutes_before_an_eviction() -> None:
    records = recorded()
    points = dict(points_of(records[:3], MEMORY, records[1]))
    assert points == {-30.0: 3 * GI, -20.0: 5 * GI // 2, -10.0: 3 * GI // 2, 0.0: GI // 2, 2.0: 6 * GI}
    assert points_of(records, None, records[1]) == ()
    assert dict(points_of(records[:3], MEMORY, records[1], before=10 * SECOND)) == dict(list(points.items())[-3:])


@pytest.mark.parametrize(
    ("points", "rate"),
    [
        ([], None),
        ([(0, 5)], None),
        ([(-0.5, 9), (0, 5)], None),
        ([(-60, 1000), (-30, 700), (0, 400)], 10),
        ([(-60, 1000), (-30, 100), (-15, 100), (0, 100)], 0),
        ([(-90, 1000), (-60, 1000), (-30, 1000), (-15, 700), (0, 400)], 20),
        ([(-200, 90_000), (-60, 1000), (0, 400), (20, 0)], 10),
    ],
)
def test_the_rate_is_that_of_the_last_readings_where_it_changed(
    points: list[tuple[float, int]], rate: int | None
) -> None:
    assert recent_fall(points) == rate


def test_what_fell_before_a_later_eviction_is_known_where_nothing_filled_the_supply_meanwhile() -> None:
    """At the first eviction of a journal nothing of the rate was known, and ten minutes later it was (world 23)."""
    still = [(0.0, 3000), (0.5, 3250), *((float(at), 3250) for at in range(520, 601, 10))]
    assert later_fall(still, [0.4, 600.0]) == 0
    assert later_fall([*still, (600.6, 3500)], [601.0]) == 0, "its time is rounded up, to one after what it gave back"
    assert later_fall(still, [0.4]) is None
    falling = [(0.0, 3000), (0.5, 9000), *((float(at), 9000 - 10 * (at - 520)) for at in range(520, 601, 10))]
    assert later_fall(falling, [600.0]) == 10
    full = [(0.0, 3000), *((float(at), 0) for at in range(520, 601, 10))]
    assert later_fall(full, [600.0]) is None, "a full disk falls no more"
    less = [(0.0, 3000), *((float(at), 2000) for at in range(520, 601, 10))]
    assert later_fall(less, [600.0]) is None


def test_the_minimum_reclaim_is_that_of_the_threshold() -> None:
    event = incident().event
    threshold = {"signal": "memory.available", "value": {"quantity": "1Gi"}, "operator": "LessThan"}
    because = {"threshold": {**threshold, "minReclaim": {"quantity": "200Mi"}}}
    assert min_reclaim(replace(event, evidence={"because": because}), 8 << 30) == 200 << 20
    assert min_reclaim(replace(event, evidence={"because": {"threshold": threshold}}), None) == 0
    assert min_reclaim(replace(event, evidence={"because": {"threshold": {"signal": 1}}}), None) == 0


def test_a_met_threshold_of_all_pods_has_its_origin() -> None:
    record = recorded()[0]
    threshold = {"signal": "allocatableMemory.available", "origin": "derived"}
    met = {"kind": "Threshold", "met": True, "threshold": threshold}
    assert allocatable_met(msgspec.structs.replace(record, findings=(met,))) is Origin.DERIVED
    assert allocatable_met(msgspec.structs.replace(record, findings=({**met, "met": False},))) is None


BURST = tuple((-89.0 + 10 * step, 4000 - 400 * step) for step in range(7))


@pytest.mark.parametrize(
    ("points", "seconds"),
    [
        ((*BURST, (-20.0, 1000), (-10.0, 1000), (0.0, 1000)), 20),
        ((*BURST, (-20.0, 1000), (-10.0, 1020), (0.0, 990)), 20),
        ((*BURST, (-20.0, 1000), (0.0, 1000)), 0),
        ((*BURST, (-20.0, 1000), (-10.0, 960), (0.0, 920)), 0),
        ((*BURST, (-2.0, 1000), (-1.0, 1000), (0.0, 1000)), 0),
        (((-60.0, 3000), (-50.0, 3000), (-40.0, 2000), (-20.0, 2000), (-19.0, 1000), (-9.0, 1000), (0.0, 1000)), 0),
        (((-20.0, 1000), (-10.0, 1000), (0.0, 1000)), 0),
        ((), 0),
    ],
    ids=["flat", "noise", "two readings", "falls on", "too short", "falls in steps", "no fall known", "no reading"],
)
def test_a_fall_has_ended_by_the_readings_of_two_cycles(points: tuple[tuple[float, int], ...], seconds: float) -> None:
    """A burst that had ended 20 s before was told as a leak, by the mean of the minute."""
    assert still_for(points) == seconds
