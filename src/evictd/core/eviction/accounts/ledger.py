"""The victims of Standard's ledger, with what each owes (`collecting` has its collections).

What is owed is kept by *supply*: memory, PIDs, and the bytes and inodes of each device. Signals that observe the same supply
share what is owed to it: with one disk, nodefs and imagefs are the same bytes. Only queries and new values here; `standard`
decides.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache

from evictd.core.eviction.accounts.release import (
    POD_CLEANUP_TIMEOUT,
    is_held_by_volumes,
    released_by,
    supply_released_at,
    with_volumes,
)
from evictd.core.eviction.rank import usage_meter
from evictd.core.eviction.reclaim import Layout, device_of
from evictd.core.eviction.refusals.backoff import owner_of, siblings
from evictd.core.model.decision import EvictPod, WithdrawEviction
from evictd.core.model.holdings import SupplyHoldings
from evictd.core.model.observation import Observation, Outcomes, SignalObservation
from evictd.core.model.pod import Pod
from evictd.core.model.resources import IN_MEMORY
from evictd.core.model.signal import (
    DISK_SIGNALS,
    MEMORY_SIGNALS,
    SIGNALS,
    STALLS,
    Filesystem,
    Resource,
    Signal,
    StalledResource,
)
from evictd.core.model.state import State, Victim
from evictd.core.model.threshold import Threshold
from evictd.core.units.duration import SECOND

POD_KILL_TIMEOUT = 10 * SECOND
"""The least the kubelet waits for a kill; otherwise one and a half times the grace period."""
OWN_LIMITS_TIMEOUT = 60 * SECOND
"""How long pods over limits of their own may hold up a threshold that is due: they may come one after another without end."""

Amounts = Mapping[Signal, int]
"""Amounts by supply."""


def _supply(signal: Signal, layout: Layout) -> Signal:
    if signal in MEMORY_SIGNALS:
        return Signal.MEMORY_AVAILABLE
    device = device_of(signal, layout)
    return signal if device is None else DISK_SIGNALS[device][SIGNALS[signal].resource is Resource.INODES]


SUPPLY_OF = {layout: {signal: _supply(signal, layout) for signal in Signal} for layout in Layout}
"""By layout and signal: the signal that stands for all that observe the same supply."""


def supply_of(signal: Signal, layout: Layout) -> Signal:
    """Return the signal that stands for all that observe the same supply."""
    return SUPPLY_OF[layout][signal]


@lru_cache(maxsize=16)
def supplies_of(thresholds: tuple[Threshold, ...], layout: Layout) -> frozenset[Signal]:
    """Return the supplies that these thresholds observe."""
    return frozenset(SUPPLY_OF[layout][threshold.signal] for threshold in thresholds)


@cache
def supplies(layout: Layout) -> tuple[Signal, ...]:
    """List the supplies of a node whose amounts a pod is measured to use; how much of a stall it causes is not known."""
    return tuple(dict.fromkeys(supply for supply in SUPPLY_OF[layout].values() if supply not in STALLS))


def bytes_of(device: Filesystem) -> Signal:
    """Return the supply that stands for the bytes of a device."""
    return DISK_SIGNALS[device][0]


def available_supplies(observations: Mapping[Signal, SignalObservation], layout: Layout) -> dict[Signal, int]:
    """Return what is available of each supply that was read."""
    supply = SUPPLY_OF[layout]
    return {supply[signal]: observation.available.value() for signal, observation in observations.items()}


# --- victims ----------------------------------------------------------------------------------------------------------


def victim_until(grace_period_seconds: int, now: int) -> int:
    """Return the time when waiting for a victim ends: the kill's own bound and the clean-up's."""
    grace = max(grace_period_seconds, 0)
    return now + max(POD_KILL_TIMEOUT, (grace + grace // 2) * SECOND) + POD_CLEANUP_TIMEOUT


def victim_of(
    eviction: EvictPod,
    observation: Observation,
    available: Amounts,
    layout: Layout,
    now: int,
    *,
    holdings: Mapping[Signal, SupplyHoldings],
    missing: int = 0,
    elsewhere_grew: bool = False,
) -> Victim:
    """Record a victim and the amount that its end should give back, for each supply it was measured for.

    `holdings` has what it was measured to hold within the last minute, which counts for the supply that it was chosen for.
    """
    pod, threshold = eviction.pod, eviction.because.threshold
    cause = None if threshold is None else supply_of(threshold.signal, layout)
    ends = ending(pod, eviction.grace_period_seconds, observation, available, layout=layout, now=now)
    victim = replace(
        ends,
        siblings=siblings(owner_of(pod), observation),
        cause=cause,
        missing=missing,
        elsewhere_grew=elsewhere_grew,
        message=eviction.message,
        condition=eviction.condition,
    )
    if cause is None or cause not in holdings or (held := holdings[cause].used.get(pod.uid)) is None:
        return victim
    return replace(victim, owed={**victim.owed, cause: held})


def ending(pod: Pod, grace: int, observation: Observation, available: Amounts, *, layout: Layout, now: int) -> Victim:
    """Return the ledger's entry for a pod that ends within `grace` seconds from now."""
    return Victim(
        uid=pod.uid,
        full_name=pod.full_name,
        owner=owner_of(pod),
        chosen_at=now,
        since=now,
        grace_period_seconds=grace,
        until=victim_until(grace, now),
        owed=measured_to_use(pod, observation, layout),
        available_before=available,
        has_volumes_in_memory=any(volume.medium == IN_MEMORY for volume in pod.volumes),
    )


def measured_to_use(pod: Pod, observation: Observation, layout: Layout) -> dict[Signal, int]:
    """Return what a pod was measured to use, by supply."""
    stats = observation.pod_stats.get(pod.uid)
    used = {} if stats is None else {supply: usage_meter(supply, layout)(pod, stats) for supply in supplies(layout)}
    return {supply: amount for supply, amount in used.items() if amount is not None}


def amounts_owed(victims: Iterable[Victim], supply: Signal, available: int | None, now: int) -> dict[str, int | None]:
    """Return by uid the amount of this supply that each victim still owes; None: an unknown amount.

    What came back since is one number for all victims that have ended: their amounts are added up, and what is available beyond
    what it was before the first of them counts for those that were chosen first. Else the bytes of one are counted as another's.
    """
    victims = tuple(victims)
    found = {victim.uid: _owed_at_most(victim, supply, now) for victim in victims}
    ended = [
        (victim.uid, amount, before)
        for victim in victims
        if supply_released_at(victim, supply) is not None
        and (amount := found[victim.uid])
        and (before := victim.available_before.get(supply)) is not None
    ]
    if available is None or not ended:
        return found
    total = sum(amount for _, amount, _ in ended)
    left = min(max(min(before for *_, before in ended) + total - available, 0), total)
    for uid, amount, _ in reversed(ended):
        found[uid] = min(amount, left)
        left -= min(amount, left)
    return found


def _owed_at_most(victim: Victim, supply: Signal, now: int) -> int | None:
    """Return what a victim owes if nothing of it has come back yet.

    An overdue victim owes nothing. Of one that is gone, PIDs are back with its last process, and so is memory unless it has a
    volume there; bytes and inodes are waited for within a bound, until what is available has risen by what it was measured to
    use. A stall is an average over the time before, so it shows what a victim's end has relieved only later.
    """
    released_at = supply_released_at(victim, supply)
    if victim.is_overdue(now) or (released_at is not None and now >= released_by(victim, supply, released_at)):
        return 0
    return victim.owed.get(supply)


def follow_victims(
    victims: tuple[Victim, ...], observation: Observation, available: Amounts, relevant: Collection[Signal], now: int
) -> tuple[Victim, ...]:
    """Mark those stopped or gone since; drop those that owe nothing more of the `relevant` supplies, which have a threshold."""
    active = {pod.uid for pod in observation.pods}
    ended = (with_end(victim, observation.outcomes, now) for victim in victims)
    seen = (with_volumes(victim, observation, now) for victim in ended)
    marked = tuple(_with_freed(_with_deadline(victim, observation, now), available) for victim in seen)
    return open_victims(marked, available, active, relevant, now)


def with_end(victim: Victim, outcomes: Outcomes, now: int) -> Victim:
    """Return a victim with the times at which its processes and all of it were first seen gone."""
    if victim.stopped_at is None and victim.uid in outcomes.stopped:
        victim = replace(victim, stopped_at=now)
    return replace(victim, gone_at=now) if victim.gone_at is None and victim.uid in outcomes.cleaned_up else victim


def _with_freed(victim: Victim, available: Amounts) -> Victim:
    """Return a victim with what has come back while it ends.

    Its end may be seen seconds after its memory is back (a runtime that answers late), and another pod has taken that by then.
    """
    if victim.cause is None or victim.gone_at is not None:
        return victim
    seen, before = available.get(victim.cause), victim.available_before.get(victim.cause)
    risen = 0 if seen is None or before is None else seen - before
    return victim if risen <= victim.freed else replace(victim, freed=risen)


def _with_deadline(victim: Victim, observation: Observation, now: int) -> Victim:
    """Return a victim with its deadline as of what is known of its end.

    One that the API server has not agreed to was not asked to end, so its time has not begun; else one more pod would be chosen
    each time that an answer is late. One with a process that no signal kills is over its deadline at once.
    """
    if is_proposal(victim, observation.outcomes):
        return replace(victim, until=victim_until(victim.grace_period_seconds, now))
    return replace(victim, until=min(victim.until, now)) if victim.uid in observation.outcomes.unkillable else victim


def is_proposal(victim: Victim, outcomes: Outcomes) -> bool:
    """Whether a victim of a soft threshold goes only if the API server agrees, and it has not yet."""
    return not victim.is_hard and victim.gone_at is None and victim.uid in outcomes.unanswered


def is_asked_for(victim: Victim, state: State, outcomes: Outcomes, now: int) -> bool:
    """Whether a victim awaits the API server's answer; of this cycle's choice none is known, which counts after a refusal."""
    if is_proposal(victim, outcomes):
        return True
    new = victim.chosen_at == now and not victim.counted and victim.gone_at is None
    return not victim.is_hard and new and bool(state.backoff.budgets)


def withdraw_proposals(
    state: State, observation: Observation, watched: Collection[Signal]
) -> tuple[State, Sequence[WithdrawEviction]]:
    """Withdraw each eviction that is not accepted yet and whose supply is clear (law Consent, policy Standard).

    Also where its supply is not `watched` any more: a reload has taken the thresholds away, or the node has none of it now.

    While the answer is late a proposal holds up further choices for its supply: ten minutes without an API server must not choose
    one more pod each minute, and evict them all when it is back. The victim stays in the ledger until the answer to the
    withdrawal: the pod may have been evicted at the same moment.
    """
    if not state.in_flight:
        return state, ()
    pods = {pod.uid: pod for pod in observation.pods}
    ended = {
        victim.uid
        for victim in state.in_flight
        if is_proposal(victim, observation.outcomes)
        and (victim.cause in state.clear_since or victim.cause not in watched)
        and not victim.withdrawn
    } & pods.keys()
    if not ended:
        return state, ()
    marked = tuple(replace(each, withdrawn=True) if each.uid in ended else each for each in state.in_flight)
    withdrawn = [WithdrawEviction(pod=pods[uid], reason="pressure has ended") for uid in sorted(ended)]
    return replace(state, in_flight=marked), withdrawn


def released_now(victims: Iterable[Victim], outcomes: Outcomes, now: int) -> tuple[Victim, ...]:
    """Return the victims for pressure that have let go of their supply since the last reading."""
    return tuple(
        victim
        for victim in victims
        if victim.cause is not None
        and supply_released_at(victim, victim.cause) is None
        and supply_released_at(with_end(victim, outcomes, now), victim.cause) is not None
    )


def open_victims(
    victims: tuple[Victim, ...], available: Amounts, active: set[str], relevant: Collection[Signal], now: int
) -> tuple[Victim, ...]:
    """Return the victims that still exist, or still owe something of the relevant supplies.

    An overdue victim stays in the ledger as long as it is there, so that it is not chosen again. One that is gone and has given
    back all of a supply owes nothing more of it while it still owes another: what other pods take of it later is theirs. A pod
    that was seen gone and is there again can be a victim twice, so what is back is kept by victim and not by uid.
    """
    found = {supply: amounts_owed(victims, supply, available.get(supply), now) for supply in relevant}
    owing = {uid for amounts in found.values() for uid, amount in amounts.items() if amount != 0}
    back = [(victim, _given_back(victim, owing, found)) for victim in victims]
    gone = [(victim, given_back) for victim, given_back in back if victim.gone_at is not None]
    return tuple(
        _with_none_owed(_after_others(victim, gone, available), given_back)
        for victim, given_back in back
        if (victim.uid in owing if victim.gone_at is not None else now < victim.until or victim.uid in active)
    )


def _given_back(
    victim: Victim, owing: Collection[str], found: Mapping[Signal, Mapping[str, int | None]]
) -> Collection[Signal]:
    """Return the supplies of which a victim that is gone owes nothing more."""
    if victim.gone_at is None:
        return ()
    owes = victim.uid in owing
    return [supply for supply in victim.owed if not owes or (supply in found and found[supply][victim.uid] == 0)]


def _with_none_owed(victim: Victim, given_back: Collection[Signal]) -> Victim:
    """Return a victim that owes nothing more of these supplies."""
    return replace(victim, owed={**victim.owed, **dict.fromkeys(given_back, 0)}) if given_back else victim


def _after_others(victim: Victim, gone: Iterable[tuple[Victim, Collection[Signal]]], available: Amounts) -> Victim:
    """Return a victim whose available amounts before its end include what the others that are `gone` have given back.

    Else these bytes would be counted as its own from now on, and a third pod would go for those that it still owes.
    """
    before = dict(victim.available_before)
    for other, given_back in gone:
        for supply in given_back if other.uid != victim.uid else ():
            amount = other.owed[supply]
            own, others, seen = before.get(supply), other.available_before.get(supply), available.get(supply)
            if own is not None and others is not None and seen is not None and is_held_by_volumes(other, supply):
                least = min(own, others)
                before[supply] = max(own, least + min(amount, max(seen - least, 0)))
    return victim if before == victim.available_before else replace(victim, available_before=before)


def shortened(victim: Victim, grace_period_seconds: int, now: int) -> Victim:
    """Shorten the grace period of a victim from now on."""
    until = victim_until(grace_period_seconds, now)
    return replace(victim, since=now, grace_period_seconds=grace_period_seconds, until=until)


def concerns(victim: Victim, supply: Signal) -> bool:
    """Whether the end of a victim may give back some of a supply; an unknown amount may be all of it.

    What it gives back to a stall is never known. A victim for a disk or for PIDs does not count for a stall for memory, nor one
    for PIDs for a stall for I/O.
    """
    if supply in STALLS and victim.cause is not None:
        return SIGNALS[victim.cause].resource in _STALLED_BY[STALLS[supply].resource]
    return victim.owed.get(supply) != 0 or (victim.cause is supply and victim.gone_at is None)


_STALLED_BY = {
    StalledResource.MEMORY: frozenset({Resource.MEMORY, Resource.SWAP}),
    StalledResource.IO: frozenset(Resource) - {Resource.PIDS},
}
"""For the resource of a stall the resources whose shortage may cause it."""
