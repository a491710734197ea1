"""The configuration of the core, and what a policy uses of it."""

import pytest

from evictd.core.model.config import (
    EvictionConfig,
    MemoryFormula,
    Policy,
    available_by,
    memory_formula,
    own_thresholds,
    stall_signals,
    unallocatable_by,
)
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import stall_threshold
from evictd.core.units.duration import MINUTE
from tests.playbook import pod, threshold


def test_policy_kubelet_uses_no_threshold_on_stalls() -> None:
    memory = threshold("memory.available", "1Gi")
    stall = stall_threshold(Signal.PODS_MEMORY_FULL_10, 2000, duration=0, hard=False)
    standard = EvictionConfig(thresholds=(memory, stall))
    kubelet = EvictionConfig(thresholds=(memory, stall), policy=Policy.KUBELET)
    assert (own_thresholds(standard), own_thresholds(kubelet)) == ((memory, stall), (memory,))
    assert stall_signals(standard) == {Signal.PODS_MEMORY_FULL_10}
    assert stall_signals(kubelet) == frozenset()


AUTO, LOWEST = MemoryFormula.AUTO, MemoryFormula.LOWEST
WORKING_SET, MEM_AVAILABLE = MemoryFormula.WORKING_SET, MemoryFormula.MEM_AVAILABLE


@pytest.mark.parametrize(
    ("formula", "documented", "kernels", "available"),
    [
        (WORKING_SET, 9, 5, 9),
        (MEM_AVAILABLE, 9, 5, 5),
        (MEM_AVAILABLE, None, 5, 5),
        (LOWEST, 9, 5, 5),
        (LOWEST, 5, 9, 5),
        (LOWEST, 9, None, None),
        (AUTO, 9, 5, 5),
        (AUTO, 5, 9, 5),
        (AUTO, 9, None, 9),
        (AUTO, None, 5, None),
    ],
)
def test_what_is_available(
    formula: MemoryFormula, documented: int | None, kernels: int | None, available: int | None
) -> None:
    assert available_by(formula, documented, kernels) == available


@pytest.mark.parametrize(
    ("formula", "documented", "available", "more"),
    [(AUTO, 9, 5, 4), (AUTO, 9, 9, None), (AUTO, None, 5, None), (LOWEST, 9, 5, None), (WORKING_SET, 9, 9, None)],
)
def test_only_auto_keeps_the_difference(
    formula: MemoryFormula, documented: int | None, available: int, more: int | None
) -> None:
    assert unallocatable_by(formula, documented, available) == more


@pytest.mark.parametrize(
    ("policy", "formula", "used"),
    [
        (Policy.STANDARD, AUTO, AUTO),
        (Policy.KUBELET, AUTO, WORKING_SET),
        (Policy.KUBELET, LOWEST, LOWEST),
    ],
)
def test_policy_kubelet_reads_as_the_kubelet_does(policy: Policy, formula: MemoryFormula, used: MemoryFormula) -> None:
    assert memory_formula(EvictionConfig(policy=policy, memory_formula=formula)) is used


def test_the_defaults_are_those_of_the_kubelet() -> None:
    """`SetDefaults_KubeletConfiguration` and `evictionMaxPodGracePeriod: 0`."""
    config = EvictionConfig()
    assert (config.max_pod_grace_period_seconds, config.pressure_transition_period) == (0, 5 * MINUTE)
    assert config.local_storage_capacity_isolation


def test_evictds_own_pod_is_protected() -> None:
    """Beside the critical ones."""
    own = EvictionConfig(protected_pods=frozenset({"me"}))
    assert own.protects(pod("me"))
    assert not own.protects(pod("you"))
