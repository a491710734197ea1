"""Evicts no pod where only page cache keeps a soft memory threshold met (policy Standard).

The working set leaves out inactive file pages alone, so it counts those that the kernel holds to be active. A pod that reads a
large file again and again makes all of its pages active: it seems to use them, and the node to be short of memory, although the
kernel drops clean pages as soon as a process asks for memory (kubernetes/kubernetes#43916). A hard threshold is acted on all the
same, and so is a soft one where a number was not read.

**Waiting.** A soft threshold waits while all of this is known to be true:

* the clean active file pages of the node are what is missing to the target;
* `MemAvailable`, the kernel's own estimate, is above the target;
* no task stalls for memory. Pages that are read again as soon as they were dropped are needed: such a node stalls, whatever
  `MemAvailable` says, and a pod goes.

**Dropping (`reclaim.pageCache`).** cgroup v2 can be asked for clean pages before: `memory.reclaim` on the cgroup of all pods
(kernel documentation, cgroup-v2, memory.reclaim). The pods read them again from disk, so it is done only where it may keep a pod,
and costs little:

* where the pods hold at least as many clean file pages as are missing, else a pod goes anyway;
* while no task stalls for memory, as above, and while memory does not fill fast: what is given back would not last;
* once in ten minutes. A pod that has its pages back before that uses them, and the threshold acts as documented.
"""

from collections.abc import Mapping
from dataclasses import replace

from evictd.core.eviction.draft import Draft
from evictd.core.eviction.time_left import missing_to_target, target_of, time_left
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.decision import ReclaimNode
from evictd.core.model.finding import NoAction, NoActionReason, RankedPod, ReclaimWouldHelp
from evictd.core.model.observation import Observation, Outcomes, Reclaim, ReclaimOutcome, SignalObservation
from evictd.core.model.signal import SIGNALS, Resource, Signal
from evictd.core.model.state import Collection, State
from evictd.core.model.stats import PodStats
from evictd.core.model.threshold import Threshold, is_met, limit_of
from evictd.core.units.approximate import bytes_text
from evictd.core.units.duration import MINUTE, SECOND
from evictd.core.units.quantity import of_bytes

PAGE_CACHE_TIMEOUT = 5 * SECOND
"""How long the kernel may take before the eviction goes on without it. `act.gc.page_cache` ends within three seconds."""
PAGE_CACHE_AGAIN = 10 * MINUTE
"""How long after one reclaim there is no other one."""
MORE = 4
"""A quarter more than what is missing is asked for: with nothing more 210 of 212 MiB came back on a machine of 2 GiB (Linux 6.1),
other tasks took 7 MiB meanwhile, and the pod went all the same."""
FAST_FILL = MINUTE
"""Memory that would be used up within this time at the measured rate fills fast."""
NO_STALL = 100
"""Hundredths of a percent of 10 s, so a tenth of a second: less is the noise of a node with memory left, whose tasks wait now and
then. A node that thrashes stalls for ten times that and more."""


def dropping_pages(
    draft: Draft, state: State, threshold: Threshold, observation: Observation, seen: SignalObservation
) -> State | None:
    """Decide to drop page cache, or wait for it; return the state after that, `None` where neither applies to this threshold."""
    if not _concerned(threshold):
        return None
    if state.drops_page_cache:
        draft.no_action(NoActionReason.WAITING_FOR_RELEASE, threshold, detail="page cache")
        return state
    config = draft.config
    if not config.reclaim_page_cache or state.page_cache is not None:
        return None
    missing = missing_to_target(threshold, seen, config)
    if pages_to_drop(threshold, seen, observation, config, missing=missing) is None:
        return None
    state = draft.announced(threshold, state)
    draft.decisions.append(
        ReclaimNode(actions=(Reclaim.PAGE_CACHE,), threshold=threshold, wanted_bytes=missing + missing // MORE)
    )
    begun = Collection(begun=draft.now, until=draft.now + PAGE_CACHE_TIMEOUT, available_before=seen.available.value())
    return replace(state, page_cache=begun)


def pages_to_drop(
    threshold: Threshold, seen: SignalObservation, observation: Observation, config: EvictionConfig, *, missing: int
) -> int | None:
    """Return the bytes of clean file pages that pods hold; `None` where to drop them would not keep a pod, or cost too much."""
    memory = None if observation.node is None else observation.node.memory
    possible = _concerned(threshold) and config.policy is Policy.STANDARD and observation.drops_page_cache
    if not possible or memory is None:
        return None
    left = time_left(seen)
    if memory.stalled is None or memory.stalled >= NO_STALL or (left is not None and left < FAST_FILL):
        return None
    read = (stats.memory.clean_file_bytes for stats in observation.pod_stats.values() if stats.memory is not None)
    pages = sum(each or 0 for each in read)
    return pages if pages and pages >= missing else None


def follow_page_cache(state: State, outcomes: Outcomes, now: int) -> State:
    """Return the state with the end of a reclaim of page cache, or without it when another one is allowed."""
    known = state.page_cache
    if known is None:
        return state
    if now - known.begun >= PAGE_CACHE_AGAIN:
        return replace(state, page_cache=None)
    over = outcomes.page_cache is not None or outcomes.dry_run or now >= known.until
    if known.ended_at is None and over:
        freed = 0 if outcomes.page_cache is None else outcomes.page_cache.freed_bytes
        return replace(state, page_cache=replace(known, ended_at=now, freed=freed))
    return state


def dropped_pages(before: State, outcomes: Outcomes) -> tuple[ReclaimOutcome, ...]:
    """Return the outcome of a reclaim of page cache in the cycle that first sees it, for the metrics."""
    return (outcomes.page_cache,) if before.drops_page_cache and outcomes.page_cache is not None else ()


def unused_page_cache(
    threshold: Threshold, seen: SignalObservation, observation: Observation, config: EvictionConfig, *, missing: int
) -> tuple[ReclaimWouldHelp, ...]:
    """Return the finding of a pod that goes although page cache could have been dropped instead, had it been allowed."""
    pages = pages_to_drop(threshold, seen, observation, config, missing=missing)
    if pages is None or config.reclaim_page_cache:
        return ()
    return (ReclaimWouldHelp(threshold=threshold, action=Reclaim.PAGE_CACHE, size=pages, missing=missing),)


def _concerned(threshold: Threshold) -> bool:
    return not threshold.hard and threshold.signal is Signal.MEMORY_AVAILABLE


def not_short_of_memory(
    threshold: Threshold, observation: Observation, seen: SignalObservation, config: EvictionConfig
) -> NoAction | None:
    """Return why a due threshold waits: only page cache keeps it met. `None` if it does not wait for that reason."""
    memory = None if observation.node is None else observation.node.memory
    if not _concerned(threshold) or memory is None:
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
        detail=f"{bytes_text(pages)} of clean file pages, stalled {stalled / 100:.2f}% of the time",
    )


def pages_then(
    threshold: Threshold, observation: Observation, seen: SignalObservation, config: EvictionConfig
) -> int | None:
    """Return the clean file pages for which a soft threshold that is not met would wait when it is; `None` if it would act.

    What falls until then is taken off `MemAvailable` as well, and no task stalls then that does not stall now.
    """
    node = observation.node
    memory = None if node is None else node.memory
    if node is None or memory is None or memory.mem_available_bytes is None:
        return None
    if config.policy is Policy.KUBELET or is_met(threshold, seen):
        return None
    limit = limit_of(threshold, seen)
    kernels = memory.mem_available_bytes - (seen.available - limit).value()
    met = replace(node, memory=replace(memory, mem_available_bytes=kernels))
    waits = not_short_of_memory(threshold, replace(observation, node=met), replace(seen, available=limit), config)
    return None if waits is None else memory.clean_file_bytes


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
