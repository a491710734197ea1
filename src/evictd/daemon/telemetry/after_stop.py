"""Finds the pod that goes when a stop of evictions ends, as a pause or the time of `evictionLimit`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evictd.core.eviction.backoff import owner_of
from evictd.core.eviction.next_up import NextUp, first_to_go, who_is_next
from evictd.core.model.finding import NoAction, NoActionReason
from evictd.core.model.holdings import Effect
from evictd.core.model.signal import Signal
from evictd.core.model.state import Backoff, State
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import NANO
from evictd.daemon.telemetry.snapshot import Snapshot
from evictd.render.status.remedy_texts import raise_requests


def goes_after(stop: NoAction, snapshot: Snapshot, now: int) -> dict[str, Any] | None:
    """Return the pod that would go when a stop ends, in how many seconds, and what to do about its owner; `None` for none.

    All else stays as it is: no pod has grown or ended by then. Where page cache alone holds a soft threshold met, it is the pod
    that would go at the hard one, without a time.
    """
    if stop.threshold is None:
        return None
    if stop.why is NoActionReason.NOT_SHORT_OF_MEMORY:
        return _at_hard(stop.threshold.signal, snapshot)
    if stop.until is None:
        return None
    state = _earlier(snapshot.state, stop.until - snapshot.at)
    answers = who_is_next(state, snapshot.observation, snapshot.config, snapshot.at)
    answer = next((each for each in answers if each.signal is stop.threshold.signal), None)
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
    pauses = {supply: replace(each, until=each.until - by) for supply, each in state.pauses.items()}
    return replace(
        state,
        pauses=pauses,
        effects=_effects(state.effects, by),
        evicted_at=tuple(each - by for each in state.evicted_at),
        backoff=_backoff(state.backoff, by),
    )


def _effects(effects: Mapping[Signal, tuple[Effect, ...]], by: int) -> dict[Signal, tuple[Effect, ...]]:
    return {
        supply: tuple(replace(each, chosen_at=each.chosen_at - by) for each in found)
        for supply, found in effects.items()
    }


def _backoff(backoff: Backoff, by: int) -> Backoff:
    owners = {name: replace(each, until=each.until - by) for name, each in backoff.owners.items()}
    budgets = {
        uid: replace(each, first_at=each.first_at - by, until=each.until - by, held_until=each.held_until - by)
        for uid, each in backoff.budgets.items()
    }
    return replace(backoff, owners=owners, budgets=budgets)
