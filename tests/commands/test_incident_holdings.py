"""Who holds what is short, by the resource of a signal."""

from evictd.commands.incident_holdings import grown_since_crossing, holdings_of
from evictd.core.model.holdings import SupplyHoldings
from evictd.core.model.signal import Signal
from evictd.core.model.state import State


def test_a_signal_has_the_holdings_of_its_resource() -> None:
    """What is left for pods of memory is of the supply of the node's memory."""
    held = SupplyHoldings(at=0, used={"a": 1}, lowest={}, lowest_before={})
    state = State(holdings={Signal.MEMORY_AVAILABLE: held})
    assert holdings_of(state, Signal.ALLOCATABLE_MEMORY_AVAILABLE) is held
    assert holdings_of(state, Signal.PID_AVAILABLE) is None
    assert grown_since_crossing(state, Signal.MEMORY_AVAILABLE) == {}, "it was never short"
