"""The time of the next memory reading: soon enough for the fastest fill, at most every 50 ms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.core.units.duration import MILLISECOND, MINUTE, SECOND
from evictd.observe.threshold_watch.fill_rate import CONCEIVABLE_RATE, LEAST_RATE, SHORTEST, FillRate, next_reading

BYTES = st.integers(0, 1 << 45)
RATES = st.integers(1, 1 << 40)
INTERVAL = 10 * SECOND
MI, GI = 1 << 20, 1 << 30


@given(distance=BYTES, rate=RATES)
def test_the_next_reading_lies_between_the_shortest_and_the_interval(distance: int, rate: int) -> None:
    assert SHORTEST <= next_reading(distance, rate, longest=INTERVAL) <= INTERVAL


@given(distance=BYTES, rate=RATES)
def test_a_fill_at_that_rate_crosses_at_most_one_shortest_wait_before_the_reading(distance: int, rate: int) -> None:
    wait = next_reading(distance, rate, longest=INTERVAL)
    filled = wait * rate // SECOND
    assert filled <= max(distance, rate * SHORTEST // SECOND)


@given(near=BYTES, further=BYTES, rate=RATES)
def test_nearer_to_the_threshold_is_never_read_later(near: int, further: int, rate: int) -> None:
    near, further = sorted((near, further))
    assert next_reading(near, rate, longest=INTERVAL) <= next_reading(further, rate, longest=INTERVAL)


@given(distance=BYTES, slow=RATES, fast=RATES)
def test_a_faster_filler_is_never_read_later(distance: int, slow: int, fast: int) -> None:
    slow, fast = sorted((slow, fast))
    assert next_reading(distance, fast, longest=INTERVAL) <= next_reading(distance, slow, longest=INTERVAL)


def readings_in_a_minute(distance: int, rate: FillRate) -> int:
    at = count = 0
    while at < MINUTE:
        at, count = at + next_reading(distance, rate.fastest, longest=INTERVAL), count + 1
    return count


@pytest.mark.parametrize(("distance", "most"), [(150 * MI, 103), (3 * GI, 60), (100 * GI, 6)])
def test_a_calm_node_is_read_at_the_pace_of_what_it_has_filled(distance: int, most: int) -> None:
    """A calm machine of 2 GiB woke 29 times a second because 4 GiB/s were assumed."""
    assert readings_in_a_minute(distance, FillRate()) == most


def test_a_node_that_has_filled_fast_is_read_often() -> None:
    fast = FillRate().updated(4 * GI, SECOND).updated(0, 2 * SECOND)
    assert readings_in_a_minute(150 * MI, fast) == 1200


@given(distance=BYTES, rate=RATES)
def test_where_a_conceivable_fill_could_cross_within_a_second_memory_is_read_within_one(
    distance: int, rate: int
) -> None:
    assert next_reading(distance, rate, longest=INTERVAL) <= max(SECOND, distance * SECOND // CONCEIVABLE_RATE)


@given(
    readings=st.lists(st.tuples(BYTES, st.integers(0, 100 * SECOND)), max_size=10),
    available=BYTES,
    at=st.integers(0, 100 * SECOND),
)
def test_the_rate_only_ever_rises(readings: list[tuple[int, int]], available: int, at: int) -> None:
    rate = FillRate()
    for each in readings:
        rate = rate.updated(*each)
    assert rate.updated(available, at).fastest >= rate.fastest >= LEAST_RATE


def test_a_fill_faster_than_reckoned_with_is_remembered() -> None:
    rate = FillRate().updated(8 << 30, SECOND).updated(0, 2 * SECOND)
    assert rate.fastest == 8 << 30
    assert rate.updated(8 << 30, 3 * SECOND).fastest == 8 << 30


def test_two_readings_within_a_millisecond_do_not_change_the_rate() -> None:
    rate = FillRate().updated(1 << 40, 0).updated(0, MILLISECOND - 1)
    assert rate.fastest == LEAST_RATE
