"""Law Effect: an eviction that did not help is evidence (policy Standard).

**Theory of operation.** `State.effects` keeps for each victim that has ended: the amount that it held, the amount that was
missing when it was chosen, and the largest rise of the available amount since then, until its bytes are no longer waited for.
Before the next choice for a supply the last two victims are compared with the missing amount:

    running  --two victims within ten minutes did not help-->  paused, one more after ten minutes
    paused   --the supply was clear of its targets for a minute, or the growth elsewhere has ended-->  running
    paused   --one more goes after its wait-->  paused, the next wait twice as long, at most an hour
    paused   --not for growth elsewhere, and one that went gave back all that was missing-->  running

Two victims did not help in either of these cases:

* Together they gave back less than half of the missing amount. (With a tenth, a kernel that leaked beside eight pods cost all
  eight.)
* Both were chosen while growth elsewhere was more than twice the growth of the pods: further evictions only delay it. Growth of
  static and critical pods counts as elsewhere, because no eviction ends it. On disks a victim has helped all the same if it gave
  back all that was missing and a quarter more than was measured: its images and open files were the growth elsewhere. (Beside a
  writer into a hostPath volume twelve of twelve pods went, one a minute, and each gave back its own bytes only.)

A pod *stands out* if it exceeds its request. PIDs, inodes and swap have no requests: there a pod stands out if it holds at least
half as much as the largest pod (else a recreated fork bomb left a node without PIDs for ten minutes).

These pods may still go during a pause:

* a pod that stands out and makes at least half of all growth: the leak itself;
* one of several pods that stand out and together make at least half of all growth;
* a pod with at least half of the missing amount and twice the holdings of each of the last two victims;
* a pod over its request that grew by an eighth of itself and by half of the missing amount, and alone holds that amount: it leaks
  too, however fast something else grows, and the kernel would kill it;
* a successor of these victims that stands out and alone holds the missing amount, if it uses twice its request; or if less than
  a twentieth of the target is left, unless the growth belongs to no evictable pod (else a pod slightly over its request would go
  again and again in the place of a static one). In its place a pod before it in the order goes that holds as much and was there.
  Not one that succeeds a last victim which gave back less than half of the missing amount, while nothing is left: what takes
  all that is left, such as page cache, takes that too;
* any pod that is no successor of these victims, or such a one as above, if they gave back what they held, there is and was no
  growth elsewhere, and all such candidates together hold the missing amount and what comes on top meanwhile: many small pods are
  the cause. (A successor went every second, in the place of pods whose end would have lasted.) A pod that was not measured is no
  candidate: the pause holds until it is measured.

A pause affects evictions only: condition, taint and collections stay.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from evictd.core.eviction.accounts.holdings import WINDOW, grows_elsewhere, growth_without_end, is_used_up
from evictd.core.eviction.accounts.ledger import SUPPLY_OF, supplies_of
from evictd.core.eviction.accounts.release import release_timeout, released_by
from evictd.core.eviction.laws.shortage import Shortage
from evictd.core.eviction.reclaim import Layout
from evictd.core.eviction.refusals.backoff import owner_of
from evictd.core.model.finding import NoAction, NoActionReason, RankedPod
from evictd.core.model.holdings import Effect, Pause, SupplyHoldings
from evictd.core.model.observation import Observation
from evictd.core.model.signal import SIGNALS, Signal
from evictd.core.model.state import State, Victim, with_fields
from evictd.core.model.threshold import Threshold
from evictd.core.units.duration import HOUR, MINUTE

COMPARED = 10 * MINUTE
"""Only victims within this time are compared: a shortage that returns later is another incident."""
FIRST_PAUSE = 10 * MINUTE
"""With one minute 16 pods more are lost over the incidents (02, 03, 05, 06, 13, 14, 23), with five minutes 3 more, with half an
hour 6 less; but a shortage that evictions can end again waits as long."""
LONGEST_PAUSE = HOUR
CLEAR = MINUTE
"""How long a supply must be clear before a pause ends: a node at its limit is clear for a moment after each victim."""
HELPED = 2
"""Half of what was missing: with a tenth four pods more are lost over the incidents (06, 23)."""
MORE_THAN_MEASURED = (5, 4)
"""A victim that gave back a quarter more than was measured of it held bytes that count as growth elsewhere."""
LEAST_FREE = 20
"""Growth is not judged with less than a twentieth of the target free: a writer that has filled a disk no longer grows. Then a
successor slightly over its request may go again as well."""
LEAK = 8
"""A pod that grew by an eighth of what it holds within about a minute leaks, or has just begun. Without this bound all pods
over their requests went beside a host that grows slowly, one a minute, because each had grown a little."""
LARGER_THAN_LAST = 2
"""Twice what the last victims held is another attempt, an equal one is the same attempt (with 1 or 4 no incident ends
differently)."""
_KEPT = 3
"""Effects of each supply: two are compared here, three count for a threshold that was never clear (`prudence`)."""


def follow_effects(state: State, gone: Sequence[Victim], available: Mapping[Signal, int], now: int) -> State:
    """Return the state with an effect for each victim first seen gone now, and the freed amounts of all effects updated."""
    if not gone and not state.effects and not state.pauses:
        return state
    effects = {supply: list(each) for supply, each in state.effects.items()}
    for victim in gone:
        if victim.cause is not None:
            effects.setdefault(victim.cause, []).append(_effect(victim, victim.cause, now))
    later = {victim.uid: victim for victim in state.in_flight if victim.volumes_at is not None}
    kept = {
        supply: _kept(_extended(each, supply, later), available.get(supply), paused=supply in state.pauses, now=now)
        for supply, each in effects.items()
    }
    pauses = {
        supply: pause
        for supply, pause in state.pauses.items()
        if not _has_ended(pause, supply, state, kept.get(supply, ()), available.get(supply), now=now)
    }
    return replace(state, effects={supply: each for supply, each in kept.items() if each}, pauses=pauses)


def _has_ended(
    pause: Pause, supply: Signal, state: State, effects: Sequence[Effect], available: int | None, *, now: int
) -> bool:
    """Whether evictions for a supply go on: it was clear for a minute, or what the pause began for is over."""
    clear_since = state.clear_since.get(supply)
    if clear_since is not None and now - clear_since >= CLEAR:
        return True
    if pause.for_growth:
        return _growth_has_ended(effects, state.holdings.get(supply), available, now)
    return _retry_helped(effects, pause)


def _retry_helped(effects: Sequence[Effect], pause: Pause) -> bool:
    """Whether the last victim went during the pause and gave back all that was missing, so that the growth is a pod's."""
    return any(each.chosen_at >= pause.until - pause.wait and each.freed >= each.missing for each in effects[-1:])


def _growth_has_ended(
    effects: Sequence[Effect], holdings: SupplyHoldings | None, available: int | None, now: int
) -> bool:
    """Whether nothing has grown elsewhere within the last `WINDOW`, in which there were free bytes to take.

    On a full disk a writer cannot grow, and it goes on as soon as a victim has given back its bytes: then the answer is no.
    """
    if available is None:
        return False
    for last in effects[-1:]:
        target = (last.available_before or 0) + last.missing
        if _is_nearly_used_up(available, target) or now - last.chosen_at < WINDOW:
            return False
    return not grows_elsewhere(holdings)


def _is_nearly_used_up(available: int, target: int) -> bool:
    return available * LEAST_FREE < target


def _effect(victim: Victim, supply: Signal, now: int) -> Effect:
    return Effect(
        uid=victim.uid,
        owner=victim.owner,
        siblings=victim.siblings,
        chosen_at=victim.chosen_at,
        held=victim.owed.get(supply, 0),
        missing=victim.missing,
        available_before=victim.available_before.get(supply),
        freed=victim.freed,
        until=now + release_timeout(victim, supply),
        elsewhere_grew=victim.elsewhere_grew,
    )


def _extended(effects: Sequence[Effect], supply: Signal, later: Mapping[str, Victim]) -> Sequence[Effect]:
    """Return the effects, each of which lasts until the bytes of its victim's volumes are no longer waited for."""
    if not later:
        return effects
    ends = {uid: released_by(victim, supply, victim.gone_at or 0) for uid, victim in later.items()}
    return [replace(each, until=max(each.until, ends.get(each.uid, 0))) for each in effects]


def _kept(effects: Sequence[Effect], available: int | None, *, paused: bool, now: int) -> tuple[Effect, ...]:
    fresh = (each for each in effects[-_KEPT:] if paused or now - each.chosen_at < COMPARED)
    return tuple(_updated(each, available, now) for each in fresh)


def _updated(effect: Effect, available: int | None, now: int) -> Effect:
    if available is None or effect.available_before is None or now > effect.until:
        return effect
    risen = available - effect.available_before
    return effect if risen <= effect.freed else replace(effect, freed=risen)


def follow_clear(
    state: State, thresholds: Sequence[Threshold], read: Mapping[Signal, object], layout: Layout, now: int
) -> State:
    """Return the state with the times since which supplies are clear, and the thresholds that were clear at least once.

    A supply is clear while no threshold of it is met, the minimum reclaim included. One that was not read stays as it was.
    """
    supply = SUPPLY_OF[layout]
    met = {supply[threshold.signal] for threshold in state.thresholds_first_observed_at}
    supplies = supplies_of(tuple(thresholds), layout)
    seen = {supply[signal] for signal in read}
    known = state.clear_since
    calm = supplies - met
    clear = {each: known.get(each, now) for each in Signal if each in calm and (each in seen or each in known)}
    once_clear = state.once_clear
    if once_clear != thresholds:
        met_now = {threshold.identity for threshold in state.thresholds_first_observed_at}
        once = {threshold.identity for threshold in once_clear}
        once_clear = tuple(
            threshold
            for threshold in thresholds
            if (threshold.identity not in met_now and threshold.signal in read) or (once and threshold.identity in once)
        )
    if clear == known and once_clear == state.once_clear:
        return state
    return with_fields(state, clear_since=clear, once_clear=once_clear)


def pause_of(state: State, supply: Signal, observation: Observation, now: int) -> Pause | None:
    """Return the pause of a supply: the one under way, or the one that the last two victims call for."""
    known, holdings = state.pauses.get(supply), state.holdings.get(supply)
    if known is not None or not state.effects:
        return known
    last = tuple(each for each in state.effects.get(supply, ()) if now - each.chosen_at < COMPARED)[-2:]
    if len(last) < 2:
        return None
    gave_back = _gave_back(last, holdings, observation)
    if gave_back and not (grows_elsewhere(holdings) and _in_vain(last, supply)):
        return None
    return Pause(until=now + FIRST_PAUSE, wait=FIRST_PAUSE, for_growth=gave_back)


def has_begun(stop: NoAction, state: State) -> bool:
    """Whether what stops evictions is under way, and not a pause that would begin if the threshold acted now."""
    return stop.why is not NoActionReason.EVICTIONS_DO_NOT_HELP or any(
        each.until == stop.until for each in state.pauses.values()
    )


def _gave_back(last: Sequence[Effect], holdings: SupplyHoldings | None, observation: Observation) -> bool:
    """Whether the last two victims together gave back half of what was missing, less what their successors hold."""
    return _suffices(sum(each.freed - _of_new_pods(each, holdings, observation) for each in last), last)


def _suffices(freed: int, last: Sequence[Effect]) -> bool:
    """Whether this is half of what was missing when these victims were chosen."""
    return freed * HELPED >= max(each.missing for each in last)


def _in_vain(last: Sequence[Effect], supply: Signal) -> bool:
    """Whether both were chosen while mostly something else grew, and no hidden bytes of theirs relieved a disk."""
    return all(each.elsewhere_grew for each in last) and not (
        SIGNALS[supply].filesystem is not None and all(map(_held_what_grew, last))
    )


def _held_what_grew(effect: Effect) -> bool:
    """Whether a victim gave back all that was missing, and more than was measured of it: the growth elsewhere may be its own."""
    times, parts = MORE_THAN_MEASURED
    return effect.freed >= effect.missing and effect.freed * parts >= effect.held * times


def _growers(candidates: Sequence[RankedPod], shortage: Shortage) -> frozenset[str]:
    """Return the pods that stand out and grow, if together they make at least half of all growth: then the leak is theirs."""
    grown = {
        row.uid: each for row in candidates if shortage.stands_out(row) and (each := shortage.grown_of(row.uid)) > 0
    }
    return frozenset(grown) if sum(grown.values()) * 2 >= shortage.growth else frozenset()


def _of_new_pods(effect: Effect, holdings: SupplyHoldings | None, observation: Observation) -> int:
    """Return what pods hold that the victim's owner has created here since."""
    if holdings is None or not effect.owner:
        return 0
    new = (pod.uid for pod in observation.pods if owner_of(pod) == effect.owner and pod.uid not in effect.siblings)
    return sum(holdings.used.get(uid, 0) for uid in new)


def freed_lately(state: State, supply: Signal) -> int:
    """Return what the last two victims for a supply gave back."""
    return sum(each.freed for each in state.effects.get(supply, ())[-2:])


def why_in_vain(state: State, supply: Signal, pause: Pause) -> str:
    """Return why the last two victims were of no use, as the end of a sentence."""
    if pause.for_growth:
        return "what grows was not measured in any pod that may go"
    last = state.effects.get(supply, ())[-2:]
    enough = bool(last) and _suffices(freed_lately(state, supply), last)
    if not enough:
        return "that is too little"
    if any(each.owner for each in last):
        return "new pods of their owner hold it again"
    return "that was too little when the pause began"


def elsewhere_grows(shortage: Shortage) -> bool:
    """Whether growth outside the evictable pods is more than twice theirs, and no noise beside the missing amount."""
    return grows_elsewhere(shortage.holdings) and not shortage.is_noise(growth_without_end(shortage.holdings))


def may_go_paused(
    victim: RankedPod, candidates: Sequence[RankedPod], pause: Pause, effects: Sequence[Effect], shortage: Shortage
) -> RankedPod | None:
    """Return the candidate that may go although evictions are paused: the one chosen first if it may."""
    last, others_grow = effects[-2:], grows_elsewhere(shortage.holdings)
    if not pause.for_growth and not others_grow:
        lasting = [
            row for row in candidates if not _came_back(row, last, shortage) or _is_the_cause_again(row, shortage)
        ]
        if _goes_on_to_relieve(lasting, last, shortage):
            return victim if victim in lasting else lasting[0]
    growers, order = _growers(candidates, shortage), (victim, *candidates)
    for row in order:
        if (
            shortage.is_leak(row)
            or _is_another_attempt(row, last, shortage, grows=row.uid in growers)
            or _leaks_as_well(row, shortage)
        ):
            return row
        if _holds_it_again(row, last, shortage, others_grow=others_grow):
            held = shortage.held[row.uid]
            there = (each for each in order[: order.index(row)] if not _came_back(each, last, shortage))
            return next((each for each in there if shortage.held.get(each.uid, 0) >= held), row)
    return None


def _is_another_attempt(row: RankedPod, last: Sequence[Effect], shortage: Shortage, *, grows: bool) -> bool:
    """Whether a pod holds half of what is missing, and is one of the growers or twice as large as each of the last victims."""
    held = shortage.held.get(row.uid, 0)
    largest = max((each.held for each in last), default=0)
    return held * 2 >= shortage.missing and (grows or held >= LARGER_THAN_LAST * largest)


def _holds_it_again(row: RankedPod, last: Sequence[Effect], shortage: Shortage, *, others_grow: bool) -> bool:
    """Whether a pod that came in the place of a victim is the cause again, and alone holds what is missing."""
    if shortage.held.get(row.uid, 0) < shortage.missing or not _is_the_cause_again(row, shortage):
        return False
    gave_back_little = any(_is_successor(row, each) and not _suffices(each.freed, (each,)) for each in last[-1:])
    if gave_back_little and is_used_up(shortage.seen):
        return False  # what it gives back is taken elsewhere at once; while some is left this pod may have taken it
    if row.uid in shortage.recreated:
        return shortage.is_far_over(row) or not elsewhere_grows(shortage)
    return not others_grow and _succeeds(row, last)


def _came_back(row: RankedPod, last: Sequence[Effect], shortage: Shortage) -> bool:
    """Whether an owner created the pod anew, in the place of an evicted one."""
    return row.uid in shortage.recreated or _succeeds(row, last)


def _is_the_cause_again(row: RankedPod, shortage: Shortage) -> bool:
    """Whether a pod that was created again stands out, and not by a little while enough is left."""
    available = shortage.seen.available.value()
    used_up = _is_nearly_used_up(available, available + shortage.missing)
    return shortage.is_far_over(row) or (used_up and shortage.stands_out(row))


def _leaks_as_well(row: RankedPod, shortage: Shortage) -> bool:
    """Whether a pod over its request leaks beside what grows elsewhere, and its end relieves the node.

    Measured by itself: beside a host that grows fast no leak of a pod is a large part of all growth.
    """
    grown, held = shortage.grown_of(row.uid), shortage.held.get(row.uid, 0)
    is_leak = grown * LEAK >= held and not shortage.is_noise(grown)
    return shortage.exceeds(row) and is_leak and held >= shortage.missing


def _succeeds(row: RankedPod, last: Sequence[Effect]) -> bool:
    """Whether the owner of one of the last victims has created the pod since."""
    return any(_is_successor(row, each) for each in last)


def _is_successor(row: RankedPod, effect: Effect) -> bool:
    owner = owner_of(row.pod)
    return bool(owner) and owner == effect.owner and row.uid not in effect.siblings


def _goes_on_to_relieve(candidates: Sequence[RankedPod], last: Sequence[Effect], shortage: Shortage) -> bool:
    """Whether many small pods are the cause: the last victims gave back what they held, and the rest hold the missing amount."""
    gave_what_they_held = all(each.freed * 4 >= each.held * 3 for each in last)
    enough = shortage.held_by(candidates) >= shortage.with_growth(len(candidates))
    return gave_what_they_held and enough


def with_pause(state: State, supply: Signal, pause: Pause, now: int, *, evicted: bool) -> State:
    """Return the state with the pause of a supply; its next wait is longer if one more pod went (`evicted`) after this one.

    The next pause has an event of its own, as it has another end.
    """
    if evicted and now >= pause.until:
        wait = min(pause.wait * 2, LONGEST_PAUSE)
        pause = replace(pause, until=now + wait, wait=wait)
        if (noticed := state.noticed.get(supply)) is not None:
            others = tuple(why for why in noticed if why is not NoActionReason.EVICTIONS_DO_NOT_HELP)
            state = replace(state, noticed={**state.noticed, supply: others})
    return state if state.pauses.get(supply) == pause else replace(state, pauses={**state.pauses, supply: pause})
