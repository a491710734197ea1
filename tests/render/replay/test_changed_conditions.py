"""Whether conditions that are reported otherwise could have changed which pods a node had."""

from collections.abc import Iterable

import pytest

from evictd.render.replay.changed_conditions import ReportedConditions, conditions_after, may_change_pods

_M = ("MemoryPressure",)


def _cycle(then: Iterable[str], now: Iterable[str], pods: str = "ab", *, evicts: bool = False) -> ReportedConditions:
    return ReportedConditions(then=frozenset(then), now=frozenset(now), pods=frozenset(pods), evicts=evicts)


@pytest.mark.parametrize(
    ("cycles", "may"),
    [
        ([_cycle(_M, _M, evicts=True), _cycle((), ())], False),
        ([_cycle(_M, _M, evicts=True), _cycle((), _M), _cycle((), (), "a")], False),
        ([_cycle((), _M), _cycle((), (), "abc")], True),
        ([_cycle((), _M), _cycle((), (), evicts=True)], True),
        ([_cycle(_M, ())], True),
        ([_cycle((), _M), _cycle(_M, ())], True),
    ],
    ids=["the same", "kept after the last eviction", "a pod came", "a pod went", "not kept", "kept, and later not"],
)
def test_a_condition_that_stays_changes_nothing_where_no_pod_came_or_went(
    cycles: list[ReportedConditions], *, may: bool
) -> None:
    """`a condition keeps new pods away` was said of a condition that stayed after all evictions, when no pod came."""
    assert may_change_pods(cycles) is may


def test_the_conditions_after_a_record_are_those_that_it_reports() -> None:
    before = frozenset(_M)
    assert conditions_after([{"kind": "Wait"}], before) == before
    assert conditions_after([{"kind": "ReportConditions", "conditions": ["PIDPressure"]}], before) == {"PIDPressure"}
    assert conditions_after([{"kind": "ReportConditions"}], before) == before, "a damaged record"
