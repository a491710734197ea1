"""Keeps the pods of an owner away for longer, where they come back after each eviction and are evicted again (policy Standard).

**Theory of operation.** An owner recreates what was evicted. While the node has the condition, its taint keeps the new pod away.
When the condition ends after `evictionPressureTransitionPeriod`, the pod may be bound to this node again, fills it, and goes:
with five minutes some ten times an hour, for ever. The kubelet's rules have no end for this (kubernetes/kubernetes#65240).

    evicted --condition ends--> may come back --evicted--> ...  the third time within an hour: the condition stays for ten minutes
    kept away --condition ends--> may come back --evicted--> twice as long, at most an hour
    a pod that comes while the condition is reported, or an hour without an eviction after its end --> as configured again

Only an eviction that was carried out counts, and only of a pod that came after the condition had ended: a second pod of the owner
that was here all the time is no comeback. A pod that comes in spite of the condition (a toleration, a `nodeName`, a node without
the taint) is not kept away by it, so nothing is prolonged: that would keep other pods away and relieve nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from evictd.core.eviction.refusals.backoff import owner_of
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.finding import KeptAway
from evictd.core.model.observation import Observation
from evictd.core.model.signal import SIGNALS, NodeCondition
from evictd.core.model.state import Comeback, State, Victim
from evictd.core.units.duration import HOUR, MINUTE

LEAST = 3
"""Evictions of one owner's pods within `WITHIN`, as for the event on the owner (`act.repeated`)."""
WITHIN = HOUR
FIRST_PERIOD = 10 * MINUTE
LONGEST_PERIOD = HOUR
"""An hour at most, because the node takes no other pods meanwhile."""
_MOST_OWNERS = 64
_MOST_PODS = 512
"""Most pods of one owner on a node; an owner with more is not followed."""


def follow_comebacks(before: State, state: State, observation: Observation, config: EvictionConfig, now: int) -> State:
    """Return the state with the owners whose pods come back; `before` is the state before the answers of this cycle."""
    if not _applies(config):
        return replace(state, comebacks=()) if state.comebacks else state
    uncounted = {victim.uid for victim in before.in_flight if not victim.counted}
    evicted = [each for each in state.in_flight if each.counted and each.uid in uncounted and each.owner and each.cause]
    if not evicted and not state.comebacks:
        return state
    present = _by_owner(observation, {each.owner for each in state.comebacks})
    reported = frozenset(state.node_conditions)
    followed = (
        _followed(each, present.get(each.owner, frozenset()), each.condition in reported) for each in state.comebacks
    )
    kept = {
        (each.owner, each.condition): each
        for each in followed
        if each is not None and not _is_over(each, reported, now)
    }
    for victim in evicted:
        made = _noted(kept.get((victim.owner, _condition_of(victim))), victim, config, now)
        kept[made.owner, made.condition] = made
    newest = sorted(kept.values(), key=lambda each: (each.evicted_at[-1], each.owner))[-_MOST_OWNERS:]
    return replace(state, comebacks=tuple(newest))


def _applies(config: EvictionConfig) -> bool:
    return config.keep_away and config.policy is Policy.STANDARD and config.pressure_transition_period > 0


def _condition_of(victim: Victim) -> NodeCondition:
    if victim.cause is None:
        raise AssertionError("a pod over a limit of its own was not evicted for a condition")
    return SIGNALS[victim.cause].condition


def _by_owner(observation: Observation, owners: Iterable[str]) -> Mapping[str, frozenset[str]]:
    wanted, found = frozenset(owners), dict[str, set[str]]()
    for pod in observation.pods if wanted else ():
        if (owner := owner_of(pod)) in wanted:
            found.setdefault(owner, set()).add(pod.uid)
    return {owner: frozenset(uids) for owner, uids in found.items()}


def _followed(comeback: Comeback, present: frozenset[str], reported: bool) -> Comeback | None:
    """Return what is known of an owner after this cycle; `None` where the condition does not keep its pods away."""
    if reported:
        return comeback if present <= comeback.known else None
    known = comeback.known | present
    return replace(comeback, ended=True, known=known) if len(known) <= _MOST_PODS else None


def _is_over(comeback: Comeback, reported: frozenset[NodeCondition], now: int) -> bool:
    return comeback.condition not in reported and now - comeback.evicted_at[-1] > comeback.period + WITHIN


def _noted(known: Comeback | None, victim: Victim, config: EvictionConfig, now: int) -> Comeback:
    """Return the owner with one more eviction, which counts if the pod came back."""
    present = victim.siblings | {victim.uid}
    owner, condition = victim.owner, _condition_of(victim)
    if known is None:
        return Comeback(owner=owner, condition=condition, evicted_at=(now,), present=present, known=present)
    if not known.ended or victim.uid in known.present:
        return replace(known, present=known.present | present, known=known.known | present)
    recent = tuple(at for at in known.evicted_at if now - at < WITHIN)
    evicted_at = (*recent, now)[-LEAST:]
    period = known.period
    if period or len(evicted_at) >= LEAST:
        period = min(max(FIRST_PERIOD, 2 * period, 2 * config.pressure_transition_period), LONGEST_PERIOD)
    return replace(
        known,
        evicted_at=evicted_at,
        evictions=known.evictions + 1 if recent or period else 1,
        present=present,
        known=known.known | present,
        ended=False,
        period=period,
    )


def transition_period(state: State, config: EvictionConfig, condition: NodeCondition) -> int:
    """Return the nanoseconds that a condition stays after its threshold was met last."""
    configured = config.pressure_transition_period
    if not _applies(config):
        return configured
    return max((configured, *(each.period for each in state.comebacks if each.condition is condition)))


def kept_away(state: State, config: EvictionConfig, now: int) -> tuple[KeptAway, ...]:
    """Return a finding for each owner for whose sake a condition that is reported stays longer."""
    return tuple(
        KeptAway(
            condition=each.condition,
            owner=each.owner,
            evictions=each.evictions,
            period=each.period,
            until=state.node_conditions_last_observed_at.get(each.condition, now) + each.period,
        )
        for each in state.comebacks
        if _applies(config)
        and each.condition in state.node_conditions
        and each.period > config.pressure_transition_period
    )
