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
