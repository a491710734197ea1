"""Attributes what is used of a supply to those who hold it, and what filled it to those who took it (policy Standard).

Evicting pods does not help where the host, the kernel or a protected pod grows. So each choice says who holds the supply: pods
that may go, protected pods, pods that leave anyway, pods that were not measured, and the rest, which belongs to no pod; and how
much each took since the supply became short.

Nothing is measured for this. The amounts are those of `holdings`. What everything held before is noted when a threshold of the
supply is first met, and dropped when none is met any more, so a calm node keeps and computes nothing. What is noted is the lowest
of about the minute before, which the holdings have: at the crossing itself what filled the supply has been taken already.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import repeat

from evictd.core.eviction.ledger import supply_of
from evictd.core.eviction.reclaim import Layout
from evictd.core.model.attribution import Attribution, Crossing, Share
from evictd.core.model.config import EvictionConfig
from evictd.core.model.holdings import MeasuredLevel, SupplyHoldings
from evictd.core.model.observation import Observation, SignalObservation
from evictd.core.model.signal import Signal
from evictd.core.model.state import State


def with_crossings(state: State, observation: Observation, layout: Layout, now: int) -> State:
    """Return the state with a `Crossing` for each supply that is short: what each holder had when the shortage began."""
    short = {supply_of(threshold.signal, layout) for threshold in state.thresholds_first_observed_at}
    if not short and not state.crossings and not state.noticed:
        return state
    crossings = {
        supply: _lowered(known, state.holdings.get(supply))
        for supply, known in state.crossings.items()
        if supply in short
    }
    for supply in short - crossings.keys():
        if (holdings := state.holdings.get(supply)) is not None:
            crossings[supply] = _crossing(holdings, observation, now)
    noticed = {supply: reasons for supply, reasons in state.noticed.items() if supply in short}
    return replace(state, crossings=crossings, noticed=noticed)


def _crossing(holdings: SupplyHoldings, observation: Observation, now: int) -> Crossing:
    elsewhere = holdings.elsewhere
    return Crossing(
        at=min([each.since for each in (*holdings.pods.values(), elsewhere) if each is not None], default=now),
        pods={uid: min(each.lowest, each.lowest_before) for uid, each in holdings.pods.items()},
        parts={uid: each.parts for uid, each in holdings.pods.items() if each.parts != 1},
        unmeasured_pods=frozenset({pod.uid for pod in observation.pods} - holdings.pods.keys()),
        unmeasured=None if holdings.unmeasured is None else _lowest(holdings.unmeasured),
        elsewhere=None if elsewhere is None else _lowest(elsewhere),
    )


def _lowered(crossing: Crossing, holdings: SupplyHoldings | None) -> Crossing:
    level = None if holdings is None else holdings.elsewhere
    if level is None or (crossing.elsewhere is not None and crossing.elsewhere <= level.used):
        return crossing
    return replace(crossing, elsewhere=level.used)


def _lowest(level: MeasuredLevel) -> int:
    return min(level.lowest, level.lowest_before)


def attribution_of(
    supply: Signal, seen: SignalObservation, observation: Observation, state: State, config: EvictionConfig, *, now: int
) -> Attribution | None:
    """Return who holds a supply as of the last reading; `None` where nothing is kept of it: a stall, policy Kubelet."""
    holdings, crossing = state.holdings.get(supply), state.crossings.get(supply)
    if holdings is None:
        return None
    ending = {victim.uid for victim in (*state.in_flight, *state.leaving) if victim.gone_at is None}
    immovable = {pod.uid for pod in observation.pods if pod.critical} | config.protected_pods
    measured = [pod.uid for pod in observation.pods if pod.uid in holdings.pods]
    leaving = [uid for uid in measured if uid in ending]
    protected = [uid for uid in measured if uid in immovable and uid not in ending]
    others = measured
    if leaving or protected:
        others = [uid for uid in measured if uid not in ending and uid not in immovable]
    return Attribution(
        signal=supply,
        used=(seen.capacity - seen.available).value(),
        over=None if crossing is None else now - crossing.at,
        evictable=_share(others, holdings, crossing),
        protected=_share(protected, holdings, crossing),
        leaving=_share(leaving, holdings, crossing),
        unmeasured=_unmeasured(len(observation.pods) - len(measured), holdings, crossing),
        reclaimable=_reclaimable(supply, observation),
        elsewhere=_elsewhere(holdings, crossing),
    )


def _reclaimable(supply: Signal, observation: Observation) -> int | None:
    memory = None if observation.node is None else observation.node.memory
    return memory.clean_file_bytes if supply is Signal.MEMORY_AVAILABLE and memory is not None else None


def _share(uids: Sequence[str], holdings: SupplyHoldings, crossing: Crossing | None) -> Share:
    levels = [holdings.pods[uid] for uid in uids]
    grown = 0 if crossing is None else sum(map(grown_since, uids, levels, repeat(crossing)))
    return Share(held=sum([level.used for level in levels]), grown=grown, pods=len(uids))


def grown_since(uid: str, level: MeasuredLevel, crossing: Crossing) -> int:
    """Return by how much a pod grew since the crossing; a pod that started later grew by all that it holds.

    If other parts of it were measured than at the crossing, its growth of the last minute is returned.
    """
    before = crossing.pods.get(uid)
    if before is None:
        return level.grown if uid in crossing.unmeasured_pods else level.used
    return level.used - before if crossing.parts.get(uid, 1) == level.parts else level.grown


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
    return Share(held=level.used, grown=0 if before is None else level.used - before)
