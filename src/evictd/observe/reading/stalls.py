"""Adds to a reading of the node for how long its tasks stalled for memory and for I/O (PSI)."""

from collections.abc import Collection, Iterable
from dataclasses import replace

from evictd.core.model.observation import signal_observations
from evictd.core.model.signal import STALLS, Signal, StalledResource
from evictd.core.model.stats import IOStats, NodeStats
from evictd.observe.cgroups.memory import NodeMemoryReader
from evictd.observe.reading.problems import Problems


def with_stalls(
    node: NodeStats,
    wanted: Iterable[Signal],
    memory: NodeMemoryReader,
    problems: Problems,
    *,
    pods: str | None,
    now: int,
) -> NodeStats:
    """Add how long tasks stalled for the resources of these signals; `pods` is the cgroup of all pods, where there is one."""
    resources = {STALLS[signal].resource for signal in wanted}
    if StalledResource.MEMORY in resources:
        psi = {cgroup: memory.stalls(StalledResource.MEMORY, cgroup, problems) for cgroup in (None, pods)}
        node = replace(
            node,
            memory=node.memory and replace(node.memory, psi=psi[None]),
            pods_memory=node.pods_memory and replace(node.pods_memory, psi=psi[pods]),
        )
    if StalledResource.IO in resources:
        read = IOStats(time=now, psi=memory.stalls(StalledResource.IO, None, problems))
        of_pods = pods and memory.stalls(StalledResource.IO, pods, problems)
        node = replace(node, io=read, pods_io=replace(read, psi=of_pods) if of_pods else None)
    return node


def stalled_resources(node: NodeStats, wanted: Collection[Signal]) -> frozenset[StalledResource]:
    """Return the resources that tasks have stalled for lately, by the signals that have a threshold."""
    seen = signal_observations(node) if wanted else {}
    return frozenset(
        STALLS[signal].resource
        for signal in wanted
        if signal in seen and seen[signal].available < seen[signal].capacity
    )
