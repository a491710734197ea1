"""Determines whether a reading must have the pods, or whether the node's own signals suffice (policy Standard).

To read a pod costs the same on a calm node as on a full one, and far from every threshold no decision uses what was read. Two
uses remain: growth is measured over a minute before a crossing (`holdings`), and a pod that cannot be read counts with what it
was measured to hold within the last minute. Both are kept by a reading of the pods every half of that minute. With one a minute
growth is the mean of the minute and no longer the rise above its lowest half, and another pod was evicted in 1 of 66 random
worlds (docs/adr/0022-calm-cycles.md).
"""

from evictd.core.eviction.accounts.freshness import NEAR_PART
from evictd.core.eviction.accounts.holdings import HALF, NEAR_TIME
from evictd.core.eviction.assess import configured_thresholds, detect_filesystems
from evictd.core.model.config import EvictionConfig, Policy, stall_signals
from evictd.core.model.observation import Observation, SignalObservation, signal_observations
from evictd.core.model.signal import SIGNALS
from evictd.core.model.state import State, Watching
from evictd.core.model.threshold import Operator, Threshold, limit_of
from evictd.core.units.duration import SECOND


def pods_needed(
    state: State, observation: Observation, config: EvictionConfig, *, read_at: int | None, now: int
) -> bool:
    """Whether the pods must be read for this cycle.

    `observation` has the node's signals as of now, and the pods as they were read at `read_at` (`None`: never).

    Policy Kubelet reads all in each cycle, as the kubelet does. A stall of the node tells nothing of how near a threshold is, and
    a pod may exceed a limit of its own at any time.
    """
    if read_at is None or now - read_at >= HALF or config.policy is Policy.KUBELET or stall_signals(config):
        return True
    if not _is_at_rest(state):
        return True
    if config.local_storage_capacity_isolation and any(
        pod.resource_totals.local_limits is not None for pod in observation.pods
    ):
        return True
    return _is_near_any(state, observation, config)


def _is_at_rest(state: State) -> bool:
    """Whether nothing is under way for which a later cycle looks at the pods."""
    under_way = (
        state.in_flight,
        state.leaving,
        state.collections,
        state.drops_page_cache,
        state.crossings,
        state.noticed,
        state.pauses,
        state.announced,
        state.comebacks,
        state.node_conditions,
        state.thresholds_first_observed_at,
    )
    return isinstance(state.phase, Watching) and not any(under_way)


def _is_near_any(state: State, observation: Observation, config: EvictionConfig) -> bool:
    filesystems = detect_filesystems(state, observation, config)
    if observation.node is None or filesystems is None or filesystems != state.filesystems:
        return True
    seen = signal_observations(observation.node)
    return any(
        _is_near(threshold, seen[threshold.signal])
        if threshold.signal in seen
        else threshold.signal not in observation.absent
        for threshold in configured_thresholds(config, filesystems)
        if threshold.operator is Operator.LESS_THAN
    )


def _is_near(threshold: Threshold, seen: SignalObservation) -> bool:
    """Whether less than twice the threshold's amount is available, or it is crossed soon at the present rate.

    A disk is also near within `NEAR_PART` of its capacity: from there on its pods are walked.
    """
    limit = limit_of(threshold, seen).value()
    left = seen.available.value() - limit
    margin = limit if SIGNALS[threshold.signal].filesystem is None else max(limit, seen.capacity.value() // NEAR_PART)
    return left < margin or left <= (seen.fill_rate or 0) * NEAR_TIME // SECOND
