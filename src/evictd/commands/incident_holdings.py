"""Finds who holds what is short in the state of an incident, by its resource."""

from evictd.core.model.holdings import SupplyHoldings
from evictd.core.model.signal import SIGNALS, Signal
from evictd.core.model.state import State


def holdings_of(state: State, signal: Signal) -> SupplyHoldings | None:
    """Return who holds the supply of the signal's resource; `None` where that was not kept."""
    resource = SIGNALS[signal].resource
    return next((each for key, each in state.holdings.items() if SIGNALS[key].resource is resource), None)
