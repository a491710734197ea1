"""An hour of each signal, and when conditions were reported."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.core.eviction.reclaim import Layout
from evictd.core.model.observation import Reclaim, ReclaimOutcome, SignalObservation
from evictd.core.model.signal import Filesystem, NodeCondition, Signal
from evictd.core.units.duration import HOUR, MINUTE, SECOND
from evictd.core.units.quantity import of_bytes
from evictd.daemon.telemetry.trends import (
    LENGTH,
    SLOT,
    Fall,
    Point,
    ReportedSpan,
    Trend,
    Trends,
    advanced,
    drawn_readings,
    reclaimed_signals,
)

MEMORY = Signal.MEMORY_AVAILABLE
PRESSURE = NodeCondition.MEMORY_PRESSURE


def seen(available: int) -> dict[Signal, SignalObservation]:
    return {MEMORY: SignalObservation(available=of_bytes(available), capacity=of_bytes(1000))}


def play(*points: tuple[int, int], reported: tuple[NodeCondition, ...] = ()) -> Trend:
    trends = Trends()
    for at, available in points:
        trends = advanced(trends, seen(available), reported, now=at, wall=at)
    return trends.signals[MEMORY]


def test_a_signal_that_falls_reaches_its_threshold_at_the_present_rate() -> None:
    trend = play((0, 1000), (10 * SECOND, 900))
    assert trend.fill_rate == 10
    assert trend.seconds_to(400) == 50
    assert trend.seconds_to(950) is None, "it is below it"


def test_a_fall_that_the_last_of_three_readings_shows_first_has_a_rate_of_its_own() -> None:
    """A log that began to grow at the second reading filled the disk in half of the time that was said."""
    trend = play((0, 1000), (10 * SECOND, 1000), (20 * SECOND, 900))
    assert (trend.present_rate, trend.last_fall) == (5, Fall(10 * SECOND, 10))


def test_what_a_small_reclaim_gave_back_is_no_part_of_the_rate() -> None:
    """`Fell by 6.25Mi a second` stood at a disk that filled by 10Mi a second: a reclaim gave back less than a fall."""
    device = Filesystem.NODEFS
    ended = (ReclaimOutcome(action=Reclaim.IMAGES, freed_bytes=150, removed=1, device=device),)
    signals = reclaimed_signals(ended, Layout.SINGLE)
    assert Signal.NODEFS_INODES_FREE in signals
    assert not signals & {MEMORY, Signal.PID_AVAILABLE}
    assert not reclaimed_signals((replace(ended[0], freed_bytes=0, removed=0),), Layout.SINGLE), "it freed nothing"
    assert signals == reclaimed_signals((replace(ended[0], device=None),), Layout.SINGLE), "policy Kubelet"
    trends = Trends()
    for at in range(0, 50, 10):
        left = 10_000 - 10 * at + (150 if at >= 30 else 0)
        reading = {Signal.NODEFS_AVAILABLE: replace(seen(left)[MEMORY], capacity=of_bytes(20_000))}
        reclaimed = signals if at == 30 else ()
        trends = advanced(trends, reading, (), now=at * SECOND, wall=0, reclaimed=reclaimed)
        if at == 30:
            assert trends.signals[Signal.NODEFS_AVAILABLE].fill_rate is None
            assert trends.signals[Signal.NODEFS_AVAILABLE].rate_before == 10
    assert trends.signals[Signal.NODEFS_AVAILABLE].fill_rate == 10


def test_after_a_reclaim_the_rate_is_that_since_then() -> None:
    """A disk that filled at 2 MiB/s rose by 176 MiB in a reclaim: for a minute no threshold was foreseen."""
    filled = [(number * 5 * SECOND, amount) for number, amount in enumerate((800, 750, 700, 1650, 1600, 1550))]
    trend = play(*filled)
    assert (trend.fill_rate, trend.seconds_to(500)) == (10, 105)
    assert trend.enough
    assert trend.stands_out
    still = play((0, 400), (5 * SECOND, 350), (10 * SECOND, 900), (15 * SECOND, 900), (20 * SECOND, 900))
    assert still.fill_rate == 0, "it seemed to rise for a minute"
    assert play((0, 400), (5 * SECOND, 350), (10 * SECOND, 900)).fill_rate is None


def test_a_signal_that_rises_or_is_new_reaches_none() -> None:
    assert play((0, 100), (10 * SECOND, 900)).seconds_to(50) is None
    assert play((0, 100)).fill_rate is None
    assert play((0, 100), (SECOND, 50)).fill_rate is None, "a second is too short for a rate"


def test_a_rate_stands_out_from_scatter_where_no_move_against_it_is_as_large() -> None:
    assert play((0, 1000), (5 * SECOND, 990), (10 * SECOND, 980)).stands_out
    assert play((0, 1000), (5 * SECOND, 1020), (10 * SECOND, 900)).stands_out
    assert not play((0, 1000), (5 * SECOND, 1050), (10 * SECOND, 990)).stands_out, "it rose by 50 and fell by 10"
    assert play((0, 100), (5 * SECOND, 150), (10 * SECOND, 300)).stands_out, "a rise"
    assert not play((0, 100), (5 * SECOND, 60), (10 * SECOND, 130)).stands_out
    assert not play((0, 100), (5 * SECOND, 100), (10 * SECOND, 100)).stands_out


def test_a_level_that_was_as_low_before_and_rose_again_tells_no_time() -> None:
    """The page said of a level that goes up and down every few minutes when its threshold is met."""
    waves = [(number * MINUTE, 1000 - number % 4 * 100) for number in range(20)]
    assert play(*waves).recovered_from(400) == 700, "it never fell to the limit"
    assert play(*waves).recovered_from(700) is None, "it fell to the limit before"
    assert play(*waves, (20 * MINUTE, 650)).recovered_from(400) is None, "it was never as low"
    assert play(*((number * MINUTE, 1000 - number * 10) for number in range(20))).recovered_from(400) is None, "a leak"
    assert play((0, 900), (MINUTE, 950), (2 * MINUTE, 920)).recovered_from(400) is None, "too short a time"
    raised = [(0, 700), *((number * MINUTE, 400) for number in range(1, 3)), (3 * MINUTE, 90), (9 * MINUTE, 800)]
    assert play(*raised).recovered_from(80) == 90
    assert play(*raised).recovered_from(100) is None, (
        "the removal of images raised it, within the last minutes too (world 40)"
    )
    assert Trend().recovered_from(400) is None


def test_few_readings_or_a_short_time_do_not_tell_what_is_scatter() -> None:
    assert not play((0, 1000), (30 * SECOND, 900)).enough
    assert not play((0, 1000), (3 * SECOND, 950), (6 * SECOND, 900)).enough
    assert play((0, 1000), (5 * SECOND, 950), (10 * SECOND, 900)).enough


def test_a_slot_keeps_the_reading_with_the_least_available() -> None:
    """With its own time: a reading below a threshold was drawn up to half a minute before it."""
    found = play((0, 900), (SECOND, 100), (2 * SECOND, 800), (SLOT, 700)).hour
    assert found == ((SECOND, 100), (SLOT, 700))


def test_a_signal_that_cannot_be_read_keeps_what_was_read_of_it_for_an_hour() -> None:
    """It was dropped at once, and with it how fast it fell towards its threshold."""
    trends = advanced(Trends(), seen(5), (), now=0, wall=0)
    assert advanced(trends, {}, (), now=SECOND, wall=SECOND).signals == trends.signals
    assert advanced(trends, {}, (), now=LENGTH, wall=LENGTH).signals == {}


@given(st.lists(st.tuples(st.integers(0, 3 * MINUTE), st.integers(0, 1000)), min_size=1, max_size=60))
def test_it_stays_bounded_however_often_it_is_fed(steps: list[tuple[int, int]]) -> None:
    """The bounds hold for any cadence of cycles, and the last point is the last one that was seen."""
    at, points = 0, []
    for wait, available in steps:
        at += wait
        points.append((at, available))
    trend = play(*points)
    assert len(trend.hour) <= LENGTH // SLOT + 1
    assert len(trend.recent) <= 61
    assert len(trend.lows) <= 61
    assert trend.recent[-1] == points[-1]
    assert all(point.at > at - HOUR for point in trend.hour)


def test_a_busy_loop_does_not_fill_the_last_minute() -> None:
    trend = play(*((step * SECOND // 20, 1000) for step in range(1200)))
    assert len(trend.recent) <= 35
    assert len(trend.lows) <= 35


def test_the_reading_by_which_a_cycle_decided_is_drawn_though_the_next_one_takes_its_place() -> None:
    points = (
        (8 * SECOND, 70),
        (10 * SECOND, 63),
        (11 * SECOND, 60),
        (11 * SECOND + 300_000_000, 98),
        (13 * SECOND, 95),
    )
    trend = play(*points, (13 * SECOND + 100_000_000, 96))
    drawn = drawn_readings(Trends(signals={MEMORY: trend}), now=14 * SECOND)[MEMORY.value]
    assert (3.0, 60) in drawn
    assert drawn == sorted(drawn, reverse=True)
    assert 60 not in [each.available for each in trend.recent], "rates stay as they are"


def test_conditions_have_since_and_until() -> None:
    calm = advanced(Trends(), {}, (), now=0, wall=100)
    pressed = advanced(advanced(calm, {}, (PRESSURE,), now=1, wall=200), {}, (PRESSURE,), now=2, wall=300)
    assert pressed.conditions == {PRESSURE: ReportedSpan(since=200)}
    ended = advanced(pressed, {}, (), now=3, wall=400)
    assert ended.conditions == {PRESSURE: ReportedSpan(since=200, until=400)}
    assert advanced(ended, {}, (PRESSURE,), now=4, wall=500).conditions == {PRESSURE: ReportedSpan(since=500)}


def test_what_was_reported_at_the_start_began_before() -> None:
    assert advanced(Trends(), {}, (PRESSURE,), now=0, wall=9).conditions == {PRESSURE: ReportedSpan(since=None)}


def test_what_the_first_cycle_reports_did_not_begin_before() -> None:
    """`since before evictd started` was said beside `report node conditions: MemoryPressure` of that cycle (world 23)."""
    first = advanced(Trends(), {}, (PRESSURE,), now=0, wall=9, before=())
    assert first.conditions == {PRESSURE: ReportedSpan(since=9)}
    restored = advanced(Trends(), {}, (PRESSURE,), now=0, wall=9, before=(PRESSURE,))
    assert restored.conditions == {PRESSURE: ReportedSpan(since=None)}


def test_a_fall_began_when_it_was_last_nearly_as_high_and_not_as_low_since() -> None:
    def began(*amounts: int) -> int | None:
        found = play(*((number * MINUTE, amount) for number, amount in enumerate(amounts))).fall_began
        return None if found is None else found // MINUTE

    assert began(900, 899, 900, 899, 700, 500, 300) == 3, "it scattered by 1 before"
    assert began(900, 300, 900, 800, 700, 500, 400) == 2, "it was lower before, and rose again"
    assert began(100, 100, 100, 100) is None
    assert began(100) is None
    assert Trend().fall_began is None


def test_a_fall_has_ended_where_the_last_half_minute_shows_none() -> None:
    """A threshold was foreseen in 53 s although what was left had stood still for half a minute."""
    fell = ((0, 900), (10 * SECOND, 700), (20 * SECOND, 500))
    still = tuple((number * 10 * SECOND, 500) for number in (3, 4, 5))
    assert play(*fell, *still).has_ended
    assert play(*fell, *still).fill_rate
    assert not play(*fell, *still[:1]).has_ended
    assert not play(*fell, *still, (55 * SECOND, 499)).has_ended
    assert not Trend().has_ended


def test_the_rise_of_an_eviction_does_not_end_a_fall() -> None:
    """The level of before the eviction was lower: no threshold was foreseen for half a minute, and the headline was calm."""
    before = ((0, 600), (10 * SECOND, 500), (20 * SECOND, 400), (30 * SECOND, 300))
    trend = play(*before, (31 * SECOND, 900), (41 * SECOND, 800), (51 * SECOND, 700))
    assert not trend.has_ended
    assert (trend.fill_rate, trend.seconds_to(300)) == (10, 40)


def test_a_fall_slows_where_the_last_readings_fall_less_than_half_as_fast() -> None:
    fell = ((0, 900), (10 * SECOND, 700), (20 * SECOND, 500))
    assert play(*fell).lately is None
    assert play(*fell, (30 * SECOND, 500)).lately == (10 * SECOND, 0)
    assert play(*fell, (30 * SECOND, 450)).lately == (10 * SECOND, 5)
    assert play(*fell, (30 * SECOND, 400)).lately is None
    assert play(*fell, (21 * SECOND, 500)).lately is None, "a second tells nothing"
    assert play((0, 500), (10 * SECOND, 500), (20 * SECOND, 500)).lately is None, "it did not fall before"
    assert Trend().lately is None


def test_a_fall_that_is_much_faster_in_the_last_readings_has_their_rate() -> None:
    """A leak that began 16 s ago had a third of its rate, and its threshold three times as much time (world 44)."""
    calm = [(at * SECOND, 4000) for at in range(0, 60, 10)]
    faster = play(*calm, (60 * SECOND, 3000), (66 * SECOND, 2400))
    assert faster.fill_rate is not None
    assert faster.fill_rate < 50
    assert faster.present_rate == 100
    assert faster.seconds_to(300) == 21
    once = play(*calm, (60 * SECOND, 3000))
    assert once.present_rate == once.fill_rate, "one reading may be one step"
    scatter = play(*calm, (60 * SECOND, 3000), (66 * SECOND, 3010))
    assert scatter.present_rate == scatter.fill_rate
    steady = play(*((at * SECOND, 4000 - 10 * at) for at in range(0, 61, 10)))
    assert steady.present_rate == steady.fill_rate == 10


def test_one_steep_interval_has_a_rate_of_its_own() -> None:
    def trend(*amounts: int) -> Trend:
        return Trend(recent=tuple(Point(number * 10 * SECOND, each) for number, each in enumerate(amounts)))

    assert trend(4000, 4000, 4000, 3000).last_fall == (10 * SECOND, 100)
    assert trend(4000, 3900, 3800, 3700).last_fall is None, "it falls as before"
    assert trend(4000, 4000, 3000, 2000).last_fall is None, "two intervals are the present rate"
    assert trend(4000).last_fall is None
    steep = trend(4000, 4000, 4000, 3000)
    assert steep.seconds_at(100, 2500, 32 * SECOND) == 3.0
    assert steep.seconds_at(100, 3000, 32 * SECOND) == 0, "below a threshold, not at it, that is met"
    assert steep.seconds_at(100, 3001, 32 * SECOND) is None


@pytest.mark.parametrize("apart", [1, 2, 3])
def test_a_fall_that_has_just_begun_shows_at_short_intervals(apart: int) -> None:
    """At `housekeepingInterval: 500ms` readings are two seconds apart: a pod went 20 s after "in 2m0s" was said."""
    calm = [(at * SECOND, 9000) for at in range(0, 54, apart)]
    fall = [(at * SECOND, 9000 - 100 * (at - 54)) for at in range(54, 61, apart)]
    trend = play(*calm, *fall)
    assert trend.last_fall is not None
    assert trend.last_fall.rate == pytest.approx(100)
    assert trend.last_fall.time >= 4 * SECOND


def test_a_slow_step_between_two_readings_does_not_hide_a_fall() -> None:
    """A steady 1Mi a second was said to take 50 s, 2m58s and 50 s to its threshold: each second reading fell by less."""
    calm = [(at * SECOND, 9000) for at in range(0, 40, 2)]
    for end in range(52, 62, 2):
        fall = [(at * SECOND, 9000 - 100 * (at - 40) - (190 if at % 4 else 0)) for at in range(40, end, 2)]
        assert play(*calm, *fall).present_rate == pytest.approx(100, rel=0.2), end


def test_the_rate_before_a_jump() -> None:
    points = tuple(Point(number * 10 * SECOND, each) for number, each in enumerate((600, 400, 200, 900)))
    assert Trend(recent=points).rate_before == 20
    assert Trend(recent=points[:3]).rate_before is None, "there is no jump"


def test_the_last_change_needs_two_seconds_between_its_readings() -> None:
    """What a busy loop reads within a second scatters: that looks like a steep fall."""
    busy = tuple(Point(at * SECOND, left) for at, left in ((0, 900), (10, 500), (15, 400), (16, 700)))
    assert Trend(recent=busy).last_change == (16 * SECOND, (6 * SECOND, -200 / 6))
    assert Trend(recent=busy[:1]).last_change is None
    assert Trend().last_change is None


def test_the_time_of_the_present_rate_is_that_of_its_readings() -> None:
    """The page called 20 s since the last jump a minute."""
    assert play((0, 1000), (20 * SECOND, 900)).present_time == 20 * SECOND
    steep = play(
        (0, 1000), (30 * SECOND, 990), (40 * SECOND, 980), (50 * SECOND, 700), (55 * SECOND, 550), (60 * SECOND, 400)
    )
    assert (steep.present_time, steep.present_rate) == (10 * SECOND, 30.0)
    assert Trend().present_time == 0


def test_a_fall_that_began_within_the_minute_has_its_own_rate() -> None:
    """The mean of a minute had half its rate, and the time to a threshold was twice too long (worlds 11 and 41)."""
    steps = [(number * 10 * SECOND, 1000 - max(number - 3, 0) * 100) for number in range(7)]
    assert play(*steps).fill_rate == 5.0
    assert play(*steps).present_rate == 10.0
    wavering = [(number * 10 * SECOND, 1000 - number * 50 - number % 2 * 20) for number in range(7)]
    assert play(*wavering).present_rate == play(*wavering).fill_rate
