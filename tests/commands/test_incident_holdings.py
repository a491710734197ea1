"""Who holds what is short, by the resource of a signal."""

from evictd.commands.incident_holdings import grown_since_crossing, growth_outside, holdings_of
from evictd.core.model.holdings import MeasuredLevel, SupplyHoldings
from evictd.core.model.signal import Signal
from evictd.core.model.state import State


def test_a_signal_has_the_holdings_of_its_resource() -> None:
    """What is left for pods of memory is of the supply of the node's memory."""
    held = SupplyHoldings(at=0, used={"a": 1}, lowest={}, lowest_before={})
    state = State(holdings={Signal.MEMORY_AVAILABLE: held})
    assert holdings_of(state, Signal.ALLOCATABLE_MEMORY_AVAILABLE) is held
    assert holdings_of(state, Signal.PID_AVAILABLE) is None
    assert grown_since_crossing(state, Signal.MEMORY_AVAILABLE) == {}, "it was never short"


def test_the_rest_did_not_grow_from_less_than_nothing() -> None:
    """A pod that ended gave back more than was measured of it, and the rest "grew" by as much when that was read."""
    rest = MeasuredLevel(at=60, used=10, begun=30, lowest=10, lowest_before=-650, since=0)
    outside = growth_outside(SupplyHoldings(elsewhere=rest))
    assert outside is not None
    assert (outside.grown, outside.since) == (10, 0)
    for other in (None, rest._replace(used=-5), rest._replace(lowest_before=5)):
        assert growth_outside(SupplyHoldings(elsewhere=other)) == other, "the other is known no better"
