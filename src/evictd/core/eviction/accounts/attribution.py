"""Attributes the used part of a supply to its holders, and its growth to those who caused it (policy Standard).

Evicting pods does not help where the host, the kernel or a protected pod grows. So each choice names the holders of the supply
(evictable pods, protected pods, pods that leave anyway, unmeasured pods, and the rest, which belongs to no pod) and how much each
took since the supply became short.

This needs no measurement of its own: the amounts are those of `holdings`. When a threshold of the supply is first met, the lowest
holdings of about the minute before are recorded, because at the crossing itself the supply is already full. They are dropped when
no threshold is met any more, so a calm node keeps and computes nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from evictd.core.eviction.accounts.holdings import owed_by_ended
from evictd.core.eviction.accounts.ledger import SUPPLY_OF, bytes_of, is_asked_for
from evictd.core.eviction.reclaim import DEVICES, Layout, layout_of
from evictd.core.model.attribution import Attribution, Crossing, Share, growth_began
from evictd.core.model.config import EvictionConfig
from evictd.core.model.holdings import SupplyHoldings
from evictd.core.model.observation import Observation, SignalObservation, signal_observations
from evictd.core.model.signal import SIGNALS, Filesystem, Signal
from evictd.core.model.state import State, with_fields
from evictd.core.model.stats import PodStats
from evictd.core.units.duration import SECOND


def with_holdings(
    state: State, holdings: Mapping[Signal, SupplyHoldings], observation: Observation, layout: Layout
) -> State:
    """Return the state with these holdings, and a `Crossing` with the holdings at the start for each short supply."""
    short = {SUPPLY_OF[layout][threshold.signal] for threshold in state.thresholds_first_observed_at}
    if not short and not state.crossings and not state.noticed:
        return with_fields(state, holdings=holdings)
    crossings = {
        supply: _lowered(known, holdings.get(supply)) for supply, known in state.crossings.items() if supply in short
    }
    for supply in short - crossings.keys():
        if (found := holdings.get(supply)) is not None:
            crossings[supply] = _crossing(found, observation)
    noticed = {supply: reasons for supply, reasons in state.noticed.items() if supply in short}
    return with_fields(state, holdings=holdings, crossings=crossings, noticed=noticed)


def _crossing(holdings: SupplyHoldings, observation: Observation) -> Crossing:
    """Return what each holder had when its growth began within about the last minute: the lowest of that time."""
    pods, elsewhere = holdings.used, holdings.elsewhere
    lowest = (
        {**pods, **{uid: each.lowest_of_both for uid, each in holdings.growing.items()}} if holdings.growing else pods
    )
    unmeasured = (pod.uid for pod in observation.pods if pod.uid not in pods)
    levels = (*holdings.growing.values(), holdings.unmeasured, elsewhere)
    began = growth_began((level.grown, level.since) for level in levels if level is not None)
    return Crossing(
        at=min(each.since for each in (holdings, elsewhere) if each is not None) if began is None else began,
        pods=lowest,
        parts=holdings.parts,
        unmeasured_pods=frozenset(unmeasured if len(pods) < len(observation.pods) else ()),
        unmeasured=None if holdings.unmeasured is None else holdings.unmeasured.lowest_of_both,
        elsewhere=None if elsewhere is None else elsewhere.lowest_of_both,
    )


def _lowered(crossing: Crossing, holdings: SupplyHoldings | None) -> Crossing:
    level = None if holdings is None else holdings.elsewhere
    if level is None or (crossing.elsewhere is not None and crossing.elsewhere <= level.used):
        return crossing
    return replace(crossing, elsewhere=level.used)


def attribution_of(
    supply: Signal, seen: SignalObservation, observation: Observation, state: State, config: EvictionConfig, *, now: int
) -> Attribution | None:
    """Return who holds a supply as of the last reading; `None` where nothing is kept of it: a stall, policy Kubelet."""
    holdings, crossing = state.holdings.get(supply), state.crossings.get(supply)
    if holdings is None:
        return None
    outcomes = observation.outcomes
    stays = {victim.uid for victim in state.in_flight if is_asked_for(victim, state, outcomes, now)}
    ending = {victim.uid for victim in state.victims if victim.gone_at is None} - stays
    immovable = {pod.uid for pod in observation.pods if pod.critical} | config.protected_pods
    measured = [pod.uid for pod in observation.pods if pod.uid in holdings.used]
    leaving = [uid for uid in measured if uid in ending] if ending else []
    seen = _seen_of(supply, seen, observation)
    awaited = owed_by_ended(state.in_flight, observation, supply, seen, now)
    protected = [uid for uid in measured if uid in immovable and uid not in ending] if immovable else []
    grown_awaited = _grown_awaited(awaited, crossing)
    growers = (_grower(measured, observation, holdings, crossing), _ended_grower(grown_awaited, state))
    grower, grower_grown = max(growers, key=lambda each: each[1])
    others = measured
    if leaving or protected:
        others = [uid for uid in measured if uid not in ending and uid not in immovable]
    elsewhere = _elsewhere(holdings, crossing)
    return Attribution(
        signal=supply,
        used=(seen.capacity - seen.available).value(),
        over=None if crossing is None else now - crossing.at,
        evictable=_share(others, holdings, crossing),
        protected=_share(protected, holdings, crossing),
        leaving=_with_awaited(_share(leaving, holdings, crossing), awaited, grown_awaited),
        unmeasured=_unmeasured(len(observation.pods) - len(measured), holdings, crossing),
        outdated=len(holdings.last_measured.keys() & set(measured)),
        reclaimable=_reclaimable(supply, observation, layout_of(state.disks)),
        unread=_unread(seen, [observation.pod_stats.get(uid) for uid in measured], elsewhere.grown, now=now)
        if elsewhere.grown > 0 and SIGNALS[supply].filesystem is not None
        else 0,
        elsewhere=elsewhere,
        grower=grower,
        grower_grown=grower_grown,
    )


def _seen_of(supply: Signal, seen: SignalObservation, observation: Observation) -> SignalObservation:
    """Return the reading of the signal that stands for a supply, since others count the pods' part only."""
    return seen if observation.node is None else signal_observations(observation.node).get(supply, seen)


def _grown_awaited(awaited: Mapping[str, int], crossing: Crossing | None) -> Mapping[str, int]:
    """Return by uid by how much victims grew that have ended, as far as they are still to give it back."""
    if crossing is None:
        return {}
    return {
        uid: max(owed - crossing.pods.get(uid, 0), 0)
        for uid, owed in awaited.items()
        if uid not in crossing.unmeasured_pods
    }


def _with_awaited(leaving: Share, awaited: Mapping[str, int], grown: Mapping[str, int]) -> Share:
    """Return the share of the pods that leave with what those are still to give back that have ended."""
    if not awaited:
        return leaving
    return Share(
        held=(leaving.held or 0) + sum(awaited.values()),
        grown=leaving.grown + sum(grown.values()),
        pods=leaving.pods + len(awaited),
    )


def _grower(
    uids: Sequence[str], observation: Observation, holdings: SupplyHoldings, crossing: Crossing | None
) -> tuple[str, int]:
    """Return the full name and the growth of the pod that grew most since the crossing; empty and 0 where none grew."""
    if crossing is None or not uids:
        return "", 0
    grown, uid = max((grown_since(uid, holdings, crossing), uid) for uid in uids)
    names = (pod.full_name for pod in observation.pods if pod.uid == uid)
    return (next(names), grown) if grown > 0 else ("", 0)


def _ended_grower(grown: Mapping[str, int], state: State) -> tuple[str, int]:
    """Return the same of the victims that have ended, by how much they grew and are still to give back."""
    names = {victim.uid: victim.full_name for victim in state.in_flight}
    return max(((names[uid], amount) for uid, amount in grown.items()), key=lambda each: each[1], default=("", 0))


def _reclaimable(supply: Signal, observation: Observation, layout: Layout) -> int | None:
    if supply is bytes_of(DEVICES[layout][Filesystem.IMAGEFS]):
        return observation.outcomes.unused_images
    memory = None if observation.node is None else observation.node.memory
    return memory.clean_file_bytes if supply is Signal.MEMORY_AVAILABLE and memory is not None else None


_SCATTER = 4
"""By this part more than at the measured rate pods may have taken since they were read."""


def _unread(seen: SignalObservation, measured: Sequence[PodStats | None], grown: int, *, now: int) -> int:
    """Return the nanoseconds since the pods' parts on a disk were read, if all that grew elsewhere fits into them, else 0.

    The runtime reads writable layers in turns, so what a pod took after its turn seems to belong to no pod.
    """
    if not seen.fill_rate or seen.fill_rate < 0:
        return 0
    read = [each for each in measured if each is not None]
    times = [at for each in read for at in (each.disk_time, each.layers_time) if at is not None]
    age = max(now - min(times, default=now), 0)
    return age if seen.fill_rate * age * (_SCATTER + 1) >= grown * _SCATTER * SECOND else 0


def _share(uids: Sequence[str], holdings: SupplyHoldings, crossing: Crossing | None) -> Share:
    if not uids:
        return Share(held=0)
    held = sum(map(holdings.used.__getitem__, uids))
    if crossing is None:
        return Share(held=held, pods=len(uids))
    # Nearly always all pods were measured at the crossing, in the same parts.
    if crossing.parts == holdings.parts and crossing.pods.keys() >= set(uids):
        grown = held - sum(map(crossing.pods.__getitem__, uids))
    else:
        grown = sum(grown_since(uid, holdings, crossing) for uid in uids)
    return Share(held=held, grown=grown, pods=len(uids))


def grown_since(uid: str, holdings: SupplyHoldings, crossing: Crossing) -> int:
    """Return a measured pod's growth since the crossing; for a pod that started later, all that it holds.

    If other parts of it were measured than at the crossing, its growth of the last minute is returned.
    """
    used, before = holdings.used[uid], crossing.pods.get(uid)
    if before is None:
        return grown_lately(uid, holdings) if uid in crossing.unmeasured_pods else used
    same_parts = crossing.parts.get(uid, 1) == holdings.parts.get(uid, 1)
    return used - before if same_parts else grown_lately(uid, holdings)


def grown_lately(uid: str, holdings: SupplyHoldings) -> int:
    """Return a pod's growth within about the last minute."""
    known = holdings.growing.get(uid)
    return 0 if known is None else known.grown


def _unmeasured(count: int, holdings: SupplyHoldings, crossing: Crossing | None) -> Share:
    level = holdings.unmeasured
    if level is None:
        return Share(held=0 if not count else None, pods=count)
    before = None if crossing is None else crossing.unmeasured
    grown = 0 if crossing is None else level.grown if before is None else level.used - before
    return Share(held=level.used, grown=grown, pods=count)


def _elsewhere(holdings: SupplyHoldings, crossing: Crossing | None) -> Share:
    level = holdings.elsewhere
    if level is None:
        return Share(held=None)
    before = None if crossing is None else crossing.elsewhere
    grown = 0 if before is None else level.used - before
    # A disk shows freed bytes before a pod's usage is read again: meanwhile less than nothing seems to belong to no pod.
    return Share(held=level.used, grown=min(grown, level.used) if level.used > 0 else grown)
