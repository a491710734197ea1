"""Timers of thresholds, fresh numbers, and the seconds a victim gets."""

import pytest

from evictd.core.eviction.grace import (
    eviction_grace_period_seconds,
    thresholds_first_observed_at,
    thresholds_met_grace_period,
    thresholds_updated_stats,
)
from evictd.core.model.config import Policy
from evictd.core.model.observation import SignalObservation
from evictd.core.model.signal import Signal
from evictd.core.units.duration import MINUTE
from evictd.core.units.quantity import of_bytes
from tests.playbook import config, pod, threshold

HARD = threshold("memory.available", "1Gi")
SOFT = threshold("memory.available", "2Gi", grace="1m")


def test_known_times_stay_and_forgotten_ones_start_again() -> None:
    """TestThresholdsFirstObservedAt."""
    assert thresholds_first_observed_at([HARD, SOFT], {SOFT: 3}, 9) == {HARD: 9, SOFT: 3}
    assert thresholds_first_observed_at([HARD], {SOFT: 3}, 9) == {HARD: 9}


def test_exactly_the_grace_period_is_enough() -> None:
    """TestThresholdsMetGracePeriod."""
    assert thresholds_met_grace_period({HARD: 0, SOFT: 0}, MINUTE - 1) == (HARD,)
    assert thresholds_met_grace_period({HARD: 0, SOFT: 0}, MINUTE) == (HARD, SOFT)


@pytest.mark.parametrize(
    ("time", "last", "fresh"),
    [(None, 5, True), (0, 5, True), (5, None, True), (4, 5, False), (5, 5, False), (6, 5, True)],
)
def test_only_newer_numbers_count(time: int | None, last: int | None, fresh: bool) -> None:
    """TestThresholdsUpdatedStats: no time and no predecessor count as new."""

    def seen(at: int | None) -> dict[Signal, SignalObservation]:
        return {Signal.MEMORY_AVAILABLE: SignalObservation(available=of_bytes(0), capacity=of_bytes(9), time=at)}

    assert bool(thresholds_updated_stats([HARD], seen(time), seen(last))) is fresh
    assert thresholds_updated_stats([HARD], seen(time), {}) == (HARD,)
    assert thresholds_updated_stats([HARD], {}, {}) == ()


@pytest.mark.parametrize(
    ("most", "own", "standard", "kubelet"),
    [(0, 30, 2, 0), (5, 30, 5, 5), (60, 30, 30, 30), (60, None, 60, 60), (-1, 30, 30, -1), (-1, None, 30, -1)],
)
def test_a_soft_victim_gets_the_least_of_its_own_and_the_maximum(
    most: int, own: int | None, standard: int, kubelet: int
) -> None:
    """A negative maximum leaves the pod's own alone, as documented; the kubelet's code takes the negative number."""
    for policy, expected in ((Policy.STANDARD, standard), (Policy.KUBELET, kubelet)):
        settings = config(max_pod_grace_period_seconds=most, policy=policy)
        assert eviction_grace_period_seconds(pod("a", grace=own), SOFT, settings) == expected


def test_a_hard_victim_gets_one_second() -> None:
    """`immediateEvictionGracePeriodSeconds`."""
    assert eviction_grace_period_seconds(pod("a", grace=30), HARD, config(max_pod_grace_period_seconds=60)) == 1
