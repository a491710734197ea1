"""Which settings may act before those of another configuration."""

from evictd.core.model.config import FastFill, MemoryFormula, Policy
from evictd.core.model.sooner import sooner_settings
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
