"""Keeps who holds each supply and how much of it grew within the last minute (policy Standard).

An eviction helps if the pod holds what is missing, and goes on helping if what grows is a pod. Both need more than one reading:

* A pod that could not be measured in the cycle that decides counts with what it was measured to hold within the last minute, as a
  lower bound. Else one failed read makes an innocent pod go in its place, or hides the pod that grows.
* Growth is the rise above the lowest amount of the last minute, for each pod and for what no pod holds. Of that minute only the
  lowest of two halves is kept, not a history: a restart, a journal record and a state file carry a few numbers. A pod that takes
  and releases the same memory again and again grew at most by that, and a collection of images does not hide the writer that
  goes on behind it. A pod's first measurement is an arrival, not growth. What is used up cannot grow: the time in which nothing
  is left is left out, so that what took all of it does not seem to have ended.

What the pods hold that were not measured within the last minute is the pods' cgroup less the measured ones, where that cgroup was
read (memory). One such pod alone is thereby measured. A pod of which nothing runs yet is none of them: what a removed pod leaves
there, as its page cache, would count as held by the pod whose image is being pulled.

What belongs to no pod is the used amount less all of these, and less what victims that have ended are still to give back.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypedDict

from evictd.core.eviction.accounts.ledger import SUPPLY_OF, amounts_owed, supplies_of
from evictd.core.eviction.accounts.release import supply_released_at
from evictd.core.eviction.rank import NOTHING_REMEMBERED, Measure, usage_measure
from evictd.core.eviction.reclaim import Layout
from evictd.core.model.holdings import MeasuredLevel, SupplyHoldings
from evictd.core.model.observation import Observation, SignalObservation
from evictd.core.model.signal import SIGNALS, STALLS, Signal
from evictd.core.model.state import State, Victim
from evictd.core.model.threshold import Threshold, limit_of
from evictd.core.units.duration import MINUTE, SECOND
from evictd.core.units.quantity import NANO

HALF = 30 * SECOND
WINDOW = 2 * HALF
"""How long a measurement counts, and the time over which growth is measured: six cycles of a calm node. In a
shorter time a compaction or a garbage collection looks like a leak; in a longer one a writer that has ended is still seen."""
_NEAR_PART = 4
"""A disk is followed while no more than a quarter of it lies between what is left and a threshold: at 200 MiB/s half a minute of
a small disk of 20 GiB. Volumes are walked from a tenth on (`freshness`)."""
NEAR_TIME = 10 * MINUTE
"""A disk is also near a threshold that it will cross within this time at the measured rate: it is followed, and pods are walked.
Else a pod that fills a small disk in seconds would count as one that has just come when it is over the threshold."""
_USED_UP_PART = 1000
"""A supply of which a thousandth is left is used up: a writer is refused larger blocks before the last one is taken. The
incidents do not depend on this value, nor on the next one."""
USED_UP_TIME = 10 * MINUTE
"""How long after its crossing the growth of a supply that is used up counts as going on. A writer may have ended by then."""
ELSEWHERE = 2
"""Growth elsewhere that is twice the pods' is the cause; less may be their page cache (with 1 or 4 no incident ends
differently)."""


def follow_holdings(
    state: State,
    observation: Observation,
    observations: Mapping[Signal, SignalObservation],
    thresholds: Iterable[Threshold],
    *,
    layout: Layout,
    now: int,
) -> Mapping[Signal, SupplyHoldings]:
    """Return the holdings of every supply that has a threshold as of this reading; `state` has those of the one before.

    A supply that was not read keeps its last holdings for `WINDOW`, and so does a disk that is far from all its thresholds:
    nothing is decided about it, its volumes are not walked, and all that is known of it begins anew when they are.
    """
    thresholds, supply_of = tuple(thresholds), SUPPLY_OF[layout]
    watched = supplies_of(thresholds, layout) - STALLS.keys()
    found = {supply: known for supply, known in state.holdings.items() if supply in watched and _is_recent(known, now)}
    done = set[Signal]()
    for threshold in thresholds:
        supply, seen = supply_of[threshold.signal], observations.get(threshold.signal)
        if seen is not None and supply in watched and supply not in done and _is_near(threshold, seen):
            done.add(supply)
            seen = _seen_of(supply, observations, layout)
            found[supply] = _read(supply, seen, state, observation, layout=layout, now=now)
    return found


def _seen_of(supply: Signal, observations: Mapping[Signal, SignalObservation], layout: Layout) -> SignalObservation:
    """Return the reading of a supply: that of its first signal, or of another one where that was not read."""
    if (seen := observations.get(supply)) is not None:
        return seen
    return [seen for signal, seen in observations.items() if SUPPLY_OF[layout][signal] is supply][-1]


def summed_on_disk(state: State, layout: Layout, now: int) -> Mapping[str, int]:
    """Return by uid what pods use of the only disk as measured now, all parts together; empty where there are two disks."""
    holdings = state.holdings.get(Signal.NODEFS_AVAILABLE) if layout is Layout.SINGLE else None
    return {} if holdings is None else holdings.measured_at(now)


def _is_near(threshold: Threshold, seen: SignalObservation) -> bool:
    """Whether a threshold may soon be due; one of another resource than a disk always may."""
    if SIGNALS[threshold.signal].filesystem is None:
        return True
    limit = limit_of(threshold, seen, with_min_reclaim=True)
    distance = seen.available.nano - limit.nano
    return distance * _NEAR_PART <= seen.capacity.nano or distance <= (seen.fill_rate or 0) * NANO * NEAR_TIME // SECOND


def _is_recent(holdings: SupplyHoldings, now: int) -> bool:
    return now - holdings.at < WINDOW


def _read(
    supply: Signal, seen: SignalObservation, state: State, observation: Observation, *, layout: Layout, now: int
) -> SupplyHoldings:
    """Return who holds a supply as of this reading.

    What belongs to no pod (`elsewhere`) is the used amount less what pods were measured to hold, less the rest of the pods'
    cgroup (the pods that were not measured), and less what victims that have ended still owe. Around the end of a victim these
    are read at slightly different times; `_gone_with_cgroup` and `_given_back` keep that from showing as growth.
    """
    before = _as_while_growing(state.holdings.get(supply, NOTHING_REMEMBERED), supply, seen, state, now)
    used, parts, last_measured = _measured_pods(observation, usage_measure(supply, layout), before, now)
    measured = sum(used.values())
    unmeasured = _unmeasured(observation, used) if len(used) < len(observation.pods) else []
    unread = unmeasured or _read_as_rest(state, observation, parts, last_measured)
    others = measured - sum(used.get(uid, 0) for uid in unread)
    rest = rest_of_cgroup(supply, observation, others) if unread else None
    if rest is not None and len(unread) == 1:
        used[unread[0]], parts[unread[0]] = rest, 0
        last_measured.pop(unread[0], None)
        measured, rest = others + rest, None
    owed = sum(owed_by_ended(state.in_flight, observation, supply, seen, now).values())
    remembered = sum([used[uid] for uid in last_measured])
    counted = measured - _gone_with_cgroup(supply, observation, measured, remembered)
    elsewhere = seen.capacity.value() - seen.available.value() - counted - (rest or 0) - owed
    elsewhere += _given_back(state, used, owed, before.elsewhere, elsewhere)
    halves = _halves(before, used, parts, now)
    lowest, lowest_before = halves["lowest"], halves["lowest_before"]
    critical = [pod.uid for pod in observation.pods if pod.critical and pod.uid in used]
    return SupplyHoldings(
        at=now,
        used=used,
        parts=parts,
        last_measured=last_measured,
        unmeasured=None if rest is None else level(before.unmeasured, rest, now),
        elsewhere=level(before.elsewhere, elsewhere, now),
        grown_critical=sum([used[uid] - min(lowest[uid], lowest_before[uid]) for uid in critical]),
        **halves,
    )


def _as_while_growing(
    before: SupplyHoldings, supply: Signal, seen: SignalObservation, state: State, now: int
) -> SupplyHoldings:
    """Return the holdings with the time left out in which nothing of a supply was left to be taken.

    What is used up does not grow any more, and what took it all would seem to have ended. Within `USED_UP_TIME` after the supply
    became short or a pod was last evicted for it, the growth of the minute before stands. Of memory too: while the kernel can
    drop page cache it kills nothing, and nothing is left for minutes.
    """
    crossing = state.crossings.get(supply)
    if crossing is None or not is_used_up(seen):
        return before
    last_change = max([crossing.at, *(each.chosen_at for each in state.effects.get(supply, ()))])
    if now - last_change >= USED_UP_TIME:
        return before
    return before.without_time(now - before.at)


def _measured_pods(
    observation: Observation, measure: Measure, before: SupplyHoldings, now: int
) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Return what each active pod holds, of how many parts, and when it was measured if that was not in this reading.

    A measurement of the last minute counts where the pod is not measured now, or less of it and no more was found.
    """
    used, parts = measure(observation.pods, observation.pod_stats)
    last_measured: dict[str, int] = {}
    known, old = before.used, before.parts
    unread = [pod.uid for pod in observation.pods if pod.uid not in used] if len(used) < len(observation.pods) else []
    less = []
    if parts != old:
        less = [uid for uid in used if parts.get(uid, 1) < old.get(uid, 1) and used[uid] <= known.get(uid, 0)]
    for uid in (*unread, *less):
        at = before.last_measured.get(uid, before.at)
        if uid in known and at > now - WINDOW:
            used[uid], parts[uid], last_measured[uid] = known[uid], old.get(uid, 1), at
    return used, parts, last_measured


def _read_as_rest(
    state: State, observation: Observation, parts: Mapping[str, int], last_measured: Mapping[str, int]
) -> list[str]:
    """Return the uid of the only pod not measured now, if it counted with the rest of the pods' cgroup before; else none.

    That is read anew in each cycle. Not while pods end, whose memory the cgroup may hold for a moment longer than they are known.
    """
    ends = state.victims or any(each.runs for each in observation.removed_pods.values())
    return [] if ends or len(last_measured) != 1 else [uid for uid in last_measured if parts.get(uid) == 0]


class _Halves(TypedDict):
    """The fields of `SupplyHoldings` about the two halves of about the last minute."""

    begun: int
    lowest: Mapping[str, int]
    lowest_before: Mapping[str, int]
    since: int
    arrived: Mapping[str, int]


def _halves(before: SupplyHoldings, used: Mapping[str, int], parts: Mapping[str, int], now: int) -> _Halves:
    """Return the lowest amounts of each half; of a reading older than `WINDOW` the mean growth over one `WINDOW` counts."""
    if not before.used:
        return {"begun": now, "lowest": used, "lowest_before": used, "since": now, "arrived": {}}
    new = used.keys() - before.used.keys()
    if parts != before.parts:
        new |= {uid for uid in parts.keys() | before.parts.keys() if parts.get(uid, 1) != before.parts.get(uid, 1)}
        new &= used.keys()

    def kept(amounts: Mapping[str, int]) -> Mapping[str, int]:
        if not new and len(amounts) == len(used):
            return amounts
        return {uid: amount if uid in new else amounts[uid] for uid, amount in used.items()}

    begun, since = now, before.begun
    lowest, lowest_before = used, used
    if (absent := now - before.at) >= WINDOW:
        last, since = kept(before.used), now - WINDOW
        lowest_before = {uid: amount - (amount - last[uid]) * WINDOW // absent for uid, amount in used.items()}
    elif now - before.begun >= HALF:
        lowest_before = kept(before.lowest)
    else:
        begun, since, last = before.begun, before.since, kept(before.lowest)
        lowest_before = kept(before.lowest_before)
        fell = {uid: amount for uid, amount in used.items() if amount < last[uid]}
        lowest = {**last, **fell} if fell else last
    arrived = {uid: at for uid, at in before.arrived.items() if at > since and uid in used} | dict.fromkeys(new, now)
    return {"begun": begun, "lowest": lowest, "lowest_before": lowest_before, "since": since, "arrived": arrived}


def level(last: MeasuredLevel | None, used: int, now: int) -> MeasuredLevel:
    """Return an amount as measured now. If the last measurement is older than `WINDOW`, growth is its mean over one `WINDOW`."""
    if last is None:
        return MeasuredLevel(now, used, now, used, used, now)
    at, last_used, begun, lowest, lowest_before, since = last
    if now - at >= WINDOW:
        before = used - (used - last_used) * WINDOW // (now - at)
        return MeasuredLevel(now, used, now, used, before, now - WINDOW)
    if now - begun >= HALF:
        return MeasuredLevel(now, used, now, used, min(lowest, last_used), begun)
    return MeasuredLevel(now, used, begun, min(lowest, used), lowest_before, since)


def _unmeasured(observation: Observation, used: Mapping[str, int]) -> list[str]:
    """Return the uids of the pods that may hold something and were not measured."""
    return [pod.uid for pod in observation.pods if pod.uid not in used and not observation.runs_nothing(pod)]


def rest_of_cgroup(supply: Signal, observation: Observation, measured: int) -> int | None:
    """Return what the pods' cgroup holds beyond the measured pods; None if it was not read."""
    if observation.node is None or supply is not Signal.MEMORY_AVAILABLE:
        return None
    cgroup = observation.node.pods_memory
    if cgroup is None or cgroup.working_set_bytes is None:
        return None
    return max(0, cgroup.working_set_bytes - measured)


def _gone_with_cgroup(supply: Signal, observation: Observation, measured: int, remembered: int) -> int:
    """Return what of the pods' earlier measurements (`remembered`) the pods' cgroup does not hold any more.

    The memory of a victim is free a moment before the pod is known to be gone. Counted on, it would make all else seem to shrink
    and then to grow.
    """
    cgroup = None if observation.node is None else observation.node.pods_memory
    if supply is not Signal.MEMORY_AVAILABLE or cgroup is None or cgroup.working_set_bytes is None or not remembered:
        return 0
    of_cgroup = cgroup.working_set_bytes - (measured - remembered)
    return max(0, remembered - max(of_cgroup, 0))


def _given_back(state: State, pods: Mapping[str, int], owed: int, before: MeasuredLevel | None, elsewhere: int) -> int:
    """Return what victims gave back already of what they were measured to hold or still owe, by how far `elsewhere` fell.

    A victim's volumes are emptied a moment before the pod is known to be gone, and its memory is freed while node and pods are
    read. What an ended victim owes is known by how much became available, which other pods take at the same time. Counted on, it
    would make all else seem to shrink and then to grow, by as much as the victim held, so that after two such pods evictions
    would pause.
    """
    if before is None or not state.in_flight:
        return 0
    leaving = sum(pods[each.uid] for each in state.in_flight if each.gone_at is None and each.uid in pods)
    return min(leaving + owed, max(before.used - elsewhere, 0))


def owed_by_ended(
    victims: tuple[Victim, ...], observation: Observation, supply: Signal, seen: SignalObservation, now: int
) -> Mapping[str, int]:
    """Return by uid what victims that have ended are still to give back of a supply; `seen` is the reading of it.

    One that is listed no more has ended also while its clean-up is not known to be complete: it counts as gone now.
    """
    if not victims:
        return {}
    listed = {pod.uid for pod in observation.pods}
    absent = {victim.uid for victim in victims if victim.gone_at is None} - listed
    seen_gone = (replace(victim, gone_at=now) if victim.uid in absent else victim for victim in victims)
    ended = [victim for victim in seen_gone if supply_released_at(victim, supply) is not None]
    owed = amounts_owed(ended, supply, seen.available.value(), now)
    return {uid: amount for uid, amount in owed.items() if amount}


def growth_of_pods(holdings: SupplyHoldings) -> int:
    """Return by how much all pods together grew within about the last minute."""
    return sum([level.grown for level in _grown(holdings)])


def _grown(holdings: SupplyHoldings) -> list[MeasuredLevel]:
    """Return the levels of the pods that grew, and of those that were not measured together."""
    unmeasured = () if holdings.unmeasured is None else (holdings.unmeasured,)
    return [*holdings.growing.values(), *unmeasured]


def growth_elsewhere(holdings: SupplyHoldings) -> int:
    """Return by how much the use that belongs to no pod grew within about the last minute."""
    return 0 if holdings.elsewhere is None else holdings.elsewhere.grown


def is_used_up(seen: SignalObservation) -> bool:
    """Whether nothing of a supply is left to be taken."""
    return seen.available.nano * _USED_UP_PART <= seen.capacity.nano


def grows_elsewhere(holdings: SupplyHoldings | None) -> bool:
    """Whether what no eviction ends goes on to grow more than twice as much as the pods that may go."""
    if holdings is None:
        return False
    return growth_without_end(holdings) > ELSEWHERE * (growth_of_pods(holdings) - holdings.grown_critical)


def growth_without_end(holdings: SupplyHoldings) -> int:
    """Return the growth of what belongs to no pod, and of the pods that are never evicted."""
    return max(growth_elsewhere(holdings), 0) + holdings.grown_critical


def growth_rate(holdings: SupplyHoldings, seen: SignalObservation) -> int:
    """Return units per second: as measured a moment ago, or the mean of the last minute."""
    return max(seen.fill_rate or 0, known_rate(holdings))


def known_rate(holdings: SupplyHoldings) -> int:
    """Return units per second by which measured pods and what belongs to no pod grew, as the mean of about the last minute."""
    elsewhere = 0 if holdings.elsewhere is None else holdings.elsewhere.rate
    return sum(each.rate for each in _grown(holdings)) + elsewhere
