"""Decides when a threshold that is met becomes due, and the grace period of its victim.

The timers of soft thresholds (kubelet `thresholdsFirstObservedAt`, `thresholdsMetGracePeriod`), the rule that nothing acts twice
on the same numbers (`thresholdsUpdatedStats`), and the pod's own grace period in a pressure eviction.
"""

from collections.abc import Iterable, Mapping

from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.observation import SignalObservation
from evictd.core.model.pod import Pod
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Threshold

IMMEDIATE_EVICTION_GRACE_PERIOD_SECONDS = 1
SHORTEST_SOFT_GRACE_PERIOD_SECONDS = 2
"""More than any hard threshold gives; the kubelet's runtime manager replaces zero by it (`minimumGracePeriodInSeconds`)."""
DEFAULT_TERMINATION_GRACE_PERIOD_SECONDS = 30
"""The API's default for a pod without one."""


def thresholds_first_observed_at(
    met: Iterable[Threshold], first_observed_at: Mapping[Threshold, int], now: int
) -> dict[Threshold, int]:
    """Keep the time of those already known, start the others now, and drop those that are not met any more."""
    known = {threshold.identity: at for threshold, at in first_observed_at.items()}
    return {threshold: known.get(threshold.identity, now) for threshold in met}


def thresholds_met_grace_period(first_observed_at: Mapping[Threshold, int], now: int) -> tuple[Threshold, ...]:
    """Pick the thresholds that have been met for their whole grace period; exactly the period is enough."""
    return tuple(threshold for threshold, at in first_observed_at.items() if now - at >= threshold.grace_period)


def thresholds_updated_stats(
    thresholds: Iterable[Threshold],
    observations: Mapping[Signal, SignalObservation],
    last_observations: Mapping[Signal, SignalObservation],
) -> tuple[Threshold, ...]:
    """Pick the thresholds whose numbers are newer than at the last cycle (kubernetes/kubernetes#51516)."""
    return tuple(
        threshold
        for threshold in thresholds
        if (observation := observations.get(threshold.signal)) is not None
        and _is_newer(observation, last_observations.get(threshold.signal))
    )


def _is_newer(observation: SignalObservation, last: SignalObservation | None) -> bool:
    if last is None or not observation.time:
        return True
    return last.time is None or observation.time > last.time


def eviction_grace_period_seconds(pod: Pod, threshold: Threshold, config: EvictionConfig) -> int:
    """Return the grace period in seconds: one for a hard threshold, else the lesser of the pod's own and the configured maximum.

    A negative maximum is documented to leave the pod's own period alone; the kubelet's code takes the negative number. Policy
    Standard gives a soft victim at least two seconds, which is what the kubelet's runtime manager makes of zero.
    """
    if threshold.hard:
        return IMMEDIATE_EVICTION_GRACE_PERIOD_SECONDS
    most = config.max_pod_grace_period_seconds
    own = pod.termination_grace_period_seconds
    if config.policy is Policy.KUBELET:
        return most if own is None else min(most, own)
    if most < 0:
        most = DEFAULT_TERMINATION_GRACE_PERIOD_SECONDS if own is None else own
    return max(most if own is None else min(most, own), SHORTEST_SOFT_GRACE_PERIOD_SECONDS)
