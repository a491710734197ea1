"""The eviction that asks for a lead, and the nodes on which it is not tested."""

from dataclasses import replace

from evictd.advice.evidence import OutsidePods, node_evidence
from evictd.advice.lead import calm_nodes, led_most
from evictd.advice.proposal import advise
from evictd.advice.signal_advice import LEAST_EVICTIONS
from evictd.core.model.signal import Resource
from tests.advice.test_proposal import MEMORY, MI, reading

FAST = node_evidence("fast", [reading(0, 480, evict="a", rate=900 * MI), reading(1, 4000, gone="a")])


def test_it_is_the_one_that_begins_the_earliest_before_the_proposed_threshold() -> None:
    found = led_most(FAST.episodes, {})
    assert found is not None
    assert found.led_by > 0
    assert led_most(FAST.episodes, {MEMORY: found.limit + found.led_by}) is None
    assert led_most([], {}) is None


def test_a_node_without_an_eviction_for_memory_does_not_show_how_fast_it_fills() -> None:
    assert calm_nodes([FAST, node_evidence("calm", [reading(0, 4000)]), node_evidence("empty", [])]) == ("calm",)


def test_none_is_proposed_for_a_leak_outside_pods() -> None:
    """It would evict pods that do not grow earlier, as the threshold that is not proposed there."""
    used = OutsidePods(node="fast", wall="", amount=3000 * MI, capacity=8192 * MI)
    for least, lead in ((2900 * MI, True), (500 * MI, False)):
        node = replace(FAST, outside_pods={Resource.MEMORY: replace(used, least=least)})
        nodes = [replace(node, node=f"n{number}") for number in range(LEAST_EVICTIONS)]
        assert advise(nodes, 99).lead is lead
