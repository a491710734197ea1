"""Decides whether a pod goes beside a collection, on a disk that is full before its collectors have ended.

Such a disk is that of a pod that writes fast, and the sooner the pod ends, the more is left. But an image that is pulled, or a
file of the host, fills a disk as fast: a pod that went then would be lost although the collection suffices.
"""

from evictd.core.eviction.effect import grows_elsewhere
from evictd.core.eviction.freshness import waiting_for_measurement
from evictd.core.eviction.holdings import HALF
from evictd.core.eviction.ledger import supply_of
from evictd.core.eviction.reclaim import Layout
from evictd.core.model.observation import Observation
from evictd.core.model.state import State
from evictd.core.model.threshold import Threshold


def outruns_collectors(
    threshold: Threshold, state: State, observation: Observation, layout: Layout, *, missing: int, now: int
) -> bool:
    """Whether the end of a pod may relieve the disk sooner than its collectors; also while this is not known.

    Not where all pods together hold less than is missing, nor where what fills the disk belongs to no pod. The growth of pods
    that were first measured lately is not known, and until all are measured none is chosen anyway.
    """
    holdings = state.holdings.get(supply_of(threshold.signal, layout))
    if holdings is None or len(holdings.used) < len(observation.pods):
        return True
    if waiting_for_measurement(threshold, state, observation, layout, now) is not None:
        return True
    if sum(holdings.used.values()) < missing:
        return False
    is_known = now - holdings.since >= HALF and not holdings.arrived
    return not (is_known and grows_elsewhere(holdings))
