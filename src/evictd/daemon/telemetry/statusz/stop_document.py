"""Makes the part of `/statusz` that says which pod would go for a signal, or why none would, for how long, and which goes then.

The pod that goes then is what the core answers (`next_up`) to the last observation, with a state in which that time has passed.
All else stays as it is: no pod has grown or ended by then.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evictd.core.eviction.laws.effect import FIRST_PAUSE, LONGEST_PAUSE, has_begun
from evictd.core.eviction.next_up import NextUp, first_to_go, who_is_next
from evictd.core.eviction.refusals.backoff import BUDGET_RETRY, owner_of, patience_with_budget
from evictd.core.model.config import EvictionMethod
from evictd.core.model.finding import NoAction, NoActionReason
from evictd.core.model.pod import Pod, PodSource
from evictd.core.model.signal import Signal
from evictd.core.model.state import BudgetRefusal, State
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import NANO
from evictd.daemon.telemetry.snapshot import Snapshot
from evictd.render.status.remedy_texts import raise_requests
from evictd.render.status.stopped import BUDGET_GUARD
from evictd.render.status.times.hard_cut import fitting_grace
from evictd.render.stop_reason import stop_reason
from evictd.render.text import protection

_NO_STOP: Mapping[str, Any] = {
    "stop": "",
    "stopBrief": "",
    "stopReason": "",
    "stopEndsInSeconds": None,
    "stopLastsSeconds": None,
    "stopDoubled": False,
    "stopPod": "",
    "stopPodGuard": "",
    "stopInstead": None,
    "stopThen": None,
}


def next_document(
    answer: NextUp | None, why: str, snapshot: Snapshot, now: int, entry: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the pod that would go first and its numbers, or why no pod would; `usage` is `null` where it was not measured.

    The grace period at a hard threshold alone that is not met yet is that which what is left then allows for.
    """
    if answer is None or answer.victim is None:
        return {"next": None, **stop_document(None if answer is None else answer.stop, snapshot, now)}
    row = answer.victim
    usage = row.usage if answer.measured else None
    refusal, grace = snapshot.state.backoff.budgets.get(row.uid), answer.grace_period_seconds
    if all(each["kind"] == "hard" and not each["met"] for each in entry["thresholds"]):
        grace = min(grace, fitting_grace(entry))
    candidate = {
        "pod": row.pod.full_name,
        "why": why,
        "priority": row.priority,
        "usage": usage,
        "request": row.request // NANO,
        "gracePeriodSeconds": grace,
        "budgetMayRefuse": refusal is None and _may_be_refused(row.pod, snapshot),
        "refusedSecondsAgo": None if refusal is None else round((now - refusal.last_at) / SECOND, 1),
    }
    return {"next": candidate, **stop_document(None, snapshot, now)}


def _may_be_refused(pod: Pod, snapshot: Snapshot) -> bool:
    """Whether the Eviction API may be asked to evict a pod, so that a disruption budget counts: evictd reads none."""
    in_cluster = pod.source is PodSource.API and not snapshot.observation.api_pods_standalone
    return in_cluster and (snapshot.config.pod_termination or EvictionMethod.AUTO) in {
        EvictionMethod.AUTO,
        EvictionMethod.EVICTION_API,
    }


def stop_document(stop: NoAction | None, snapshot: Snapshot, now: int) -> dict[str, Any]:
    """Return why no pod would go, and for how long; `None`: one would.

    `stop` is the whole sentence, `stopBrief` its first part. `stopPod` is the pod for which no other one goes, `stopPodGuard`
    what guards it; of a disruption budget the time ends when evictd may pass over it, and `stopInstead` is the pod that may go
    then if it may not. A pause that begins when the threshold acts has a length and no end yet; `stopDoubled`: it is twice as
    long as the one before, because the eviction between them did not help. `stopThen` is the pod that would
    go when a stop ends by itself.
    """
    if stop is None:
        return {**_NO_STOP}
    culprit = stop.pod if stop.why is NoActionReason.PROTECTED_CULPRIT else None
    guard, until, instead = "" if culprit is None else protection(culprit, snapshot.config), stop.until, None
    budget = None if culprit is None else snapshot.state.backoff.budgets.get(culprit.uid)
    if budget is not None and stop.threshold is not None and not guard:
        patience = patience_with_budget(snapshot.config, hard=stop.threshold.hard)
        guard, until = BUDGET_GUARD, budget.first_at + patience
        instead = _goes_instead(stop.threshold.signal, budget, patience + BUDGET_RETRY, snapshot, now)
    waits = [each.wait for each in snapshot.state.pauses.values() if each.until == stop.until]
    begun, reason = has_begun(stop, snapshot.state), stop_reason(stop)
    return {
        "stop": str(reason),
        "stopBrief": reason.first,
        "stopReason": stop.why.value,
        "stopEndsInSeconds": None if until is None or not begun else round((until - now) / SECOND, 1),
        "stopLastsSeconds": None if until is None or begun else round((until - snapshot.at) / SECOND, 1),
        "stopDoubled": begun and any(FIRST_PAUSE < each < LONGEST_PAUSE for each in waits),
        "stopPod": "" if culprit is None else culprit.full_name,
        "stopPodGuard": guard,
        "stopInstead": instead,
        "stopThen": None if guard == BUDGET_GUARD else _goes_after(stop, snapshot, now),
    }


def _answer(signal: Signal, state: State, snapshot: Snapshot) -> NextUp | None:
    """Return which pod would go for a signal if the last cycle had left this state."""
    answers = who_is_next(state, snapshot.observation, snapshot.config, snapshot.at)
    return next((each for each in answers if each.signal is signal), None)


def _goes_instead(
    signal: Signal, budget: BudgetRefusal, patience: int, snapshot: Snapshot, now: int
) -> dict[str, Any] | None:
    """Return the pod that goes in the place of the one that this budget guards, and in how many seconds; `None` for none.

    It goes when evictd has waited for `patience` nanoseconds since the first refusal, and the budgets refuse again.
    """
    budgets = snapshot.state.backoff.budgets
    waited = {uid: replace(each, first_at=snapshot.at - patience) for uid, each in budgets.items()}
    answer = _answer(signal, replace(snapshot.state, backoff=replace(snapshot.state.backoff, budgets=waited)), snapshot)
    if answer is None or answer.victim is None or answer.victim.uid in budgets:
        return None
    left = budget.first_at + patience - now
    return {"pod": answer.victim.pod.full_name, "inSeconds": round(left / SECOND, 1)}


def _goes_after(stop: NoAction, snapshot: Snapshot, now: int) -> dict[str, Any] | None:
    """Return the pod that goes when a stop ends, in how many seconds, and what to do about its owner; `None` for none.

    Where page cache alone holds a soft threshold met, it is the pod that would go at the hard one, without a time.
    """
    if stop.threshold is None:
        return None
    if stop.why is NoActionReason.NOT_SHORT_OF_MEMORY:
        return _at_hard(stop.threshold.signal, snapshot)
    if stop.until is None:
        return None
    answer = _answer(stop.threshold.signal, _earlier(snapshot.state, stop.until - snapshot.at), snapshot)
    if answer is None or answer.victim is None:
        return None
    pod, seconds = answer.victim.pod, round(max(stop.until - now, 0) / SECOND, 1)
    return {"pod": pod.full_name, "inSeconds": seconds, "raiseRequests": _raise_requests(answer, owner_of(pod))}


def _at_hard(signal: Signal, snapshot: Snapshot) -> dict[str, Any] | None:
    """Return the pod that would go at the hard threshold, for which page cache counts as used; `None` without one."""
    for each in snapshot.config.thresholds:
        if each.hard and each.signal is signal:
            row = first_to_go(each, snapshot.state, snapshot.observation, snapshot.config, snapshot.at)
            return None if row is None else {"pod": row.pod.full_name, "inSeconds": None, "raiseRequests": ""}
    return None


def _raise_requests(answer: NextUp, owner: str) -> str:
    """Write to raise the requests of the next pod's owner, where each pod of it exceeds its own; empty else."""
    if not owner:
        return ""
    amounts = [(row.usage or 0, row.request // NANO) for row in answer.rows if owner_of(row.pod) == owner]
    return raise_requests(owner.partition("/")[2], amounts, answer.resource)


def _earlier(state: State, by: int) -> State:
    """Return the state with past evictions, pauses and back-offs `by` nanoseconds earlier."""
    owners = {name: replace(each, until=each.until - by) for name, each in state.backoff.owners.items()}
    budgets = {
        uid: replace(each, first_at=each.first_at - by, until=each.until - by, held_until=each.held_until - by)
        for uid, each in state.backoff.budgets.items()
    }
    return replace(
        state,
        pauses={supply: replace(each, until=each.until - by) for supply, each in state.pauses.items()},
        effects={
            supply: tuple(replace(each, chosen_at=each.chosen_at - by) for each in found)
            for supply, found in state.effects.items()
        },
        evicted_at=tuple(each - by for each in state.evicted_at),
        backoff=replace(state.backoff, owners=owners, budgets=budgets),
    )
