"""Makes up for time in which evictd did not look (policy Standard): it was not running, was halted, or the machine slept.

A deadline passes when something should have happened and did not. While evictd does not run none of it happens: the stop call may
not have been sent, collectors and walks are threads of evictd, and on a machine that sleeps nothing runs. So at most
`LONGEST_COUNTED` of an absence counts; otherwise the first cycle after it would evict a second pod in place of a first one that
was never asked to stop.

What moves is the deadlines of victims and collections, and the times at which thresholds were crossed: grace periods and the wait
for measurements begin there. `Victim.since` stays, because answers of the API server are compared with it, and so does what is
waited for after a victim or a collection has ended, because those waits are shorter than what counts. Each absence counts for
`LONGEST_COUNTED`, so no wait is renewed for ever, by slow cycles or by a daemon that ends again and again.
A victim that still runs after a long absence was not stopped, and the shortage that it was chosen for is long ago. If its supply
is read and no longer short, the pod stays, and can be chosen again: a pod is not stopped at a calm start because of the pressure
of last night. While its supply is short or was not read, it is still the victim.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from evictd.core.eviction.accounts.collecting import RECLAIM_TIMEOUT
from evictd.core.eviction.accounts.ledger import supply_of, victim_until
from evictd.core.eviction.reclaim import Layout
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.observation import Observation
from evictd.core.model.pod import Pod
from evictd.core.model.signal import Signal
from evictd.core.model.state import Collection, State, Victim
from evictd.core.units.duration import MINUTE, SECOND

Value = TypeVar("Value", State, Victim, Collection)

LONGEST_COUNTED = 20 * SECOND
"""The most of an absence that counts: twice the kubelet's monitoring period. While a victim or a collection is waited for, evictd
looks each second."""
CHOSEN_LONG_AGO = "it was chosen before a long absence of evictd, and what it was chosen for is not short any more"
LONG_ABSENCE = 2 * MINUTE
"""After a longer absence a threshold counts as met from the first reading on; an update of the daemon takes less."""


def make_up_for_absence(state: State, config: EvictionConfig, now: int) -> State:
    """Move the start of every wait by the part of the absence that does not count.

    None is then later than now, and no deadline further away than at its beginning, whatever a state file says of the last cycle.
    After a long absence the thresholds' grace periods begin anew.
    """
    if state.last_cycle_at is None or config.policy is Policy.KUBELET:
        return state
    absence = now - state.last_cycle_at
    missed = absence - LONGEST_COUNTED
    if absence < 0:
        state, missed = _begun_by(state, now), 0
    elif missed <= 0:
        return state
    crossed = {} if absence > LONG_ABSENCE else state.thresholds_first_observed_at
    return replace(
        state,
        in_flight=tuple(
            replace(each, until=min(each.until + missed, victim_until(each.grace_period_seconds, now)))
            for each in state.in_flight
        ),
        collections={
            device: replace(each, until=min(each.until + missed, now + RECLAIM_TIMEOUT))
            for device, each in state.collections.items()
        },
        thresholds_first_observed_at={threshold: min(at + missed, now) for threshold, at in crossed.items()},
    )


def _begun_by(state: State, now: int) -> State:
    """Return a state in which nothing began or ended later than `now`, which is earlier than the last cycle.

    A clock that falls must not stretch a grace period or a wait by as much: what is waited for begins now at the latest.
    """
    conditions = state.node_conditions_last_observed_at
    return replace(
        _not_later(state, now, "started_at"),
        in_flight=tuple(
            _not_later(each, now, "since", "stopped_at", "gone_at", "volumes_at") for each in state.in_flight
        ),
        collections={device: _not_later(each, now, "begun", "ended_at") for device, each in state.collections.items()},
        node_conditions_last_observed_at={condition: min(at, now) for condition, at in conditions.items()},
        comebacks=tuple(
            replace(each, evicted_at=tuple(min(at, now) for at in each.evicted_at)) for each in state.comebacks
        ),
    )


def _not_later(value: Value, now: int, *times: str) -> Value:
    """Return a value with none of these times later than `now`; `None` stays."""
    return replace(value, **{name: min(at, now) for name in times if (at := getattr(value, name)) is not None})


def is_long(state: State, now: int) -> bool:
    """Whether the last cycle was more than `LONG_ABSENCE` ago, so that the state is out of date."""
    return state.last_cycle_at is not None and now - state.last_cycle_at > LONG_ABSENCE


def without_old_victims(
    state: State, observation: Observation, read: Iterable[Signal], layout: Layout
) -> tuple[State, tuple[Pod, ...]]:
    """After a long absence drop running victims whose supply is no longer short; return the state and these victims.

    `read` are the signals of this reading; `state` has the thresholds that it meets. A pod over a limit of its own is judged anew
    in this cycle anyway.
    """
    met = {supply_of(threshold.signal, layout) for threshold in state.thresholds_first_observed_at}
    calm = {supply_of(signal, layout) for signal in read} - met
    living = {pod.uid: pod for pod in observation.pods if pod.uid not in observation.outcomes.stopped}
    old = [
        victim
        for victim in state.in_flight
        if victim.uid in living
        and victim.stopped_at is None
        and victim.gone_at is None
        and (victim.cause is None or victim.cause in calm)
    ]
    state = replace(state, in_flight=tuple(each for each in state.in_flight if each not in old))
    return state, tuple(living[each.uid] for each in old)
