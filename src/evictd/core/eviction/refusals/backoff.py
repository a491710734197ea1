"""Which pods are skipped for a while: those that a budget protects, and those that their owner recreates here at once.

Pure functions over `State.backoff`, which is fed by what the API server answered (`Observation.outcomes.answers`) and by the
ledger's victims. The kubelet has none of this: it evicts by its own status alone. Times are `now` in nanoseconds.
Each skip is a finding, `PodSkipped`, with its reason and its end.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.finding import PodSkipped, SkipReason
from evictd.core.model.observation import EvictionAnswer, EvictionAnswerKind, Observation
from evictd.core.model.pod import Pod
from evictd.core.model.state import Backoff, BudgetRefusal, CleaningUp, OwnerBackoff, State, Victim, Watching
from evictd.core.units.duration import MINUTE, SECOND

HARD_BYPASS = 10 * SECOND
"""How long a budget may delay a hard eviction of a pod after its first refusal."""
BUDGET_RETRY = 10 * SECOND
"""When a budget is asked again if the API server names no time (its own default)."""
FIRST_OWNER_BACKOFF = 10 * SECOND
LAST_OWNER_BACKOFF = 5 * MINUTE
RECREATED_WITHIN = 60 * SECOND
"""A pod of the same owner that is chosen within this time counts as the last victim, recreated."""


def owner_of(pod: Pod) -> str:
    """Return the controller that a pod belongs to, as `namespace/Kind/name`; empty for a bare pod."""
    return f"{pod.namespace}/{pod.owner}" if pod.owner else ""


# --- what the answers and the victims' ends leave behind ---------------------------------------------------------------


def settle_answers(state: State, observation: Observation, config: EvictionConfig, now: int) -> State:
    """Drop the victims that stay, and record refusals and evictions that have become certain.

    An answer that is older than the victim's decision belongs to an earlier decision, and is ignored. A withdrawn eviction does
    not end its pod, so no new collection follows.
    """
    state = _without_old_refusals(state, now)
    if not state.in_flight:
        return state
    answers = {answer.uid: answer for answer in observation.outcomes.answers}
    backoff, kept, stayed = state.backoff, list[Victim](), set[int]()
    for victim in state.in_flight:
        answer = answers.get(victim.uid)
        if answer is not None and _withdraws(answer, victim):
            if answer.kind is EvictionAnswerKind.REFUSED:
                backoff = note_refusal(backoff, answer, hold=config.eviction_timeout)
            stayed.add(victim.chosen_at)
            continue
        agreed = answer is not None and answer.kind is EvictionAnswerKind.AGREED
        if not victim.counted and (agreed or victim.uid in observation.outcomes.cleaned_up):
            backoff = note_eviction(backoff, victim.owner, victim.uid, victim.siblings, now)
            kept.append(replace(victim, counted=True))
        else:
            kept.append(victim)
    withdrawn = len(kept) < len(state.in_flight)
    leaving = any(victim.gone_at is None for victim in kept)
    phase = Watching() if withdrawn and not leaving and isinstance(state.phase, CleaningUp) else state.phase
    evicted_at = tuple(at for at in state.evicted_at if at not in stayed)
    return replace(state, in_flight=tuple(kept), backoff=backoff, phase=phase, evicted_at=evicted_at)


def _without_old_refusals(state: State, now: int) -> State:
    """Return the state without the refusals of an earlier shortage: one of last night must not pass over today's budget."""
    backoff = state.backoff
    if not backoff.budgets or len(kept := _remembered(backoff.budgets, now)) == len(backoff.budgets):
        return state
    return replace(state, backoff=replace(backoff, budgets=kept))


def _remembered(budgets: Mapping[str, BudgetRefusal], now: int) -> dict[str, BudgetRefusal]:
    """Return the refusals, by pod uid, whose hold ended less than `LAST_OWNER_BACKOFF` ago."""
    return {pod: old for pod, old in budgets.items() if now - old.held_until < LAST_OWNER_BACKOFF}


class Refusal(NamedTuple):
    """A victim that stays because a PodDisruptionBudget refused its eviction."""

    victim: Victim
    answer: EvictionAnswer


def refusals(state: State, observation: Observation) -> tuple[Refusal, ...]:
    """List the victims that `settle_answers` takes back because of a refusal; each is in one cycle's list only."""
    answers = {answer.uid: answer for answer in observation.outcomes.answers}
    pairs = (Refusal(victim, answers[victim.uid]) for victim in state.in_flight if victim.uid in answers)
    return tuple(
        each
        for each in pairs
        if each.answer.kind is EvictionAnswerKind.REFUSED and _withdraws(each.answer, each.victim)
    )


def _withdraws(answer: EvictionAnswer, victim: Victim) -> bool:
    return victim.gone_at is None and answer.kind is not EvictionAnswerKind.AGREED and answer.at >= victim.since


def siblings(owner: str, observation: Observation) -> frozenset[str]:
    """Return the uids of all active pods of an owner; none for a bare pod."""
    return frozenset(pod.uid for pod in observation.pods if owner_of(pod) == owner) if owner else frozenset()


def note_eviction(backoff: Backoff, owner: str, uid: str, present: frozenset[str], now: int) -> Backoff:
    """Note the eviction of pod `uid`; `present` are the uids of all the owner's pods that were here when it was chosen.

    A recreated pod that is evicted within a minute doubles its owner's back-off, ten quiet minutes end it. A pod that was here at
    its owner's earlier eviction is no recreation: its eviction doubles nothing (docs/faults.md, 7). Pods are distinguished by
    uid, since the API server's creation times are of another clock.
    """
    kept = {name: old for name, old in backoff.owners.items() if now - old.evicted_at < 2 * LAST_OWNER_BACKOFF}
    if owner:
        last = kept.get(owner)
        if last is not None and now - max(last.evicted_at, last.until) >= RECREATED_WITHIN:
            last = None
        if last is not None and uid in last.siblings:
            return replace(backoff, owners={**kept, owner: replace(last, evicted_at=now)})
        level = 0 if last is None else last.level + 1
        wait = min(FIRST_OWNER_BACKOFF << (level - 1), LAST_OWNER_BACKOFF) if level else 0
        kept[owner] = OwnerBackoff(level=level, evicted_at=now, until=now + wait, siblings=present | {uid})
    return replace(backoff, owners=kept)


def note_refusal(backoff: Backoff, answer: EvictionAnswer, *, hold: int) -> Backoff:
    """Note that a budget protects this pod: it is not asked about before its server said so, and others go first for `hold`."""
    now = answer.at
    kept = _remembered(backoff.budgets, now)
    known = kept.get(answer.uid)
    first = now if known is None else known.first_at
    held = known.held_until if known is not None and now < known.held_until else now + hold
    until = now + (BUDGET_RETRY if answer.retry_after is None else answer.retry_after)
    kept[answer.uid] = BudgetRefusal(first_at=first, last_at=now, until=until, held_until=held)
    return replace(backoff, budgets=kept)


def patience_with_budget(config: EvictionConfig, *, hard: bool) -> int:
    """Return the nanoseconds from the first refusal of a pod's eviction after which evictd may pass over the budget."""
    return HARD_BYPASS if hard else config.eviction_timeout


def refused_since(backoff: Backoff, uid: str) -> int | None:
    """Return the time of a pod's first refusal; `None` where no budget refused it."""
    return backoff.budgets[uid].first_at if uid in backoff.budgets else None


# --- which pods are skipped now ---------------------------------------------------------------------------------------


def skipped_pods(
    backoff: Backoff, candidates: Iterable[Pod], config: EvictionConfig, now: int, *, hard: bool
) -> Mapping[str, PodSkipped]:
    """Pick the candidates that are skipped now, by uid.

    `hard`: a hard threshold is due, under which a budget delays a pod for `HARD_BYPASS` at most, and its owner's back-off not.

    A server that says "again in a second" must not keep a soft threshold asking for one pod for ever: pods that a budget protects
    come after all others. Where there is no other, the one refused longest ago has its turn again.
    """
    if not backoff.budgets and not backoff.owners:
        return {}
    known = tuple(candidates)
    firm = {pod.uid: skip for pod in known if (skip := _skipped(backoff, pod, config, now, hard=hard)) is not None}
    if hard:
        return firm
    held = {
        pod.uid: PodSkipped(pod=pod, reason=SkipReason.BUDGET, until=backoff.budgets[pod.uid].held_until)
        for pod in known
        if pod.uid not in firm and pod.uid in backoff.budgets and now < backoff.budgets[pod.uid].held_until
    }
    if held and all(pod.uid in firm or pod.uid in held for pod in known):
        del held[min(held, key=lambda uid: (backoff.budgets[uid].last_at, uid))]
    return {**firm, **held}


def _skipped(backoff: Backoff, pod: Pod, config: EvictionConfig, now: int, *, hard: bool) -> PodSkipped | None:
    budget = backoff.budgets.get(pod.uid)
    if budget is not None:
        until = min(budget.until, budget.first_at + HARD_BYPASS) if hard else budget.until
        if now < until:
            return PodSkipped(pod=pod, reason=SkipReason.BUDGET, until=until)
    # Under a hard threshold the recreated pod may be the culprit again; skipping it would cost its neighbours.
    owner = None if hard else backoff.owners.get(owner_of(pod))
    if owner is None or pod.uid in owner.siblings or config.policy is Policy.KUBELET or now >= owner.until:
        return None
    return PodSkipped(pod=pod, reason=SkipReason.OWNER, until=owner.until)
