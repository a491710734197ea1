"""A state on another time axis."""

from evictd.core.model.attribution import Crossing
from evictd.core.model.holdings import MeasuredLevel, SupplyHoldings
from evictd.core.model.observation import SignalObservation
from evictd.core.model.signal import Signal
from evictd.core.model.state import State, Victim
from evictd.core.model.state_times import TIMES, moved_in_time
from evictd.core.units.quantity import of_bytes

MEMORY = Signal.MEMORY_AVAILABLE


def test_every_time_is_later_and_every_amount_stays() -> None:
    state = State(
        in_flight=(Victim(uid="a", chosen_at=3, since=4, until=5, grace_period_seconds=6, freed=7),),
        holdings={
            MEMORY: SupplyHoldings(at=1, used={"a": 2}, arrived={"a": 3}, elsewhere=MeasuredLevel(1, 2, 3, 4, 5, 6))
        },
        crossings={MEMORY: Crossing(at=9, elsewhere=8)},
        evicted_at=(1, 2),
        last_cycle_at=11,
    )
    moved = moved_in_time(state, 100)
    assert moved == State(
        in_flight=(Victim(uid="a", chosen_at=103, since=104, until=105, grace_period_seconds=6, freed=7),),
        holdings={
            MEMORY: SupplyHoldings(
                at=101,
                used={"a": 2},
                begun=100,
                since=100,
                arrived={"a": 103},
                elsewhere=MeasuredLevel(101, 2, 103, 4, 5, 106),
            )
        },
        crossings={MEMORY: Crossing(at=109, elsewhere=8)},
        evicted_at=(101, 102),
        last_cycle_at=111,
    )
    assert moved_in_time(moved, -100) == state


def test_the_stamps_of_measurements_stay() -> None:
    """The statistics of a scenario keep theirs too, and the two are only compared with each other."""
    state = State(last_seen={MEMORY: SignalObservation(available=of_bytes(1), capacity=of_bytes(2), time=3)})
    assert moved_in_time(state, 100) == state


def test_the_fields_with_times_exist() -> None:
    for kind, names in TIMES.items():
        known = kind.__annotations__.keys()
        assert names <= known, kind
