"""Attributes what is used of a supply to those who hold it, and what filled it to those who took it (policy Standard).

Evicting pods does not help where the host, the kernel or a protected pod grows. So each choice says who holds the supply: pods
that may go, protected pods, pods that leave anyway, pods that were not measured, and the rest, which belongs to no pod; and how
much each took since the supply became short.

Nothing is measured for this. The amounts are those of `holdings`. What everything held before is noted when a threshold of the
supply is first met, and dropped when none is met any more, so a calm node keeps and computes nothing. What is noted is the lowest
of about the minute before, which the holdings have: at the crossing itself what filled the supply has been taken already.
"""

from collections.abc import Iterable
from dataclasses import replace

from evictd.core.eviction.evict import is_protected
from evictd.core.eviction.ledger import supply_of
from evictd.core.eviction.reclaim import Layout
from evictd.core.model.attribution import Attribution, Crossing, Share
from evictd.core.model.config import EvictionConfig
from evictd.core.model.holdings import MeasuredLevel, SupplyHoldings
from evictd.core.model.observation import Observation, SignalObservation
from evictd.core.model.pod import Pod
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
        at=min((each.since for each in (*holdings.pods.values(), elsewhere) if each is not None), default=now),
        pods={uid: _lowest(each) for uid, each in holdings.pods.items()},
        parts={uid: each.parts for uid, each in holdings.pods.items() if each.parts != 1},
        unmeasured_pods=frozenset(pod.uid for pod in observation.pods if pod.uid not in holdings.pods),
        unmeasured=None if holdings.unmeasured is None else _lowest(holdings.unmeasured),
        elsewhere=None if elsewhere is None else _lowest(elsewhere),
    )


def _lowered(crossing: Crossing, holdings: SupplyHoldings | None) -> Crossing:
    level = None if holdings is None else holdings.elsewhere
    if level is None or (crossing.elsewhere is not None and crossing.elsewhere <= level.used):
        return crossing
    return replace(crossing, elsewhere=level.used)


def _lowest(level: MeasuredLevel) -> int:
    return level.used - level.grown


def attribution_of(
    supply: Signal, seen: SignalObservation, observation: Observation, state: State, config: EvictionConfig, *, now: int
) -> Attribution | None:
    """Return who holds a supply as of the last reading; `None` where nothing is kept of it: a stall, policy Kubelet."""
    holdings, crossing = state.holdings.get(supply), state.crossings.get(supply)
    if holdings is None:
        return None
    ending = {victim.uid for victim in (*state.in_flight, *state.leaving) if victim.gone_at is None}
    kinds: dict[str, list[Pod]] = {"evictable": [], "protected": [], "leaving": [], "unmeasured": []}
    for pod in observation.pods:
        if pod.uid not in holdings.pods:
            kinds["unmeasured"].append(pod)
        elif pod.uid in ending:
            kinds["leaving"].append(pod)
        else:
            kinds["protected" if is_protected(pod, config) else "evictable"].append(pod)
    return Attribution(
        signal=supply,
        used=(seen.capacity - seen.available).value(),
        over=None if crossing is None else now - crossing.at,
        evictable=_share(kinds["evictable"], holdings, crossing),
        protected=_share(kinds["protected"], holdings, crossing),
        leaving=_share(kinds["leaving"], holdings, crossing),
        unmeasured=_unmeasured(len(kinds["unmeasured"]), holdings, crossing),
        reclaimable=_reclaimable(supply, observation),
        elsewhere=_elsewhere(holdings, crossing),
    )


def _reclaimable(supply: Signal, observation: Observation) -> int | None:
    memory = None if observation.node is None else observation.node.memory
    return memory.clean_file_bytes if supply is Signal.MEMORY_AVAILABLE and memory is not None else None


def _share(pods: Iterable[Pod], holdings: SupplyHoldings, crossing: Crossing | None) -> Share:
    held = grown = count = 0
    for pod in pods:
        level = holdings.pods[pod.uid]
        held, count = held + level.used, count + 1
        if crossing is not None:
            grown += _grown(pod.uid, level, crossing)
    return Share(held=held, grown=grown, pods=count)


def _grown(uid: str, level: MeasuredLevel, crossing: Crossing) -> int:
    """Return by how much a pod grew since the crossing; a pod that started later grew by all that it holds.

    If other parts of it were measured than at the crossing, its growth of the last minute is returned.
    """
    if uid in crossing.unmeasured_pods or (uid in crossing.pods and crossing.parts.get(uid, 1) != level.parts):
        return level.grown
    return level.used - crossing.pods.get(uid, 0)


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
