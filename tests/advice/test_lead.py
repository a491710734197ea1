"""The eviction that asks for a lead, and the nodes on which it is not tested."""

from evictd.advice.evidence import node_evidence
from evictd.advice.lead import calm_nodes, led_most
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
