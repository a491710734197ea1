"""How do things stand? The first half of a cycle, before anything is done about it.

Layout, thresholds met, timers, conditions, and which thresholds are due: steps 1 to 12 of the kubelet's `synchronize` (spec
4.2). The result holds the state as it will be remembered, whatever is decided afterwards.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from evictd.core.condition import node_conditions, node_conditions_last_observed_at, node_conditions_observed_since
from evictd.core.config import EvictionConfig, Policy
from evictd.core.containerfs import add_container_fs_thresholds, ignored_container_fs_thresholds
from evictd.core.decision import (
    ContainerFsIgnored,
    Finding,
    SignalUnobserved,
    Silence,
    Silent,
    StatsMissing,
    ThresholdFinding,
)
from evictd.core.grace import thresholds_first_observed_at, thresholds_met_grace_period, thresholds_updated_stats
from evictd.core.observation import Filesystems, Observation, SignalObservation, signal_observations
from evictd.core.signal import Signal
from evictd.core.state import State
from evictd.core.threshold import (
    Operator,
    Threshold,
    is_met,
    limit_of,
    merge_thresholds,
    sort_by_eviction_priority,
    thresholds_met,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """How things stand."""

    state: State
    filesystems: Filesystems
    observations: Mapping[Signal, SignalObservation]
    due: tuple[Threshold, ...]
    """Met for their whole grace period, on numbers newer than the last cycle's; the one to act on first."""
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingKnown:
    """The reading does not allow a cycle; the state is as it was but for a layout found."""

    state: State
    findings: tuple[Finding, ...]


def configured_thresholds(config: EvictionConfig, filesystems: Filesystems) -> tuple[Threshold, ...]:
    """Give all thresholds of this node, those of containerfs included."""
    return add_container_fs_thresholds(config.thresholds, filesystems)


def detect_filesystems(state: State, observation: Observation, config: EvictionConfig) -> Filesystems | None:
    """Give the layout: looked at once by the kubelet, whenever it is readable under Standard; `None` if never yet."""
    seen, known = observation.filesystems, state.filesystems
    if known is not None and (config.policy is Policy.KUBELET or seen.dedicated_image_fs is None):
        return known
    if seen.dedicated_image_fs is None:
        return None
    return Filesystems(dedicated_image_fs=seen.dedicated_image_fs, split_container_fs=bool(seen.split_container_fs))


def assess(state: State, observation: Observation, config: EvictionConfig, now: int) -> Assessment | NothingKnown:
    """Compare one reading with the thresholds and move the timers on."""
    filesystems = detect_filesystems(state, observation, config)
    if filesystems is None:
        return NothingKnown(state=state, findings=(Silent(why=Silence.LAYOUT_UNKNOWN),))
    first_pass = state.filesystems is None
    state = replace(state, filesystems=filesystems)
    if observation.node is None:
        return NothingKnown(state=state, findings=(Silent(why=Silence.NO_STATS),))
    thresholds = configured_thresholds(config, filesystems)
    if config.policy is Policy.KUBELET and first_pass:
        # The kubelet derives containerfs during its first cycle: what is replaced counts at once, what is new from the second.
        thresholds = thresholds[: len(config.thresholds)]
    observations = signal_observations(observation.node)
    met = _met(thresholds, observations, state, config)
    state = _move_timers(state, met, config, now)
    fresh = thresholds_updated_stats(state.thresholds_met, observations, state.last_observations)
    findings = (
        *(ContainerFsIgnored(threshold=t) for t in ignored_container_fs_thresholds(config.thresholds) if first_pass),
        *_threshold_findings(thresholds, observations, state, fresh, now),
        *_missing_stats(observation),
    )
    return Assessment(
        state=replace(state, last_observations=observations),
        filesystems=filesystems,
        observations=observations,
        due=sort_by_eviction_priority(fresh, as_kubelet=config.policy is Policy.KUBELET),
        findings=findings,
    )


def _met(
    thresholds: tuple[Threshold, ...],
    observations: Mapping[Signal, SignalObservation],
    state: State,
    config: EvictionConfig,
) -> tuple[Threshold, ...]:
    """Pick those met now, and those due last time whose minimum reclaim is not reached; in configuration order."""
    previous = state.thresholds_met
    configured = {threshold.identity for threshold in thresholds}
    if config.policy is Policy.STANDARD:  # a reload may have taken some away
        previous = tuple(threshold for threshold in previous if threshold.identity in configured)
    kept = thresholds_met(previous, observations, with_min_reclaim=True)
    met = merge_thresholds(thresholds_met(thresholds, observations), kept)
    by_identity = {threshold.identity: threshold for threshold in met}
    in_order = [threshold for threshold in thresholds if threshold.identity in by_identity]
    return (*in_order, *(threshold for threshold in met if threshold.identity not in configured))


def _move_timers(state: State, met: tuple[Threshold, ...], config: EvictionConfig, now: int) -> State:
    first_observed_at = thresholds_first_observed_at(met, state.thresholds_first_observed_at, now)
    last_observed_at = node_conditions_last_observed_at(
        node_conditions(met), state.node_conditions_last_observed_at, now
    )
    return replace(
        state,
        thresholds_first_observed_at=first_observed_at,
        thresholds_met=thresholds_met_grace_period(first_observed_at, now),
        node_conditions=node_conditions_observed_since(last_observed_at, config.pressure_transition_period, now),
        node_conditions_last_observed_at=last_observed_at,
    )


def _threshold_findings(
    thresholds: tuple[Threshold, ...],
    observations: Mapping[Signal, SignalObservation],
    state: State,
    fresh: tuple[Threshold, ...],
    now: int,
) -> list[Finding]:
    first_observed_at = {threshold.identity: at for threshold, at in state.thresholds_first_observed_at.items()}
    due = {threshold.identity for threshold in state.thresholds_met}
    acting = {threshold.identity for threshold in fresh}
    findings: list[Finding] = []
    for threshold in thresholds:
        observation = observations.get(threshold.signal)
        if threshold.operator is not Operator.LESS_THAN:
            continue
        if observation is None:
            findings.append(SignalUnobserved(signal=threshold.signal))
            continue
        identity = threshold.identity
        since = first_observed_at.get(identity)
        met = is_met(threshold, observation)
        findings.append(
            ThresholdFinding(
                threshold=threshold,
                limit=limit_of(threshold, observation),
                available=observation.available,
                capacity=observation.capacity,
                met=met,
                kept_by_min_reclaim=since is not None and not met,
                grace_left=None if since is None else max(0, threshold.grace_period - (now - since)),
                stale=identity in due and identity not in acting,
            )
        )
    return findings


def _missing_stats(observation: Observation) -> tuple[Finding, ...]:
    missing = tuple(pod for pod in observation.pods if pod.uid not in observation.pod_stats)
    return (StatsMissing(pods=missing),) if missing else ()
