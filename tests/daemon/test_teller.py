"""Who tells what: lines in the log, numbers, and the last decisions."""

from pathlib import Path

import pytest

from evictd.act.perform import Failure, Refusal
from evictd.core.decision import EvictPod, RecordEvent, ReportConditions, Silence, Silent
from evictd.core.duration import SECOND
from evictd.core.oom import OomScoreDifference
from evictd.errors import NodeError
from tests.daemon.double import House
from tests.daemon.test_metrics import samples, value
from tests.daemon.world import GI, HOG, NOW, WALL, observe, step


@pytest.fixture
def house(tmp_path: Path) -> House:
    made = House(tmp_path, [observe(4 * GI)])
    made.close()
    return made


def eviction() -> EvictPod:
    return next(decision for decision in step(GI // 2).decisions if isinstance(decision, EvictPod))


def test_a_decision_is_a_line_and_is_remembered(house: House) -> None:
    house.teller.decision(eviction())
    (line,) = house.logged
    assert line["pod"] == "default/hog"
    (decided,) = house.teller.recent()
    assert (decided.wall, decided.kind) == (WALL, "EvictPod")


def test_in_a_dry_run_it_is_what_would_be(house: House) -> None:
    house.teller.dry_run = True
    house.teller.decision(ReportConditions(conditions=()))
    assert house.teller.recent()[0].text == "would report no pressure"


def test_only_so_many_decisions_are_remembered(house: House) -> None:
    for _ in range(200):
        house.teller.decision(eviction())
    assert len(house.teller.recent()) == 50


def test_events_are_told_at_their_level(house: House) -> None:
    house.teller.event(RecordEvent(type="Warning", reason="A", message="b"))
    house.teller.event(RecordEvent(type="Normal", reason="C", message="d"))
    assert [line["event"] for line in house.logged] == ["b", "d"]


def test_an_oom_score_is_told_with_what_it_was(house: House) -> None:
    difference = OomScoreDifference(pod=HOG, container="main", expected=1000, found=0, cgroup="/c", pids=(1,))
    house.teller.oom_score(difference)
    house.teller.dry_run = True
    house.teller.oom_score(difference)
    was, would = house.logged
    assert (was["pod"], was["container"], was["was"], was["documented"]) == ("default/hog", "main", 0, 1000)
    assert [was["event"], would["event"]] == [
        "set oom_score_adj as documented",
        "would set oom_score_adj as documented",
    ]


def test_a_failure_is_told_and_counted(house: House) -> None:
    house.teller.failures([Failure(decision=eviction(), error=NodeError("no"))])
    assert value(samples(house.metrics), "evictd_errors_total", source="perform") == 1
    assert "evict default/hog" in house.logged[0]["detail"]


def test_an_eviction_counts_with_the_time_since_the_crossing(house: House) -> None:
    house.teller.actions([eviction()], since=NOW, acted=NOW + SECOND // 100)
    house.teller.evicted([eviction()])
    found = samples(house.metrics)
    labels = {"eviction_signal": "memory.available", "reason": "pressure"}
    assert value(found, "evictd_evictions_total", **labels) == 1
    assert value(found, "evictd_reaction_seconds_sum", action="evict") == 0.01


def test_an_eviction_that_is_only_asked_for_is_not_counted_and_a_refusal_is_told(house: House) -> None:
    """A budget may say no; who said so is in the log, by its own words."""
    house.teller.actions([eviction()], since=NOW, acted=NOW)
    house.teller.refusals([Refusal(pod=HOG, detail="Cannot evict pod")])
    labels = {"eviction_signal": "memory.available", "reason": "pressure"}
    assert value(samples(house.metrics), "evictd_evictions_total", **labels) is None
    assert (house.logged[0]["pod"], house.logged[0]["detail"]) == (HOG.full_name, "Cannot evict pod")


def test_the_age_of_the_numbers_is_noted_at_every_ranking(house: House) -> None:
    house.teller.stats_age(step(GI // 2).findings, observe(GI // 2), NOW + SECOND)
    found = samples(house.metrics)
    assert value(found, "evictd_eviction_stats_age_seconds_sum", eviction_signal="memory.available") == 1


def test_a_dry_run_does_not_tell_of_waiting(house: House) -> None:
    house.teller.dry_run = True
    house.teller.findings([Silent(why=Silence.WAITING_FOR_RELEASE), Silent(why=Silence.NOTHING_EVICTABLE)], ())
    assert [line["event"] for line in house.logged] == ["NothingEvictable"]
