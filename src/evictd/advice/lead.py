"""Finds the eviction that asks for `memory.lead: Auto`, and the nodes on which it is not tested."""

from collections.abc import Iterable, Mapping

from evictd.advice.episode import Episode
from evictd.advice.evidence import NodeEvidence
from evictd.core.model.signal import MEMORY_SIGNALS, Signal


def led_most(memory: Iterable[Episode], proposed: Mapping[Signal, int]) -> Episode | None:
    """Return the eviction that a lead would have begun the earliest, also before the proposed threshold; `None` without one."""
    found = [each for each in memory if each.led_by and each.limit + each.led_by > proposed.get(each.signal, 0)]
    return max(found, key=lambda each: each.led_by, default=None)


def calm_nodes(nodes: Iterable[NodeEvidence]) -> tuple[str, ...]:
    """Return the nodes with readings and without an eviction for memory: how fast it fills there is not recorded."""
    calm = (node for node in nodes if not any(each.signal in MEMORY_SIGNALS for each in node.episodes))
    return tuple(node.node for node in calm if node.readings)
