"""Attributes the used part of a supply to its holders, and its growth to those who caused it (policy Standard).

Evicting pods does not help where the host, the kernel or a protected pod grows. So each choice names the holders of the supply
(evictable pods, protected pods, pods that leave anyway, unmeasured pods, and the rest, which belongs to no pod) and how much each
took since the supply became short.

This needs no measurement of its own: the amounts are those of `holdings`. When a threshold of the supply is first met, the lowest
holdings of about the minute before are recorded, because at the crossing itself the supply is already full. They are dropped when
no threshold is met any more, so a calm node keeps and computes nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import repeat

from evictd.core.eviction.ledger import bytes_of, supply_of
from evictd.core.eviction.reclaim import DEVICES, Layout, layout_of
from evictd.core.model.attribution import Attribution, Crossing, Share
from evictd.core.model.config import EvictionConfig
from evictd.core.model.holdings import (
    PARTS_OF,
    SINCE_OF,
    MeasuredLevel,
    SupplyHoldings,
)
from evictd.core.model.observation import Filesystems, Observation, SignalObservation
from evictd.core.model.signal import Filesystem, Signal
from evictd.core.model.state import State, with_fields


def with_holdings(
    state: State, holdings: Mapping[Signal, SupplyHoldings], observation: Observation, layout: Layout, now: int
) -> State:
    """Return the state with these holdings, and a `Crossing` with the holdings at the start for each short supply."""
    short = {supply_of(threshold.signal, layout) for threshold in state.thresholds_first_observed_at}
    if not short and not state.crossings and not state.noticed:
        return with_fields(state, holdings=holdings)
    crossings = {
        supply: _lowered(known, holdings.get(supply)) for supply, known in state.crossings.items() if supply in short
    }
    for supply in short - crossings.keys():
        if (found := holdings.get(supply)) is not None:
            crossings[supply] = _crossing(found, observation, now)
    noticed = {supply: reasons for supply, reasons in state.noticed.items() if supply in short}
    return with_fields(state, holdings=holdings, crossings=crossings, noticed=noticed)


def _crossing(holdings: SupplyHoldings, observation: Observation, now: int) -> Crossing:
    pods, elsewhere = holdings.pods, holdings.elsewhere
    levels = [*pods.values(), *(() if elsewhere is None else (elsewhere,))]
    lowest = holdings.held
    if holdings.growing:
        lowest = {**lowest, **{uid: each.lowest_of_both for uid, each in holdings.growing.items()}}
    unmeasured = (pod.uid for pod in observation.pods if pod.uid not in pods)
    return Crossing(
        at=min(map(SINCE_OF, levels), default=now),
        pods=lowest,
        parts={uid: parts for uid, parts in zip(pods, map(PARTS_OF, pods.values()), strict=True) if parts != 1},
        unmeasured_pods=frozenset(unmeasured if len(pods) < len(observation.pods) else ()),
        unmeasured=None if holdings.unmeasured is None else holdings.unmeasured.lowest_of_both,
        elsewhere=None if elsewhere is None else elsewhere.lowest_of_both,
    )


def _has_parts(levels: Iterable[MeasuredLevel]) -> bool:
    """Whether any amount is the sum of several numbers, as those of disks are."""
    return not set(map(PARTS_OF, levels)) <= {1}


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
    ending = {victim.uid for victim in (*state.in_flight, *state.leaving) if victim.gone_at is None}
    immovable = {pod.uid for pod in observation.pods if pod.critical} | config.protected_pods
    measured = [pod.uid for pod in observation.pods if pod.uid in holdings.pods]
    leaving = [uid for uid in measured if uid in ending] if ending else []
    protected = [uid for uid in measured if uid in immovable and uid not in ending] if immovable else []
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
        reclaimable=_reclaimable(supply, observation, layout_of(state.filesystems or Filesystems())),
        elsewhere=_elsewhere(holdings, crossing),
    )


def _reclaimable(supply: Signal, observation: Observation, layout: Layout) -> int | None:
    if supply is bytes_of(DEVICES[layout][Filesystem.IMAGEFS]):
        return observation.outcomes.unused_images
    memory = None if observation.node is None else observation.node.memory
    return memory.clean_file_bytes if supply is Signal.MEMORY_AVAILABLE and memory is not None else None


def _share(uids: Sequence[str], holdings: SupplyHoldings, crossing: Crossing | None) -> Share:
    if not uids:
        return Share(held=0)
    held = sum(map(holdings.held.__getitem__, uids))
    if crossing is None:
        return Share(held=held, pods=len(uids))
    before, levels = [*map(crossing.pods.get, uids)], [*map(holdings.pods.__getitem__, uids)]
    # Nearly always all pods were measured at the crossing, in the same parts.
    if None not in before and _same_parts(uids, levels, crossing):
        grown = held - sum(filter(None, before))
    else:
        grown = sum(map(grown_since, uids, levels, repeat(crossing)))
    return Share(held=held, grown=grown, pods=len(uids))


def _same_parts(uids: Sequence[str], levels: Sequence[MeasuredLevel], crossing: Crossing) -> bool:
    if not crossing.parts:
        return not _has_parts(levels)
    return [*map(crossing.parts.get, uids, repeat(1))] == [*map(PARTS_OF, levels)]


def grown_since(uid: str, level: MeasuredLevel, crossing: Crossing) -> int:
    """Return a pod's growth since the crossing; for a pod that started later, all that it holds.

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
