"""Chooses the pod to evict, if any.

Policy Kubelet goes through the ranking, passes over protected pods and takes the first (the end of the kubelet's `synchronize`).

Policy Standard first leaves out the pods that may not go now, each with a finding: protected ones, victims in flight and pods
that leave anyway, pods that were not measured or use nothing of what is short, and pods that are backed off. Then the laws about
outcomes decide, in this order (docs/laws.md):

    need       which of the others makes the ones before it unnecessary
    blame      whether a pod that may not go is the culprit, in whose place no innocent pod goes
    prudence   whether the threshold was ever clear
    effect     whether the last evictions helped; while they are paused another pod than the one chosen first may go

`next_up` asks the same function, so that `explain` names no pod that would not go.
"""

from dataclasses import replace

from evictd.core.eviction.accounts.attribution import attribution_of
from evictd.core.eviction.accounts.ledger import supply_of
from evictd.core.eviction.choice.chooser import Choice, Skip, StandardChooser, in_rank_order, why_no_pod
from evictd.core.eviction.choice.evict import evict_for_pressure
from evictd.core.eviction.laws.blame import protected_culprit
from evictd.core.eviction.laws.shortage import shortage_of
from evictd.core.eviction.rank import NOTHING_REMEMBERED, rank
from evictd.core.eviction.reclaim import Layout, layout_of
from evictd.core.eviction.refusals.backoff import refused_since, skipped_pods
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.finding import (
    NoAction,
    NoActionReason,
    PodSkipped,
    ProtectedPodSkipped,
    RankedPod,
    Ranking,
    SkipReason,
)
from evictd.core.model.observation import Observation, SignalObservation, signal_observation
from evictd.core.model.signal import SIGNALS, Signal
from evictd.core.model.state import State
from evictd.core.model.stats import NodeStats
from evictd.core.model.threshold import Threshold


def choose_victim(
    due: tuple[Threshold, ...],
    observation: Observation,
    state: State,
    config: EvictionConfig,
    now: int,
    *,
    seen: SignalObservation | None = None,
) -> Choice:
    """Rank the active pods for the first threshold due and take the first one that may go.

    `seen` is the reading of that threshold's signal, where the caller has it. Under policy Standard the last finding says who
    holds what is short.
    """
    threshold = due[0]
    if not observation.pods or observation.node is None:
        why = NoActionReason.PODS_UNKNOWN if observation.pods_unknown else NoActionReason.NO_ACTIVE_PODS
        return Choice(eviction=None, findings=(NoAction(why=why, threshold=threshold),))
    seen = seen or _seen(threshold, observation.node)
    layout = layout_of(state.disks)
    rows = ranked(threshold.signal, observation, layout, config, state, now=now)
    ranking = Ranking(signal=threshold.signal, resource=SIGNALS[threshold.signal].resource, rows=rows, due=due)
    if config.policy is Policy.KUBELET:
        return _kubelet_choice(ranking, seen, observation, state, config, now=now)
    stop = protected_culprit(rows, threshold, seen, state, config, layout=layout, now=now)
    if stop is not None:
        choice = Choice(eviction=None, findings=(ranking, stop))
    else:
        shortage = shortage_of(threshold, seen, observation, state, config, layout=layout, now=now)
        choice = StandardChooser(shortage, observation, state, config, now).choose(ranking)
    held = attribution_of(supply_of(threshold.signal, layout), seen, observation, state, config, now=now)
    return choice if held is None else choice._replace(findings=(*choice.findings, held))


def ranked(
    signal: Signal, observation: Observation, layout: Layout, config: EvictionConfig, state: State, *, now: int
) -> tuple[RankedPod, ...]:
    """Rank the active pods of a reading as the configuration says; `state` remembers what they were measured to hold."""
    holdings = state.holdings.get(supply_of(signal, layout), NOTHING_REMEMBERED)
    return rank(
        signal,
        observation.pods,
        observation.pod_stats,
        layout,
        config.policy,
        preferences=config.preferences,
        holdings=holdings,
        now=now,
    )


def _kubelet_choice(
    ranking: Ranking,
    seen: SignalObservation,
    observation: Observation,
    state: State,
    config: EvictionConfig,
    *,
    now: int,
) -> Choice:
    """Take the first pod that is not protected, being evicted or guarded by a budget (policy Kubelet)."""
    threshold = ranking.due[0]
    in_flight = {victim.uid for victim in state.in_flight if victim.gone_at is None}
    skips: dict[str, Skip] = {}
    for row in ranking.rows:
        if config.protects(row.pod):
            skips[row.uid] = ProtectedPodSkipped(pod=row.pod, signal=threshold.signal)
        elif row.uid in in_flight:
            skips[row.uid] = PodSkipped(pod=row.pod, reason=SkipReason.IN_FLIGHT, signal=threshold.signal)
    others = (row.pod for row in ranking.rows if row.uid not in skips)
    backed_off = skipped_pods(state.backoff, others, config, now, hard=threshold.hard)
    skips |= {uid: replace(skip, signal=threshold.signal) for uid, skip in backed_off.items()}
    chosen = next((row for row in ranking.rows if row.uid not in skips), None)
    if chosen is None:
        why = NoAction(why=why_no_pod(skips.values()), threshold=threshold)
        return Choice(eviction=None, findings=(ranking, *in_rank_order(ranking.rows, skips), why))
    before = ranking.rows[: ranking.rows.index(chosen)]
    eviction = evict_for_pressure(chosen, threshold, seen, observation.pod_stats.get(chosen.uid), config)
    eviction = replace(eviction, refused_since=refused_since(state.backoff, chosen.uid))
    return Choice(eviction=eviction, findings=(ranking, *in_rank_order(before, skips)))


def _seen(threshold: Threshold, node: NodeStats | None) -> SignalObservation:
    seen = None if node is None else signal_observation(node, threshold.signal)
    if seen is None:
        raise AssertionError("a threshold cannot be due without an observation")
    return seen
