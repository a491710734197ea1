"""Shortens the grace of pods that end already, before a hard threshold has another one evicted (policy Standard).

A soft victim may have an hour left, and so may a pod that another component deleted. While it ends, no other pod goes for what it
holds, so a hard threshold gives it no more grace than an eviction of its own would (kubernetes/kubernetes#123872). Of the pods
that evictd did not choose it takes only as many as give back what is missing (kubernetes/kubernetes#122297).
"""

from collections.abc import Sequence
from dataclasses import replace

from evictd.core.eviction.accounts.attribution import attribution_of
from evictd.core.eviction.accounts.ledger import shortened, supply_of
from evictd.core.eviction.choice.evict import evict_for_pressure
from evictd.core.eviction.draft import Draft
from evictd.core.eviction.rank import rank
from evictd.core.eviction.reclaim import Layout
from evictd.core.eviction.time_left import missing_to_target, next_look
from evictd.core.model.config import EvictionConfig
from evictd.core.model.decision import EvictPod
from evictd.core.model.observation import Observation, SignalObservation
from evictd.core.model.pod import Pod
from evictd.core.model.signal import Signal
from evictd.core.model.state import State, Victim
from evictd.core.model.threshold import Threshold


def shorten_victims(
    draft: Draft,
    state: State,
    threshold: Threshold,
    victims: Sequence[Victim],
    observation: Observation,
    *,
    seen: SignalObservation,
    layout: Layout,
) -> State | None:
    """Decide to shorten the grace of these victims; return the state after that, `None` where none is shortened.

    A pod that turns out to be critical keeps its grace, and so does one that evictd did not choose and may not evict. `seen` is
    the threshold's signal.
    """
    config, now, supply = draft.config, draft.now, supply_of(threshold.signal, layout)
    victims = [victim for victim in victims if victim.can_shorten(0)]
    pods = {pod.uid: pod for pod in observation.pods if not pod.critical} if victims else {}
    changed: dict[str, Victim] = {}
    for victim in worth_shortening(victims, state.leaving, supply, missing_to_target(threshold, seen, config)):
        pod = pods.get(victim.uid)
        if pod is None or (victim in state.leaving and config.protects(pod)):
            continue
        decision = shortening(pod, threshold, seen, observation, config, layout=layout)
        if victim.can_shorten(decision.grace_period_seconds):
            changed[victim.uid] = shortened(victim, decision.grace_period_seconds, now)
            draft.decisions.append(decision)
        elif decision.because.time_left is not None:
            draft.look_within(next_look(decision.because.time_left))
    if not changed:
        return None
    held = attribution_of(supply, seen, observation, state, config, now=now)  # as of an eviction
    draft.findings.extend(() if held is None else (held,))
    in_flight = tuple(changed.pop(v.uid, v) if v.gone_at is None else v for v in state.in_flight)
    leaving = tuple(v for v in state.leaving if v.uid not in changed)
    # What is left of `changed` left by itself; from now on evictd follows its end.
    return replace(state, in_flight=(*in_flight, *changed.values()), leaving=leaving)


def worth_shortening(
    victims: Sequence[Victim], leaving: Sequence[Victim], supply: Signal, missing: int
) -> list[Victim]:
    """Return evictd's victims, and the largest of the pods that leave anyway until together they owe the missing amount."""
    uids = {victim.uid for victim in leaving}
    worth = [victim for victim in victims if victim.uid not in uids]
    others = [victim for victim in victims if victim.uid in uids]
    missing -= sum(victim.owed.get(supply, 0) for victim in worth)
    for victim in sorted(others, key=lambda each: (-each.owed.get(supply, 0), each.full_name)):
        if missing <= 0:
            break
        worth.append(victim)
        missing -= victim.owed.get(supply, 0)
    return worth


def shortening(
    pod: Pod,
    threshold: Threshold,
    seen: SignalObservation,
    observation: Observation,
    config: EvictionConfig,
    *,
    layout: Layout,
) -> EvictPod:
    """Make the decision to give a pod that is already a victim no more grace than this threshold would."""
    row = rank(threshold.signal, (pod,), observation.pod_stats, layout, config.policy)[0]
    eviction = evict_for_pressure(row, threshold, seen, observation.pod_stats.get(pod.uid), config)
    return replace(eviction, shortens=True)
