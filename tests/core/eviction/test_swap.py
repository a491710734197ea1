"""Thresholds on free swap (`swap.available`, policy Standard)."""

from dataclasses import replace

import pytest

from evictd.core.model.config import EvictionConfig
from evictd.core.model.finding import NoActionReason, PodSkipped, Ranking, SkipReason
from evictd.core.model.pod import Pod, PodSource
from evictd.core.model.stats import PodStats
from tests.playbook import Playbook, as_kubelet, config, pod, threshold, usage

A = pod("a", memory="100Mi", grace=30)
B = pod("b", memory="100Mi", grace=30)
CALM, SHORT = "900Mi of 1Gi", "50Mi of 1Gi"


def swapping(
    *usages: tuple[Pod, PodStats], grace: str = "0s", hard: bool = False, base: EvictionConfig | None = None
) -> Playbook:
    """A node whose swap is short below 100Mi."""
    short = replace(threshold("swap.available", "100Mi", grace=grace), hard_after_grace=hard)
    settings = replace(base or config(max_pod_grace_period_seconds=10), thresholds=(short,))
    return Playbook(settings, pods=[of for of, _ in usages], usage=[stats for _, stats in usages])


def test_the_pod_with_the_most_in_swap_goes_whatever_memory_it_uses() -> None:
    """Only its swap comes back to what is short."""
    book = swapping((A, usage(A, memory="2Gi", swap="10Mi")), (B, usage(B, memory="200Mi", swap="700Mi")))
    book.at("0s", memory="3Gi of 4Gi", swap=SHORT).conditions("MemoryPressure").evicts("b", grace=1)
    message = "The node was low on resource: swap. Threshold quantity: 100Mi, available: 50Mi. "
    assert book.eviction().message == message


def test_a_pod_within_its_request_of_memory_goes_after_all_that_exceed_theirs() -> None:
    """Swap is part of what a pod uses: the law Fairness knows no other request."""
    within, low = pod("within", memory="4Gi"), pod("low", memory="100Mi", priority=-1)
    book = swapping(
        (within, usage(within, memory="1Gi", swap="900Mi")),
        (A, usage(A, memory="90Mi", swap="60Mi")),
        (B, usage(B, memory="90Mi", swap="70Mi")),
        (low, usage(low, memory="200Mi", swap="1Mi")),
    )
    # 50Mi are missing: the 1Mi of the first in the order would be lost in vain.
    book.at("0s", swap=SHORT).conditions("MemoryPressure").evicts("b")
    assert [(f.pod.name, f.instead) for f in book.findings(PodSkipped)] == [("low", B)]
    [ranking] = book.findings(Ranking)
    assert [row.name for row in ranking.rows] == ["low", "b", "a", "within"]
    assert [row.usage for row in ranking.rows] == [each << 20 for each in (1, 70, 60, 900)]


def test_what_a_victim_has_in_swap_is_waited_for_and_a_second_one_goes_for_the_rest() -> None:
    book = swapping((A, usage(A, memory="1Gi", swap="70Mi")), (B, usage(B, memory="1Gi", swap="10Mi")))
    book.at("0s", swap="20Mi of 1Gi").conditions("MemoryPressure").evicts("a")
    book.at("1s", swap="20Mi of 1Gi", gone=()).stays_silent(NoActionReason.WAITING_FOR_VICTIM)
    book.at("2s", swap="90Mi of 1Gi").evicts("b")


@pytest.mark.parametrize(("hard", "grace"), [(False, 10), (True, 1)])
def test_it_is_soft_unless_it_is_hard(hard: bool, grace: int) -> None:
    book = swapping((A, usage(A, memory="1Gi", swap="500Mi")), grace="20s", hard=hard)
    book.at("0s", swap=SHORT).conditions("MemoryPressure")
    book.at("19s", swap=SHORT).does_nothing()
    book.at("20s", swap=SHORT).evicts("a", grace=grace)


@pytest.mark.parametrize(
    ("swap", "skipped", "why"),
    [
        ("0", SkipReason.USES_NOTHING, NoActionReason.NOTHING_HELPS),
        (None, SkipReason.NOT_MEASURED, NoActionReason.NO_POD_MEASURED),
    ],
    ids=["none in swap", "not measured, as on cgroup v1"],
)
def test_nobody_goes_where_that_frees_no_swap(swap: str | None, skipped: SkipReason, why: NoActionReason) -> None:
    book = swapping((A, usage(A, memory="3Gi", swap=swap)))
    book.at("0s", swap=SHORT).conditions("MemoryPressure").stays_silent(why)
    assert [each.reason for each in book.findings(PodSkipped)] == [skipped]


def test_a_protected_culprit_stops_evicting() -> None:
    static = pod("static", source=PodSource.STATIC)
    book = swapping((static, usage(static, memory="1Gi", swap="900Mi")), (A, usage(A, memory="1Gi", swap="1Mi")))
    book.at("0s", swap=SHORT).conditions("MemoryPressure").stays_silent(NoActionReason.PROTECTED_CULPRIT)


def test_swap_that_is_absent_or_enough_is_no_shortage() -> None:
    book = swapping((A, usage(A, memory="1Gi", swap="500Mi")))
    book.at("0s", memory="1Gi of 4Gi").conditions()
    book.at("10s", memory="1Gi of 4Gi", swap=CALM).does_nothing()


def test_policy_kubelet_has_no_threshold_on_swap() -> None:
    book = swapping((A, usage(A, memory="1Gi", swap="500Mi")), base=as_kubelet(config()))
    book.at("0s", swap=SHORT).conditions()
    book.at("10s", swap=SHORT).does_nothing()
