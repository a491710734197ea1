"""Has the kernel drop clean file pages of pods before a pod goes for a soft memory threshold (`reclaim.pageCache`).

The working set counts active file pages, which the kernel gives back as soon as a process asks for memory (`file_pages`). cgroup
v2 can be asked for them before: `memory.reclaim` on the cgroup of all pods (kernel documentation, cgroup-v2, memory.reclaim). The
pods that read these pages again read them from disk, so it is done only where it may keep a pod, and costs little:

* for a soft threshold on `memory.available` that is due; a hard one is acted on at once, and is never held up;
* where the pods hold at least as many clean file pages as are missing, else a pod goes anyway;
* while no task stalls for memory: pages that are read again at once are needed, and would be dropped for nothing;
* while memory does not fill fast: what is given back would not last;
* once in ten minutes. A pod that has its pages back before that uses them, and the threshold acts as documented.
"""

from dataclasses import replace

from evictd.core.eviction.draft import Draft
from evictd.core.eviction.file_pages import NO_STALL
from evictd.core.eviction.time_left import missing_to_target, time_left
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.decision import ReclaimNode
from evictd.core.model.finding import NoActionReason, ReclaimWouldHelp
from evictd.core.model.observation import Observation, Outcomes, Reclaim, ReclaimOutcome, SignalObservation
from evictd.core.model.signal import Signal
from evictd.core.model.state import Collection, State
from evictd.core.model.threshold import Threshold
from evictd.core.units.duration import MINUTE, SECOND

PAGE_CACHE_TIMEOUT = 5 * SECOND
"""How long the kernel may take before the eviction goes on without it. `act.gc.page_cache` ends within three seconds."""
PAGE_CACHE_AGAIN = 10 * MINUTE
"""How long after one reclaim there is no other one."""
MORE = 4
"""A quarter more than what is missing is asked for: with nothing more 210 of 212 MiB came back on a machine of 2 GiB (Linux 6.1),
other tasks took 7 MiB meanwhile, and the pod went all the same."""
FAST_FILL = MINUTE
"""Memory that would be used up within this time at the measured rate fills fast."""


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
