"""Finds the pod that goes when a stop of evictions ends, as a pause or the time of `evictionLimit`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evictd.core.eviction.next_up import who_is_next
from evictd.core.model.finding import NoAction
from evictd.core.model.holdings import Effect
from evictd.core.model.signal import Signal
from evictd.core.model.state import Backoff, State
from evictd.core.units.duration import SECOND
from evictd.daemon.telemetry.snapshot import Snapshot


def goes_after(stop: NoAction, snapshot: Snapshot, now: int) -> dict[str, Any] | None:
    """Return the pod that would go when a stop ends, and the seconds from `now` to that; `None` for none, or without an end.

    All else stays as it is: no pod has grown or ended by then.
    """
    if stop.threshold is None or stop.until is None:
        return None
    state = _earlier(snapshot.state, stop.until - snapshot.at)
    answers = who_is_next(state, snapshot.observation, snapshot.config, snapshot.at)
    victim = next((each.victim for each in answers if each.signal is stop.threshold.signal), None)
    if victim is None:
        return None
    return {"pod": victim.pod.full_name, "inSeconds": round(max(stop.until - now, 0) / SECOND, 1)}


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
