"""Chooses the pod to evict, if any.

The end of the kubelet's `synchronize` (steps 18 to 21 of spec 4.2): go through the ranking, pass over protected pods, take the
first. Policy Standard passes over more, each with a finding: victims in flight, pods that were not measured or that use nothing
of what is short, and pods that are backed off. It stops where a pod that cannot go is the cause and all others could not make
up for it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from evictd.core.eviction.backoff import refused_since, skipped_pods
from evictd.core.eviction.evict import evict_for_pressure, is_protected
from evictd.core.eviction.ledger import is_leaving, supply_of
from evictd.core.eviction.rank import in_order, rank
from evictd.core.eviction.reclaim import Layout, layout_of
from evictd.core.eviction.time_left import target_of
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.decision import (
    EvictPod,
    Finding,
    NoAction,
    NoActionReason,
    PodSkipped,
    PreferenceApplied,
    ProtectedPodSkipped,
    RankedPod,
    Ranking,
    SkipReason,
)
from evictd.core.model.observation import Filesystems, Observation, SignalObservation, signal_observations
from evictd.core.model.pod import Pod
from evictd.core.model.signal import RESOURCE_TO_FORMAT, SIGNAL_TO_RESOURCE, STALLS, Signal
from evictd.core.model.state import State
from evictd.core.model.threshold import Threshold
from evictd.core.units.quantity import NANO, Quantity

Skip = ProtectedPodSkipped | PodSkipped
"""The finding that says why a pod cannot be chosen now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The victim, if there is one, and how it came to that."""

    eviction: EvictPod | None
    findings: tuple[Finding, ...] = ()


def choose_victim(
    due: tuple[Threshold, ...], observation: Observation, state: State, config: EvictionConfig, now: int
) -> Choice:
    """Rank the active pods for the first threshold due and take the first one that may go."""
    threshold = due[0]
    if not observation.pods or observation.node is None:
        return Choice(eviction=None, findings=(NoAction(why=NoActionReason.NO_ACTIVE_PODS, threshold=threshold),))
    seen = signal_observations(observation.node)[threshold.signal]
    layout = layout_of(state.filesystems or Filesystems())
    rows = ranked(threshold.signal, observation, layout, config)
    ranking = Ranking(signal=threshold.signal, resource=SIGNAL_TO_RESOURCE[threshold.signal], rows=rows, due=due)
    if config.policy is Policy.STANDARD:
        stop = protected_culprit(rows, threshold, seen, state, config, layout=layout, now=now)
        if stop is not None:
            return Choice(eviction=None, findings=(ranking, stop))
    row, skips = _first(rows, threshold, state, config, now)
    passed_over = tuple(replace(skip, signal=threshold.signal) for skip in skips)
    if row is None:
        why = NoAction(why=_why_no_pod(passed_over), threshold=threshold)
        return Choice(eviction=None, findings=(ranking, *passed_over, why))
    eviction = evict_for_pressure(row, threshold, seen, observation.pod_stats.get(row.uid), config)
    eviction = replace(eviction, refused_since=refused_since(state.backoff, row.uid))
    findings: tuple[Finding, ...] = (ranking, *passed_over)
    if any(each.preference for each in rows):
        plain, _ = _first(in_order(each._replace(preference=0) for each in rows), threshold, state, config, now)
        if plain is not None and plain.uid != row.uid:
            findings = (*findings, PreferenceApplied(pod=row.pod, instead_of=plain.pod))
    return Choice(eviction=eviction, findings=findings)


def ranked(signal: Signal, observation: Observation, layout: Layout, config: EvictionConfig) -> tuple[RankedPod, ...]:
    """Rank the active pods of a reading as the configuration says."""
    return rank(signal, observation.pods, observation.pod_stats, layout, config.policy, preferences=config.preferences)


def _first(
    rows: tuple[RankedPod, ...], threshold: Threshold, state: State, config: EvictionConfig, now: int
) -> tuple[RankedPod | None, tuple[Skip, ...]]:
    """Give the first pod in rank order that can be chosen, and why those before it cannot.

    Also the pods behind it that were not measured are named: one of them might have come first.
    """
    in_flight = {victim.uid for victim in state.in_flight if victim.gone_at is None}
    backed_off: Mapping[str, PodSkipped] = {}
    if state.backoff.budgets or state.backoff.owners:
        others = [row.pod for row in rows if _skip(row, in_flight, config) is None]
        backed_off = skipped_pods(state.backoff, others, config, now, hard=threshold.hard)
    passed_over: list[Skip] = []
    for index, row in enumerate(rows):
        skip = _skip(row, in_flight, config) or backed_off.get(row.uid)
        if skip is None:
            rest = (each for each in rows[index + 1 :] if each.usage is None and config.policy is Policy.STANDARD)
            return row, (
                *passed_over,
                *(found for each in rest if (found := _skip(each, in_flight, config)) is not None),
            )
        passed_over.append(skip)
    return None, tuple(passed_over)


def _skip(row: RankedPod, in_flight: set[str], config: EvictionConfig) -> Skip | None:
    if is_protected(row.pod, config):
        return ProtectedPodSkipped(pod=row.pod)
    if row.uid in in_flight:
        return PodSkipped(pod=row.pod, reason=SkipReason.IN_FLIGHT)
    if row.usage or config.policy is Policy.KUBELET:
        return None
    # All would tie, and priority and name would decide (issue 11, points 5, 25 and 29).
    return PodSkipped(pod=row.pod, reason=SkipReason.NOT_MEASURED if row.usage is None else SkipReason.USES_NOTHING)


_NO_POD = {
    SkipReason.BUDGET: NoActionReason.HELD_BACK,
    SkipReason.OWNER: NoActionReason.HELD_BACK,
    SkipReason.NOT_MEASURED: NoActionReason.NO_POD_MEASURED,
    SkipReason.USES_NOTHING: NoActionReason.NOTHING_HELPS,
    SkipReason.IN_FLIGHT: NoActionReason.NOTHING_EVICTABLE,
}
"""What it means that every pod is skipped; the first reason in this order that any pod has."""


def _why_no_pod(skips: Iterable[Skip]) -> NoActionReason:
    found = {skip.reason for skip in skips if isinstance(skip, PodSkipped)}
    return next((why for reason, why in _NO_POD.items() if reason in found), NoActionReason.NOTHING_EVICTABLE)


def protected_culprit(
    rows: tuple[RankedPod, ...],
    threshold: Threshold,
    seen: SignalObservation,
    state: State,
    config: EvictionConfig,
    *,
    layout: Layout,
    now: int,
) -> NoAction | None:
    """Say whether evicting would be in vain: the largest user cannot be evicted, and all others together use too little.

    A victim that does not die in its time cannot be evicted either; one that is leaving gives what it owes. Where the usage of a
    pod that may go is unknown nothing is concluded (kubernetes issues 39124, 53659); nor for a stall, because how much has to be
    freed to end it is not known.
    """
    if threshold.signal in STALLS:
        return None
    stuck = {victim.uid for victim in state.in_flight if victim.gone_at is None and not is_leaving(victim, now)}
    leaving = {victim.uid: victim for victim in state.in_flight if is_leaving(victim, now)}
    supply = supply_of(threshold.signal, layout)
    reachable, culprit, most = 0, None, 0
    needed = target_of(threshold, seen, config, with_min_reclaim=False) - seen.available
    if needed.sign <= 0 and threshold in state.thresholds_met:  # kept by its minimum reclaim
        needed = target_of(threshold, seen, config, with_min_reclaim=True) - seen.available
    for row in rows:
        immovable = is_protected(row.pod, config) or row.uid in stuck
        usage = leaving[row.uid].owed.get(supply, row.usage) if row.uid in leaving else row.usage
        if usage is None:
            if not immovable:
                return None
            continue
        if not immovable:
            reachable += usage
        if usage > most:
            most, culprit = usage, row.pod if immovable else None
        if reachable * NANO >= needed.nano:
            return None
    if culprit is None:
        return None
    form = RESOURCE_TO_FORMAT[SIGNAL_TO_RESOURCE[threshold.signal]]
    return NoAction(
        why=NoActionReason.PROTECTED_CULPRIT,
        threshold=threshold,
        pod=culprit,
        needed=needed,
        reachable=Quantity(reachable * NANO, form),
    )


def shortening(
    pod: Pod, threshold: Threshold, observation: Observation, config: EvictionConfig, layout: Layout
) -> EvictPod:
    """Make the decision to give a pod that is already a victim no more grace than this threshold would."""
    if observation.node is None:
        raise AssertionError("a threshold cannot be due without an observation")
    seen = signal_observations(observation.node)[threshold.signal]
    row = rank(threshold.signal, (pod,), observation.pod_stats, layout, config.policy)[0]
    eviction = evict_for_pressure(row, threshold, seen, observation.pod_stats.get(pod.uid), config)
    return replace(eviction, shortens=True)
