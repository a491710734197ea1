"""When memory is read next: never too late for the fastest filler, never more often than every 50 ms."""

from hypothesis import given
from hypothesis import strategies as st

from evictd.core.duration import MILLISECOND, SECOND
from evictd.observe.fill_rate import ASSUMED_RATE, SHORTEST, FillRate, next_reading

BYTES = st.integers(0, 1 << 45)
RATES = st.integers(1, 1 << 40)
INTERVAL = 10 * SECOND


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


def test_without_any_rate_the_interval_is_all_there_is() -> None:
    assert next_reading(0, 0, longest=INTERVAL) == INTERVAL


@given(
    readings=st.lists(st.tuples(BYTES, st.integers(0, 100 * SECOND)), max_size=10),
    available=BYTES,
    at=st.integers(0, 100 * SECOND),
)
def test_the_rate_only_ever_rises(readings: list[tuple[int, int]], available: int, at: int) -> None:
    rate = FillRate()
    for each in readings:
        rate = rate.seen(*each)
    assert rate.seen(available, at).fastest >= rate.fastest >= ASSUMED_RATE


def test_a_fill_faster_than_assumed_is_remembered() -> None:
    rate = FillRate().seen(8 << 30, SECOND).seen(0, 2 * SECOND)
    assert rate.fastest == 8 << 30
    assert rate.seen(8 << 30, 3 * SECOND).fastest == 8 << 30


def test_two_readings_closer_than_a_millisecond_say_nothing_about_speed() -> None:
    rate = FillRate().seen(1 << 40, 0).seen(0, MILLISECOND - 1)
    assert rate.fastest == ASSUMED_RATE
