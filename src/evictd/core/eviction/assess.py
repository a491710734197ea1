"""Assesses one reading: the first half of a cycle, before anything is done about it.

Layout, thresholds met, timers, conditions, and which thresholds are due: the first half of the kubelet's `synchronize`. The
result holds the state as it will be remembered, whatever is decided afterwards.

Where policy Standard differs: a shortage is not over because its signal could not be read. A threshold whose signal is unread
keeps its timer and its condition, unless the node is known not to have the signal any more (`Observation.absent`): then nothing
can be short of it. The last observation of a signal is kept until there is another, and a reload keeps the time for which a
threshold has been met.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from evictd.core.eviction.reclaim import add_container_fs_thresholds, ignored_container_fs_thresholds
from evictd.core.eviction.refusals.keep_away import transition_period
from evictd.core.eviction.time_left import is_led
from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionConfig, Policy, own_thresholds
from evictd.core.model.finding import (
    ContainerFsIgnored,
    Finding,
    NoAction,
    NoActionReason,
    SignalUnobserved,
    StatsMissing,
    ThresholdFinding,
)
from evictd.core.model.observation import Filesystems, Observation, SignalObservation, signal_observations
from evictd.core.model.signal import SIGNALS, NodeCondition, Signal
from evictd.core.model.state import State, with_fields
from evictd.core.model.threshold import (
    Operator,
    Threshold,
    limit_of,
    merge_thresholds,
    sort_by_eviction_priority,
    thresholds_first_observed_at,
    thresholds_met,
    thresholds_met_grace_period,
    thresholds_updated_stats,
)
from evictd.core.units.quantity import ZERO, Quantity


@frozen
class Assessment:
    """The result of an assessment."""

    state: State
    thresholds: tuple[Threshold, ...]
    """All that are configured; without a known layout those of disks as well, which are not compared then."""
    observations: Mapping[Signal, SignalObservation]
    due: tuple[Threshold, ...]
    """The thresholds met for their whole grace period, on numbers newer than the last cycle's; the one to act on first comes
    first."""
    findings: tuple[Finding, ...]


@frozen
class NothingKnown:
    """The reading is too incomplete to decide on; the state is unchanged except for a newly detected layout."""

    state: State
    findings: tuple[Finding, ...]


def configured_thresholds(config: EvictionConfig, filesystems: Filesystems) -> tuple[Threshold, ...]:
    """Return all thresholds of this node, those of containerfs included."""
    return add_container_fs_thresholds(own_thresholds(config), filesystems)


def detect_filesystems(state: State, observation: Observation, config: EvictionConfig) -> Filesystems | None:
    """Return the layout, which the kubelet detects once and Standard in each cycle; `None` before the first time."""
    seen, known = observation.filesystems, state.filesystems
    if seen.dedicated_image_fs is None or (known is not None and config.policy is Policy.KUBELET):
        return known
    return Filesystems(dedicated_image_fs=seen.dedicated_image_fs, split_container_fs=bool(seen.split_container_fs))


def assess(state: State, observation: Observation, config: EvictionConfig, now: int) -> Assessment | NothingKnown:
    """Compare one reading with the thresholds and move the timers on."""
    standard = config.policy is Policy.STANDARD
    filesystems = detect_filesystems(state, observation, config)
    if filesystems is None and not standard:
        return NothingKnown(state=state, findings=(NoAction(why=NoActionReason.LAYOUT_UNKNOWN),))
    first_pass = state.filesystems is None
    if observation.node is None:
        state = replace(state, filesystems=filesystems)
        return NothingKnown(state=state, findings=(NoAction(why=NoActionReason.NO_STATS),))
    configured = configured_thresholds(config, filesystems or Filesystems())
    thresholds = _comparable(configured, filesystems, config, first_pass=first_pass)
    observations = signal_observations(observation.node)
    state = _after_reload(state, thresholds, observations) if standard else state
    compared = _compare(thresholds, observations, config)
    met = _met(compared, thresholds, observations, state, absent=observation.absent if standard else None)
    # Only a number that was read again is new (kubernetes/kubernetes#51516): under Standard a signal that is unread once keeps
    # its last one.
    last_seen, before = observations, state.last_seen
    if standard:
        last_seen = {signal: seen for signal, seen in before.items() if signal not in observation.absent} | observations
    state = _remember(state, filesystems, last_seen, met, config, now=now)
    fresh = thresholds_updated_stats(state.thresholds_met, observations, before)
    findings = (
        *(ContainerFsIgnored(threshold=t) for t in ignored_container_fs_thresholds(config.thresholds) if first_pass),
        *_threshold_findings(compared, state, fresh, observation.absent, now=now),
        *_awaiting_layout(configured, filesystems),
        *_missing_stats(observation, fresh),
        *((NoAction(why=NoActionReason.LAYOUT_UNKNOWN),) if filesystems is None else ()),
    )
    return Assessment(
        state=state,
        thresholds=configured,
        observations=observations,
        due=sort_by_eviction_priority(fresh, as_kubelet=not standard),
        findings=findings,
    )


def _comparable(
    configured: tuple[Threshold, ...], filesystems: Filesystems | None, config: EvictionConfig, *, first_pass: bool
) -> tuple[Threshold, ...]:
    """Return the thresholds to compare in this cycle: before the layout is known those that need none (docs/faults.md, 15).

    The kubelet derives containerfs during its first cycle: what is replaced counts at once, what is new from the second.
    """
    if filesystems is None:
        return tuple(each for each in configured if SIGNALS[each.signal].filesystem is None)
    if config.policy is Policy.KUBELET and first_pass:
        return configured[: len(own_thresholds(config))]
    return configured


def _awaiting_layout(
    configured: tuple[Threshold, ...], filesystems: Filesystems | None
) -> tuple[SignalUnobserved, ...]:
    """Return a finding for each threshold of a disk that is not compared because the layout is not known yet."""
    if filesystems is not None:
        return ()
    of_disks = (each for each in configured if SIGNALS[each.signal].filesystem is not None)
    return tuple(
        SignalUnobserved(signal=each.signal, absent=False) for each in of_disks if each.operator is Operator.LESS_THAN
    )


def _after_reload(
    state: State, thresholds: tuple[Threshold, ...], observations: Mapping[Signal, SignalObservation]
) -> State:
    """Carry what is remembered of thresholds over to the ones that are configured now.

    The same threshold with another minimum reclaim is the configured one from now on. One that was replaced by another of the
    same kind gives it its time, if the new one was met as well whenever the old one was: its limit is not lower.
    """
    if not state.thresholds_first_observed_at and not state.thresholds_met:
        return state
    configured = {threshold.identity: threshold for threshold in thresholds}
    timers: dict[Threshold, int] = {}
    for old, at in state.thresholds_first_observed_at.items():
        new = configured.get(old.identity) or _replacement(old, thresholds, state, observations)
        if new is not None:
            timers[new] = min(at, timers.get(new, at))
    previous = tuple(configured[old.identity] for old in state.thresholds_met if old.identity in configured)
    if timers == state.thresholds_first_observed_at and previous == state.thresholds_met:
        return state
    return replace(state, thresholds_first_observed_at=timers, thresholds_met=previous)


def _replacement(
    old: Threshold,
    thresholds: tuple[Threshold, ...],
    state: State,
    observations: Mapping[Signal, SignalObservation],
) -> Threshold | None:
    seen = observations.get(old.signal) or state.last_seen.get(old.signal)
    if seen is None:
        return None
    same_kind = (each for each in thresholds if each.signal is old.signal and each.hard is old.hard)
    return next((each for each in same_kind if limit_of(each, seen) >= limit_of(old, seen)), None)


class _Comparison(NamedTuple):
    """A threshold and what was read of its signal."""

    threshold: Threshold
    seen: SignalObservation | None
    """`None` where the signal was not read; then nothing is met."""
    limit: Quantity
    led: bool
    """Whether it is acted on before it is crossed (`time_left.is_led`)."""
    met: bool
    """Whether it is crossed, or led."""


def _compare(
    thresholds: tuple[Threshold, ...], observations: Mapping[Signal, SignalObservation], config: EvictionConfig
) -> list[_Comparison]:
    """Compare each threshold with its signal, once in a cycle; an inert one (`Operator.NONE`) is left out."""
    compared = []
    for threshold in thresholds:
        if threshold.operator is not Operator.LESS_THAN:
            continue
        if (seen := observations.get(threshold.signal)) is None:
            compared.append(_Comparison(threshold, None, ZERO, led=False, met=False))
            continue
        limit, led = limit_of(threshold, seen), seen.fill_rate is not None and is_led(threshold, seen, config)
        compared.append(_Comparison(threshold, seen, limit, led, met=led or seen.available < limit))
    return compared


def _met(
    compared: Iterable[_Comparison],
    thresholds: tuple[Threshold, ...],
    observations: Mapping[Signal, SignalObservation],
    state: State,
    *,
    absent: frozenset[Signal] | None,
) -> tuple[Threshold, ...]:
    """Pick those met now, and those due last time whose minimum reclaim is not reached; in configuration order.

    `absent`: the signals that the node does not have; `None` under policy Kubelet, which does not tell them from unread ones.
    """
    kept = thresholds_met(state.thresholds_met, observations, with_min_reclaim=True)
    if absent is not None:
        # What was met and could not be read this time is not known to be over (docs/faults.md, 28).
        settled = absent | observations.keys()
        kept += tuple(each for each in state.thresholds_first_observed_at if each.signal not in settled)
    now_met = tuple(each.threshold for each in compared if each.met)
    if not kept:
        return now_met
    met = merge_thresholds(now_met, kept)
    found, configured = ({threshold.identity for threshold in each} for each in (met, thresholds))
    in_order = (threshold for threshold in thresholds if threshold.identity in found)
    return (*in_order, *(threshold for threshold in met if threshold.identity not in configured))


def _remember(
    state: State,
    filesystems: Filesystems | None,
    last_seen: Mapping[Signal, SignalObservation],
    met: tuple[Threshold, ...],
    config: EvictionConfig,
    *,
    now: int,
) -> State:
    """Return the state with the layout, what was seen last, and the timers moved on."""
    first_observed_at = thresholds_first_observed_at(met, state.thresholds_first_observed_at, now)
    last_observed_at = node_conditions_last_observed_at(
        node_conditions(met), state.node_conditions_last_observed_at, now
    )
    return with_fields(
        state,
        filesystems=filesystems,
        last_seen=last_seen,
        last_cycle_at=now,
        thresholds_first_observed_at=first_observed_at,
        thresholds_met=thresholds_met_grace_period(first_observed_at, now),
        node_conditions=node_conditions_observed_since(
            last_observed_at, partial(transition_period, state, config), now
        ),
        node_conditions_last_observed_at=last_observed_at,
    )


def _threshold_findings(
    compared: Iterable[_Comparison], state: State, fresh: tuple[Threshold, ...], absent: frozenset[Signal], *, now: int
) -> list[Finding]:
    first_observed_at = {threshold.identity: at for threshold, at in state.thresholds_first_observed_at.items()}
    stale = {threshold.identity for threshold in state.thresholds_met} - {threshold.identity for threshold in fresh}
    findings: list[Finding] = []
    for threshold, seen, limit, led, met in compared:
        if seen is None:
            findings.append(SignalUnobserved(signal=threshold.signal, absent=threshold.signal in absent))
            continue
        since = first_observed_at.get(threshold.identity) if first_observed_at else None
        findings.append(
            ThresholdFinding(
                threshold=threshold,
                limit=limit,
                available=seen.available,
                capacity=seen.capacity,
                met=met,
                led=led,
                kept_by_min_reclaim=since is not None and not met,
                grace_left=None if since is None else max(0, threshold.grace_period - (now - since)),
                stale=threshold.identity in stale,
            )
        )
    return findings


def _missing_stats(observation: Observation, due: tuple[Threshold, ...]) -> tuple[Finding, ...]:
    stats = observation.pod_stats
    missing = tuple([pod for pod in observation.pods if pod.uid not in stats])
    if not missing:
        return ()
    signals = tuple(dict.fromkeys(threshold.signal for threshold in due))
    return (StatsMissing(pods=missing, signals=signals),)


def node_conditions(met: Iterable[Threshold]) -> tuple[NodeCondition, ...]:
    """Return the conditions that these thresholds stand for, each once.

    A condition appears with the first reading that meets a threshold, grace period or not, and stays for the transition period
    after the last one, so that it does not flap.
    """
    return tuple(dict.fromkeys(SIGNALS[threshold.signal].condition for threshold in met))


def node_conditions_last_observed_at(
    conditions: Iterable[NodeCondition], last: Mapping[NodeCondition, int], now: int
) -> dict[NodeCondition, int]:
    """Set those observed now to `now`; all others keep their time."""
    return {**last, **dict.fromkeys(conditions, now)}


def node_conditions_observed_since(
    observed_at: Mapping[NodeCondition, int], period_of: Callable[[NodeCondition], int], now: int
) -> tuple[NodeCondition, ...]:
    """Pick the conditions observed less than their period ago, in the API's order.

    Strictly less: with a period of zero no condition is ever reported (docs/parity.md, row 8).
    """
    return tuple(
        condition
        for condition in NodeCondition
        if condition in observed_at and now - observed_at[condition] < period_of(condition)
    )
