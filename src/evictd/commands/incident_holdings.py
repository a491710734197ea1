"""Finds who holds what is short in the state of an incident, by its resource, and how fast what belongs to no pod grew."""

from collections.abc import Mapping

from evictd.core.eviction.attribution import grown_since
from evictd.core.model.holdings import MeasuredLevel, SupplyHoldings
from evictd.core.model.signal import SIGNALS, Signal
from evictd.core.model.state import State


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
