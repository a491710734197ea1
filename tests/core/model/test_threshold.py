"""When a threshold is met, and when two thresholds are equal."""

from dataclasses import replace

import pytest

from evictd.core.model.observation import SignalObservation
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import (
    Operator,
    Threshold,
    ThresholdValue,
    is_met,
    limit_of,
    merge_thresholds,
    sort_by_eviction_priority,
    thresholds_first_observed_at,
    thresholds_met,
    thresholds_met_grace_period,
    thresholds_updated_stats,
)
from evictd.core.model.threshold_config import parse_minimum_reclaim, parse_threshold_value
from evictd.core.units.duration import MINUTE
from evictd.core.units.quantity import of_bytes
from tests.playbook import number, threshold


def seen(available: str, capacity: str = "4Gi") -> SignalObservation:
    """An observation of a signal."""
    return SignalObservation(available=of_bytes(number(available)), capacity=of_bytes(number(capacity)))


@pytest.mark.parametrize(
    ("percent", "capacity", "limit"),
    [
        ("10%", 107374182400, 10737418400),
        ("15%", 107374182400, 16106128000),
        ("1%", 1000, 9),
        ("5%", 100, 5),
        ("90%", 1000, 899),
    ],
)
def test_percentages_go_through_single_precision(percent: str, capacity: int, limit: int) -> None:
    """10 % of 100 GiB is 160 bytes below the exact tenth, and 1 % of 1000 is nine."""
    observation = SignalObservation(available=of_bytes(0), capacity=of_bytes(capacity))
    assert limit_of(threshold("nodefs.available", percent), observation).value() == limit


def test_exactly_the_limit_is_not_met() -> None:
    """Strictly less."""
    one = threshold("memory.available", "1Gi")
    assert not is_met(one, seen("1Gi"))
    assert is_met(one, seen("1023Mi"))


def test_minimum_reclaim_is_added_to_the_limit() -> None:
    """TestThresholdsMet: 1.2Gi is above 1Gi, and below 1Gi plus 500Mi."""
    one = threshold("memory.available", "1Gi", min_reclaim="500Mi")
    assert not is_met(one, seen("1200Mi"))
    assert is_met(one, seen("1200Mi"), with_min_reclaim=True)
    assert not is_met(one, seen("1600Mi"), with_min_reclaim=True)


def test_percentages_of_minimum_reclaim_are_of_the_capacity() -> None:
    """TestPercentageThresholdsMet: 20 % plus 10 % of 4000 is 1200."""
    one = threshold("memory.available", "20%", min_reclaim="10%")
    assert limit_of(one, seen("0", "4000"), with_min_reclaim=True).value() == 1200


def test_not_a_number_is_never_met() -> None:
    """`NaN%` passes the kubelet's checks and is inert."""
    inert = Threshold(signal=Signal.MEMORY_AVAILABLE, value=ThresholdValue(fraction=float("nan")))
    assert not is_met(inert, seen("0"))


@pytest.mark.parametrize("reclaim", ["Inf%", "1e36%", "NaN%"])
def test_a_minimum_reclaim_beyond_64_bits_adds_nothing(reclaim: str) -> None:
    """`Inf%` passes the kubelet's checks as well; its int64 is the least one on amd64."""
    one = threshold("memory.available", "1Gi")
    one = replace(one, min_reclaim=parse_minimum_reclaim(one.signal, reclaim))
    assert is_met(one, seen("0"))
    assert not is_met(one, seen("0"), with_min_reclaim=True)


def test_an_entry_without_an_operator_is_never_met() -> None:
    """The inert containerfs entry of a missing nodefs or imagefs threshold."""
    inert = Threshold(signal=Signal.CONTAINERFS_AVAILABLE, value=ThresholdValue(), operator=Operator.NONE)
    assert not is_met(inert, seen("0"))


def test_a_threshold_on_an_unobserved_signal_is_not_met() -> None:
    """A missing statistic is not zero."""
    one = threshold("memory.available", "1Gi")
    assert thresholds_met([one], {}) == ()
    assert thresholds_met([one], {Signal.MEMORY_AVAILABLE: seen("1Mi")}) == (one,)


def test_minimum_reclaim_is_no_part_of_the_identity() -> None:
    """`compareThreshold` compares signal, operator, grace period and value."""
    plain, other = threshold("memory.available", "1Gi"), threshold("memory.available", "1Gi", min_reclaim="1Mi")
    assert merge_thresholds([plain], [other]) == (plain,)
    soft = threshold("memory.available", "1Gi", grace="1m")
    assert merge_thresholds([plain], [soft]) == (plain, soft)
    assert plain.hard
    assert not soft.hard


def test_memory_comes_first_and_order_is_kept() -> None:
    """TestSortByEvictionPriority; the kubelet's sort reverses the memory thresholds."""
    names = ["nodefs.available", "memory.available", "pid.available", "allocatableMemory.available"]
    given = [threshold(name, "1Gi") for name in names]
    order = [t.signal.value for t in sort_by_eviction_priority(given, as_kubelet=False)]
    assert order == ["memory.available", "allocatableMemory.available", "nodefs.available", "pid.available"]
    order = [t.signal.value for t in sort_by_eviction_priority(given, as_kubelet=True)]
    assert order == ["allocatableMemory.available", "memory.available", "nodefs.available", "pid.available"]


@pytest.mark.parametrize("text", ["10%", "5.5%", "0.333%", "500Mi", "1e3", "100.0%", "12.5%", "0.0001%"])
def test_values_are_written_as_they_were_read(text: str) -> None:
    value = parse_threshold_value(Signal.PID_AVAILABLE, text)
    assert value is not None
    assert str(value) == text.replace(".0%", "%")


def test_a_fraction_that_is_no_number_is_written_as_one() -> None:
    assert str(ThresholdValue(fraction=float("nan"))) == "nan%"
    assert str(threshold("memory.available", "1.3Gi")) == "memory.available<1.3Gi", "it was 1395864371200m"
    assert str(ThresholdValue(fraction=0.0)) == "0%"


def test_a_soft_threshold_goes_by_the_documented_reading() -> None:
    """`memory.formula: Auto`: 900Mi by the lower reading are 1013Mi by the kubelet's."""
    observation = replace(seen("900Mi"), unallocatable=of_bytes(number("113Mi")))
    assert is_met(threshold("memory.available", "1000Mi"), observation)
    assert not is_met(threshold("memory.available", "1000Mi", grace="1m"), observation)
    assert is_met(threshold("memory.available", "1014Mi", grace="1m"), observation)
    assert limit_of(threshold("memory.available", "1014Mi", grace="1m"), observation) == of_bytes(number("901Mi"))


HARD = threshold("memory.available", "1Gi")
SOFT = threshold("memory.available", "2Gi", grace="1m")


def test_known_times_stay_and_forgotten_ones_start_again() -> None:
    """TestThresholdsFirstObservedAt."""
    assert thresholds_first_observed_at([HARD, SOFT], {SOFT: 3}, 9) == {HARD: 9, SOFT: 3}
    assert thresholds_first_observed_at([HARD], {SOFT: 3}, 9) == {HARD: 9}


def test_exactly_the_grace_period_is_enough() -> None:
    """TestThresholdsMetGracePeriod."""
    assert thresholds_met_grace_period({HARD: 0, SOFT: 0}, MINUTE - 1) == (HARD,)
    assert thresholds_met_grace_period({HARD: 0, SOFT: 0}, MINUTE) == (HARD, SOFT)


@pytest.mark.parametrize(
    ("time", "last", "fresh"),
    [(None, 5, True), (0, 5, True), (5, None, True), (4, 5, False), (5, 5, False), (6, 5, True)],
)
def test_only_newer_numbers_count(time: int | None, last: int | None, fresh: bool) -> None:
    """TestThresholdsUpdatedStats: no time and no predecessor count as new."""

    def seen(at: int | None) -> dict[Signal, SignalObservation]:
        return {Signal.MEMORY_AVAILABLE: SignalObservation(available=of_bytes(0), capacity=of_bytes(9), time=at)}

    assert bool(thresholds_updated_stats([HARD], seen(time), seen(last))) is fresh
    assert thresholds_updated_stats([HARD], seen(time), {}) == (HARD,)
    assert thresholds_updated_stats([HARD], {}, {}) == ()
