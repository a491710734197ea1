"""What it means that every pod is skipped."""

import pytest

from evictd.core.eviction.choice import Skip, in_rank_order, why_no_pod
from evictd.core.model.finding import NoActionReason, PodSkipped, ProtectedPodSkipped, SkipReason
from tests.playbook import pod
from tests.shortages import row

A = pod("a")


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        (SkipReason.BUDGET, NoActionReason.HELD_BACK),
        (SkipReason.NOT_MEASURED, NoActionReason.NO_POD_MEASURED),
        (SkipReason.STALLS_LITTLE, NoActionReason.NOTHING_HELPS),
        (SkipReason.IN_FLIGHT, NoActionReason.NOTHING_EVICTABLE),
    ],
)
def test_the_first_reason_that_any_pod_has(reason: SkipReason, why: NoActionReason) -> None:
    skips: list[Skip] = [
        ProtectedPodSkipped(pod=A),
        PodSkipped(pod=A, reason=SkipReason.IN_FLIGHT),
        PodSkipped(pod=A, reason=reason),
    ]
    assert why_no_pod(skips) is why
    assert why_no_pod(skips[:1]) is NoActionReason.NOTHING_EVICTABLE


def test_findings_come_in_the_order_of_the_ranking() -> None:
    skips = {name: ProtectedPodSkipped(pod=pod(name)) for name in "ab"}
    assert [each.pod.name for each in in_rank_order([row("b", 1), row("c", 1), row("a", 1)], skips)] == ["b", "a"]
