"""Conditions appear at once and stay for the transition period."""

from evictd.core.eviction.assess import (
    node_conditions,
    node_conditions_last_observed_at,
    node_conditions_observed_since,
)
from evictd.core.model.signal import NodeCondition
from evictd.core.units.duration import MINUTE, SECOND
from tests.playbook import threshold

MEMORY, DISK, PID = NodeCondition


def test_each_condition_is_named_once() -> None:
    """TestNodeConditions: two disk signals are one pressure."""
    met = [threshold("nodefs.available", "1Gi"), threshold("imagefs.inodesFree", "5%"), threshold("pid.available", "9")]
    assert node_conditions(met) == (DISK, PID)
    assert node_conditions([]) == ()


def test_times_of_conditions_not_seen_now_are_kept() -> None:
    """TestNodeConditionsLastObservedAt."""
    assert node_conditions_last_observed_at([MEMORY], {MEMORY: 1, DISK: 2}, 9) == {MEMORY: 9, DISK: 2}


def test_a_condition_leaves_exactly_when_the_period_is_over() -> None:
    """TestNodeConditionsObservedSince: strictly less."""
    at = {MEMORY: 0, PID: 30 * SECOND}
    assert node_conditions_observed_since(at, lambda _: 2 * MINUTE, 2 * MINUTE - 1) == (MEMORY, PID)
    assert node_conditions_observed_since(at, lambda _: 2 * MINUTE, 2 * MINUTE) == (PID,)


def test_a_period_of_zero_reports_nothing() -> None:
    """docs/parity.md, row 8: the flag with 0s disables conditions."""
    assert node_conditions_observed_since({MEMORY: 5}, lambda _: 0, 5) == ()
