"""Which settings may act before those of another configuration."""

from evictd.core.model.config import EvictionConfig, FastFill, MemoryFormula, Policy
from evictd.core.model.signal import Signal
from evictd.core.model.sooner import added_thresholds, sooner_settings
from evictd.core.model.threshold import stall_threshold
from tests.playbook import config

SOONER = config(memory_lead=FastFill.AUTO, monitoring_period=1, memory_formula=MemoryFormula.MEM_AVAILABLE)


def test_settings_that_may_act_sooner_are_named() -> None:
    assert [*sooner_settings(config(), SOONER)] == ["memory.formula", "memory.lead", "evictionMonitoringPeriod"]
    assert [*sooner_settings(SOONER, config(memory_formula=MemoryFormula.MEM_AVAILABLE))] == []


def test_the_kubelets_formula_has_never_less() -> None:
    standard, kubelet = config(), config(policy=Policy.KUBELET)
    assert [*sooner_settings(standard, kubelet)] == []
    assert [*sooner_settings(kubelet, standard)] == ["memory.formula"]


def test_a_larger_minimum_reclaim_is_named() -> None:
    """A journal was said to show all of a configuration with which more pods go in a shortage."""
    none, small, large, part = (
        config(hard={"memory.available": "1Gi"}, min_reclaim={} if text is None else {"memory.available": text})
        for text in (None, "100Mi", "1Gi", "10%")
    )
    assert [*sooner_settings(small, large)] == [*sooner_settings(none, part)] == ["evictionMinimumReclaim"]
    assert [*sooner_settings(small, part)] == ["evictionMinimumReclaim"], "which is more depends on the node"
    for then, now in ((large, small), (small, none), (part, part), (none, config())):
        assert [*sooner_settings(then, now)] == []


def test_thresholds_on_a_signal_or_of_a_kind_that_had_none_are_added() -> None:
    """A journal was said to show all of a configuration with thresholds on signals that were not even read."""
    memory, disk = {"memory.available": "1Gi"}, {"memory.available": "2Gi", "nodefs.available": "10%"}
    soft = config(soft={"memory.available": ("1Gi", "1m")})
    stalls = (stall_threshold(Signal.PODS_IO_FULL_10, 20_00, duration=0, hard=True),)
    kubelet, standard = (EvictionConfig(thresholds=stalls, policy=each) for each in (Policy.KUBELET, Policy.STANDARD))
    for then, now, added in (
        (kubelet, standard, ["pods.io.full.avg10>20%"]),
        (standard, kubelet, []),
        (config(hard=memory), config(hard=disk), ["nodefs.available<10%"]),
        (config(hard=disk), config(hard=memory), []),
        (soft, config(hard=memory), ["memory.available<1Gi"]),
        (config(hard=memory), soft, ["memory.available<1Gi"]),
        (config(), config(hard=memory), ["memory.available<1Gi"]),
    ):
        assert [str(each) for each in added_thresholds(then, now)] == added


def test_a_shorter_transition_period_is_named() -> None:
    """Pods that waited for the end of the condition come back, and are evicted again, sooner."""
    default, short = config(), config(transition="1s")
    assert [*sooner_settings(default, short)] == ["evictionPressureTransitionPeriod"]
    assert [*sooner_settings(short, default)] == []
