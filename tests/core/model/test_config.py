"""The configuration of the core, and what a policy uses of it."""

from evictd.core.model.config import EvictionConfig, Policy, own_thresholds, stall_signals
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import stall_threshold
from tests.playbook import threshold


def test_policy_kubelet_uses_no_threshold_on_stalls() -> None:
    memory = threshold("memory.available", "1Gi")
    stall = stall_threshold(Signal.PODS_MEMORY_FULL_10, 2000, duration=0, hard=False)
    standard = EvictionConfig(thresholds=(memory, stall))
    kubelet = EvictionConfig(thresholds=(memory, stall), policy=Policy.KUBELET)
    assert (own_thresholds(standard), own_thresholds(kubelet)) == ((memory, stall), (memory,))
    assert stall_signals(standard) == {Signal.PODS_MEMORY_FULL_10}
    assert stall_signals(kubelet) == frozenset()
