"""Recognises a soft memory threshold that only page cache keeps met, while processes can have memory (policy Standard).

The working set leaves out inactive file pages alone, so it counts those that the kernel holds to be active. A pod that reads a
large file again and again makes all of its pages active: it seems to use them, and the node to be short of memory, although the
kernel drops clean pages as soon as a process asks for memory (kubernetes/kubernetes#43916).

So a soft threshold waits while all of this is known to be true:

* the clean active file pages of the node are what is missing to the target;
* `MemAvailable`, the kernel's own estimate, is above the target;
* no task stalls for memory. Pages that are read again as soon as they were dropped are needed: such a node stalls, whatever
  `MemAvailable` says, and a pod goes.

What was not read proves nothing, so the threshold then acts as documented, as a hard one always does.
"""

from collections.abc import Mapping

from evictd.core.eviction.time_left import target_of
from evictd.core.model.config import EvictionConfig
from evictd.core.model.finding import NoAction, NoActionReason, RankedPod
from evictd.core.model.observation import Observation, SignalObservation
from evictd.core.model.signal import SIGNALS, Resource, Signal
from evictd.core.model.stats import PodStats
from evictd.core.model.threshold import Threshold
from evictd.core.units.quantity import of_bytes

NO_STALL = 100
"""Hundredths of a percent of 10 s, so a tenth of a second: less is the noise of a node with memory left, whose tasks wait now and
then. A node that thrashes stalls for ten times that and more."""


def not_short_of_memory(
    threshold: Threshold, observation: Observation, seen: SignalObservation, config: EvictionConfig
) -> NoAction | None:
    """Return why a due threshold waits: only page cache keeps it met. `None` if it does not wait for that reason."""
    memory = None if observation.node is None else observation.node.memory
    if threshold.hard or threshold.signal is not Signal.MEMORY_AVAILABLE or memory is None:
        return None
    pages, kernels, stalled = memory.clean_file_bytes, memory.mem_available_bytes, memory.stalled
    if pages is None or kernels is None or stalled is None or stalled >= NO_STALL:
        return None
    target = target_of(threshold, seen, config, with_min_reclaim=True)
    if of_bytes(kernels) <= target or seen.available + of_bytes(pages) < target:
        return None
    return NoAction(
        why=NoActionReason.NOT_SHORT_OF_MEMORY,
        threshold=threshold,
        needed=target,
        reachable=of_bytes(kernels),
        detail=f"{of_bytes(pages)} of clean file pages, stalled {stalled / 100:.2f}% of the time",
    )


def with_file_pages(row: RankedPod, signal: Signal, stats: Mapping[str, PodStats]) -> RankedPod:
    """Return a row of a ranking for memory with the clean file pages of the pod, where they were read."""
    pages = file_pages(row, SIGNALS[signal].resource, stats.get(row.uid))
    return row if pages is None else row._replace(file_pages=pages)


def file_pages(row: RankedPod, resource: Resource, stats: PodStats | None) -> int | None:
    """Return how many bytes of a pod's usage of memory are clean file pages; `None` where they were not read."""
    memory = None if stats is None else stats.memory
    if resource is not Resource.MEMORY or row.usage is None or memory is None or memory.clean_file_bytes is None:
        return None
    return min(memory.clean_file_bytes, row.usage)
