"""Whose grace a hard threshold shortens, and to what; the stories of docs/faults.md are in `test_standard`."""

from evictd.core.eviction.choice.shorten import shortening, worth_shortening
from evictd.core.eviction.reclaim import Layout
from evictd.core.model.decision import Wait
from evictd.core.model.finding import NoActionReason
from evictd.core.model.observation import Observation, signal_observations
from evictd.core.model.signal import Signal
from evictd.core.model.state import Victim
from evictd.core.units.duration import MILLISECOND, SECOND
from tests.playbook import Playbook, config, node, pod, threshold, usage

B = pod("b", memory="1Gi", grace=30)
MEMORY = usage(B, memory="900Mi")


def test_a_hard_threshold_shortens_the_grace_of_a_soft_victim() -> None:
    """kubernetes/kubernetes#123872: a soft eviction with a long grace blocks nothing."""
    settings = config(
        hard={"memory.available": "500Mi"},
        soft={"memory.available": ("2Gi", "10s")},
        max_pod_grace_period_seconds=3600,
    )
    patient = pod("patient", grace=3600)
    book = Playbook(settings, pods=[patient, B], usage=[usage(patient, memory="1Gi"), MEMORY])
    book.at("0s", memory="1500Mi of 4Gi").conditions("MemoryPressure").does_nothing()
    book.at("10s", memory="1500Mi of 4Gi").evicts("patient", grace=3600)
    book.at("20s", memory="1500Mi of 4Gi", gone=[]).does_nothing().stays_silent(NoActionReason.WAITING_FOR_VICTIM)
    book.at("30s", memory="100Mi of 4Gi", gone=[]).evicts("patient", grace=1, shortens=True)
    book.at("31s", memory="100Mi of 4Gi", gone=[]).does_nothing()
    book.at("32s", memory="100Mi of 4Gi").evicts("b", grace=1)


def test_a_victim_in_flight_is_killed_at_once_when_the_time_left_falls_below_its_grace() -> None:
    """And while it still has grace the next look comes within a quarter of the time that is left."""
    book = Playbook(config(hard={"memory.available": "500Mi"}), pods=[B], usage=[MEMORY])
    book.at("0s", memory="400Mi of 4Gi", fill_rate=100 * 2**20).conditions("MemoryPressure").evicts("b", grace=1)
    assert book.eviction().because.time_left == 4 * SECOND
    book.at("1s", memory="300Mi of 4Gi", fill_rate=100 * 2**20, gone=[]).does_nothing()
    assert book.step.decisions[-1] == Wait(nanoseconds=750 * MILLISECOND)
    book.at("2s", memory="100Mi of 4Gi", fill_rate=100 * 2**20, gone=[]).evicts("b", grace=0, shortens=True)
    book.at("3s", memory="50Mi of 4Gi", fill_rate=100 * 2**20, gone=[]).does_nothing().finish()
    assert book.step.decisions[-1] == Wait(nanoseconds=SECOND)


def test_a_fork_bomb_has_no_grace_that_it_would_use_up_the_pids_in() -> None:
    for rate, grace in ((None, 1), (100, 1), (2000, 0)):
        book = Playbook(config(hard={"pid.available": "1k"}), pods=[B], usage=[usage(B, processes=30_000)])
        book.at("0s", pids="900 of 32k", pids_rate=rate).conditions("PIDPressure").evicts("b", grace=grace).finish()


def test_where_stops_have_taken_long_a_victim_has_no_grace_that_would_fit_elsewhere() -> None:
    """Four seconds are left: enough for the second and a stop of half a second, not for one of three and a half."""
    for stop_time, grace in ((None, 1), (3 * SECOND, 1), (3500 * MILLISECOND, 0)):
        book = Playbook(config(hard={"memory.available": "500Mi"}), pods=[B], usage=[MEMORY])
        book.at("0s", memory="400Mi of 4Gi", fill_rate=100 * 2**20, stop_time=stop_time)
        book.conditions("MemoryPressure").evicts("b", grace=grace).finish()


def test_shortening_is_the_same_eviction_with_less_grace() -> None:
    """Marked, so that it is not counted twice."""
    hard, short = threshold("memory.available", "1Gi"), node(memory="500Mi of 4Gi")
    observation = Observation(node=short, pods=(B,), pod_stats={B.uid: MEMORY})
    seen = signal_observations(short)[hard.signal]
    eviction = shortening(B, hard, seen, observation, config(), layout=Layout.SINGLE)
    assert (eviction.pod, eviction.shortens, eviction.grace_period_seconds) == (B, True, 1)


def test_only_as_many_are_shortened_as_give_back_what_is_missing() -> None:
    victims = [
        Victim(uid=name, full_name=name, owed={Signal.MEMORY_AVAILABLE: held})
        for name, held in zip("abc", (5, 30, 20), strict=True)
    ]
    assert [v.uid for v in worth_shortening(victims, victims, Signal.MEMORY_AVAILABLE, 40)] == ["b", "c"]
    assert [v.uid for v in worth_shortening(victims, victims[1:], Signal.MEMORY_AVAILABLE, 40)] == ["a", "b", "c"]
    assert [v.uid for v in worth_shortening(victims, victims[1:], Signal.MEMORY_AVAILABLE, 5)] == ["a"]
