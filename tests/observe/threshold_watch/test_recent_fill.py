"""The present fill rate of a signal from its last readings."""

from hypothesis import given
from hypothesis import strategies as st

from evictd.core.model.signal import Signal
from evictd.core.units.duration import MILLISECOND, SECOND
from evictd.observe.threshold_watch.recent_fill import MOST_READINGS, RecentFill

MEMORY = Signal.MEMORY_AVAILABLE


def filled(*readings: tuple[int, int]) -> RecentFill:
    """Readings as (milliseconds, available)."""
    recent = RecentFill()
    for at, available in readings:
        recent.add(MEMORY, available, at * MILLISECOND)
    return recent


def test_one_reading_or_none_gives_no_rate() -> None:
    assert RecentFill().rate(MEMORY) is None
    assert filled((5, 100)).rate(MEMORY) is None
    assert filled((5, 100)).rates() == {}


def test_the_rate_is_in_units_per_second() -> None:
    assert filled((0, 1000), (100, 800)).rate(MEMORY) == 2000
    assert filled((0, 1000), (100, 1100)).rate(MEMORY) == -1000
    assert filled((0, 1000), (100, 800)).rates() == {MEMORY: 2000}


def test_a_fill_that_has_just_begun_is_seen_at_its_own_rate() -> None:
    assert filled((0, 1000), (900, 1000), (950, 900)).rate(MEMORY) == 2000


def test_readings_too_close_to_the_last_do_not_count() -> None:
    assert filled((0, 1000), (100, 900), (101, 800)).rate(MEMORY) == (1000 - 800) * 1000 // 101
    assert filled((0, 1000), (4, 0)).rate(MEMORY) is None


def test_a_short_span_counts_only_where_there_is_no_longer_one_within_a_second() -> None:
    assert filled((0, 1000), (10_000, 500), (10_006, 380)).rate(MEMORY) == 20_000
    assert filled((0, 1000), (9_950, 500), (10_000, 500), (10_006, 380)).rate(MEMORY) == 120 * 1000 // 56


def test_a_rate_is_old_where_no_reading_of_the_last_second_is_far_enough_from_the_last() -> None:
    assert RecentFill().is_old(MEMORY)
    assert filled((0, 1000)).is_old(MEMORY)
    assert filled((0, 1000), (10_000, 500), (10_004, 400)).is_old(MEMORY)
    assert not filled((0, 1000), (10_000, 500), (10_005, 400)).is_old(MEMORY)


def test_a_reading_of_long_ago_counts_where_there_is_no_other() -> None:
    assert filled((0, 1000), (10_000, 0)).rate(MEMORY) == 100
    assert filled((0, 9000), (5_000, 1000), (15_000, 0)).rate(MEMORY) == 100


def test_a_reading_that_is_not_newer_is_left_out() -> None:
    assert filled((0, 1000), (100, 900), (100, 0), (50, 0)).rate(MEMORY) == 1000


@given(rate=st.integers(1, 1000), times=st.lists(st.integers(0, 60_000), min_size=2, max_size=200, unique=True))
def test_a_steady_fill_is_measured_exactly(rate: int, times: list[int]) -> None:
    times.sort()
    recent = filled(*((at, 10**9 - rate * at) for at in times))
    if any(times[-1] - at >= 5 for at in times[-MOST_READINGS:]):
        assert recent.rate(MEMORY) == rate * SECOND // SECOND * 1000


# --- disks ----------------------------------------------------------------------------------------------------------

DISK = Signal.NODEFS_AVAILABLE


def disk(*readings: tuple[int, int]) -> RecentFill:
    recent = RecentFill(lambda: 2 * SECOND, lambda: 3 * SECOND)
    for at, available in readings:
        recent.add(DISK, available, at * MILLISECOND)
    return recent


def test_the_rate_of_a_disk_is_the_mean_of_two_seconds_so_that_no_burst_counts() -> None:
    assert disk((0, 10_000), (1000, 10_000), (1900, 9_000), (2000, 8_000)).rate(DISK) == 1000
    assert disk((0, 10_000), (1500, 10_000), (4000, 8_000)).rate(DISK) == 800, "the last one before"
    assert disk((0, 10_000), (199, 0)).rate(DISK) is None
    assert disk((0, 10_000)).rate(DISK) is None


def test_a_disk_is_led_by_the_times_of_stops_and_of_collections() -> None:
    assert disk((0, 10_000), (1000, 9_000)).led_limit(DISK) == 5500
    assert disk((0, 10_000)).led_limit(DISK) == 0
