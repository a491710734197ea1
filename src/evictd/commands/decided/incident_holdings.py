"""Reads who held what was short in the state after the cycle of an eviction: pods, their owner, arrivals, and the rest."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from evictd.core.eviction.accounts.attribution import grown_since
from evictd.core.model.holdings import MeasuredLevel, SupplyHoldings
from evictd.core.model.pod import Pod
from evictd.core.model.signal import SIGNALS, Signal
from evictd.core.model.state import State
from evictd.render.incident.record.arrivals import NewPods
from evictd.render.text import clean

_NEARLY = 10
"""The owner's pods took all but this part of what pods took."""
_FEWEST = 2
"""Fewest pods that grew: of one pod its name says more."""


def holdings_of(state: State, signal: Signal) -> SupplyHoldings | None:
    """Return who holds the supply of the signal's resource; `None` where that was not kept."""
    resource = SIGNALS[signal].resource
    return next((each for key, each in state.holdings.items() if SIGNALS[key].resource is resource), None)


def growth_outside(held: SupplyHoldings) -> MeasuredLevel | None:
    """Return what belongs to no pod, which was never less than nothing where it holds something; `None` where it was never read.

    A pod that ends gives back also what it took since it was measured: the rest seems negative for a moment, and to grow later.
    """
    rest = held.elsewhere
    if rest is None or rest.used <= 0 or rest.lowest_of_both >= 0:
        return rest
    return rest._replace(lowest=max(rest.lowest, 0), lowest_before=max(rest.lowest_before, 0))


def grown_since_crossing(state: State, signal: Signal) -> Mapping[str, int]:
    """Return by uid how much pods grew since the supply of the signal's resource became short; empty where that was not kept."""
    resource = SIGNALS[signal].resource
    supply = next((key for key in state.crossings if SIGNALS[key].resource is resource), None)
    if supply is None or (held := state.holdings.get(supply)) is None:
        return {}
    return {uid: grown_since(uid, held, state.crossings[supply]) for uid in held.used}


def filling_owner(pods: Iterable[Pod], state: State | None, signal: Signal | None) -> str:
    """Return `Kind/name` of the owner whose pods took nearly all since the supply became short; empty where there is none."""
    if signal is None or state is None:
        return ""
    grown = grown_since_crossing(state, signal)
    of_owner: dict[tuple[str, str], list[int]] = {}
    for pod in pods:
        if grown.get(pod.uid, 0) > 0:
            of_owner.setdefault((pod.namespace, pod.owner), []).append(grown[pod.uid])
    (_, owner), amounts = max(of_owner.items(), key=lambda each: sum(each[1]), default=(("", ""), [0]))
    whole = sum(sum(each) for each in of_owner.values())
    return clean(owner) if len(amounts) >= _FEWEST and (whole - sum(amounts)) * _NEARLY <= whole else ""


def with_arrivals_before(known: NewPods, now: int, state: State | None, signal: Signal | None) -> NewPods:
    """Return the arrivals with those before the eviction, and what they held of what was short."""
    if signal is None or state is None or (held := holdings_of(state, signal)) is None:
        return known
    amount = sum(held.used.get(uid, 0) for uid in held.arrived)
    return replace(known, before=len(held.arrived), over=now - held.since, held=amount)
