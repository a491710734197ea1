"""The four maps of the configuration become thresholds by the kubelet's rules, and every fault is reported."""

from typing import Any

import pytest

from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Origin, Threshold, ThresholdValue
from evictd.core.model.threshold_config import (
    DEFAULT_EVICTION_HARD,
    ThresholdMaps,
    add_allocatable_thresholds,
    parse_threshold_config,
)
from evictd.core.units.duration import MINUTE, SECOND
from evictd.core.units.percentage import float32
from evictd.core.units.quantity import parse_quantity


def parse(**maps: Any) -> tuple[Threshold, ...]:
    thresholds, problems = parse_threshold_config(ThresholdMaps(**maps), enforce_node_allocatable=())
    assert problems == ()
    return thresholds


def faults(**maps: Any) -> list[tuple[str, str]]:
    _, problems = parse_threshold_config(ThresholdMaps(**maps), enforce_node_allocatable=())
    return [(problem.path, problem.wrong) for problem in problems]


def test_the_defaults_of_the_documentation_parse() -> None:
    thresholds = parse(hard=dict(DEFAULT_EVICTION_HARD))
    assert [threshold.signal.value for threshold in thresholds] == list(DEFAULT_EVICTION_HARD)


def test_hard_ones_come_before_soft_ones_in_the_order_they_are_written() -> None:
    thresholds = parse(
        hard={"pid.available": "5", "memory.available": "1Gi"},
        soft={"nodefs.available": "10%"},
        soft_grace_period={"nodefs.available": "1m30s"},
    )
    assert [(one.signal.value, one.grace_period) for one in thresholds] == [
        ("pid.available", 0),
        ("memory.available", 0),
        ("nodefs.available", MINUTE + 30 * SECOND),
    ]


@pytest.mark.parametrize("text", ["0%", "100%"])
def test_exactly_these_two_texts_switch_a_threshold_off(text: str) -> None:
    assert parse(hard={"memory.available": text}) == ()


@pytest.mark.parametrize(("text", "fraction"), [("0.0%", 0.0), ("100.0%", 1.0), ("5%%", float32(0.05))])
def test_their_neighbours_are_kept(text: str, fraction: float) -> None:
    (threshold,) = parse(hard={"memory.available": text})
    assert threshold.value == ThresholdValue(fraction=fraction)


def test_nan_passes_as_in_the_kubelet() -> None:
    (threshold,) = parse(hard={"nodefs.available": "NaN%"})
    assert threshold.value.fraction != threshold.value.fraction


def test_a_soft_threshold_that_is_switched_off_needs_no_grace_period() -> None:
    assert parse(soft={"memory.available": "0%"}) == ()


def test_grace_periods_of_other_signals_are_allowed() -> None:
    assert parse(soft_grace_period={"pid.available": "1m"}) == ()


def test_min_reclaim_goes_to_hard_and_soft_alike() -> None:
    thresholds = parse(
        hard={"nodefs.available": "1Gi"},
        soft={"nodefs.available": "2Gi"},
        soft_grace_period={"nodefs.available": "1m"},
        minimum_reclaim={"nodefs.available": "200%"},
    )
    assert [one.min_reclaim for one in thresholds] == [ThresholdValue(fraction=2.0)] * 2


def test_a_zero_amount_of_min_reclaim_is_allowed() -> None:
    (threshold,) = parse(hard={"memory.available": "1"}, minimum_reclaim={"memory.available": "0Mi"})
    assert threshold.min_reclaim == ThresholdValue(quantity=parse_quantity("0Mi"))


def test_the_users_own_allocatable_and_containerfs_thresholds_are_accepted() -> None:
    thresholds = parse(hard={"allocatableMemory.available": "1Gi", "containerfs.inodesFree": "5%"})
    assert [one.signal for one in thresholds] == [Signal.ALLOCATABLE_MEMORY_AVAILABLE, Signal.CONTAINERFS_INODES_FREE]


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ("101%", "eviction percentage threshold memory.available must be <= 100%: 101%"),
        ("inf%", "eviction percentage threshold memory.available must be <= 100%: inf%"),
        ("-5%", "eviction percentage threshold memory.available must be >= 0%: -5%"),
        ("%", 'strconv.ParseFloat: parsing "": invalid syntax'),
        ("1e40%", 'strconv.ParseFloat: parsing "1e40": value out of range'),
        ("0", "eviction threshold memory.available must be positive: 0"),
        ("5 %", "has a space in it"),
        ("500 Mi", "has a space in it"),
        ("sixty", "is not a quantity, which is a number with an optional unit such as Mi, Gi, M or G"),
        ("-1024Mi", "eviction threshold memory.available must be positive: -1Gi"),
        ("1K", "unable to parse quantity's suffix"),
        ("٣Gi", "is not a quantity, which is a number with an optional unit such as Mi, Gi, M or G"),
        ("", "is not a quantity, which is a number with an optional unit such as Mi, Gi, M or G"),
    ],
)
def test_a_wrong_value_is_refused_with_the_kubelets_text(value: str, wrong: str) -> None:
    assert faults(hard={"memory.available": value}) == [("evictionHard[memory.available]", wrong)]


@pytest.mark.parametrize("signal", ["", "cpu.available", "Memory.available", "memory.available "])
def test_an_unknown_signal_is_refused(signal: str) -> None:
    ((_, wrong),) = faults(hard={signal: "1Gi"})
    assert wrong == f"unsupported eviction signal {signal}"


@pytest.mark.parametrize(
    ("period", "wrong"),
    [
        ("-1s", "invalid eviction grace period specified: -1s, must be a positive value"),
        ("5", 'time: missing unit in duration "5"'),
        ("x", 'time: invalid duration "x"'),
    ],
)
def test_a_wrong_grace_period_is_refused_once(period: str, wrong: str) -> None:
    """A faulty grace period is not reported as missing as well."""
    found = faults(soft={"pid.available": "5"}, soft_grace_period={"pid.available": period})
    assert found == [("evictionSoftGracePeriod[pid.available]", wrong)]


def test_a_soft_threshold_needs_a_grace_period() -> None:
    wrong = "grace period must be specified for the soft eviction threshold pid.available"
    assert faults(soft={"pid.available": "5"}) == [("evictionSoft[pid.available]", wrong)]


@pytest.mark.parametrize("unread", ["evictionSoftGracePeriod", "evictionSoftGracePeriod[pid.available]"])
def test_a_grace_period_that_could_not_be_read_is_not_missing(unread: str) -> None:
    assert faults(soft={"pid.available": "5"}, unread=[unread]) == []


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ("0%", "eviction percentage minimum reclaim pid.available must be positive: 0%"),
        ("-1", "negative eviction minimum reclaim specified for pid.available"),
    ],
)
def test_a_wrong_minimum_reclaim_is_refused(value: str, wrong: str) -> None:
    assert faults(minimum_reclaim={"pid.available": value}) == [("evictionMinimumReclaim[pid.available]", wrong)]


def test_every_fault_of_every_map_is_reported_at_once() -> None:
    found = faults(
        hard={"a": "1", "pid.available": "-1"},
        soft={"memory.available": "x", "nodefs.available": "1Gi"},
        soft_grace_period={"b": "1s"},
        minimum_reclaim={"imagefs.available": "0%"},
    )
    assert len(found) == 6


def test_every_problem_has_a_remedy() -> None:
    _, problems = parse_threshold_config(
        ThresholdMaps(
            hard={"x": "1", "pid.available": "?"},
            soft={"memory.available": "1"},
            soft_grace_period={"nodefs.available": "1"},
            minimum_reclaim={"pid.available": "0%"},
        )
    )
    assert len(problems) == 5
    assert all(problem.remedy for problem in problems)


def test_every_memory_threshold_without_grace_gets_an_allocatable_copy_at_the_end() -> None:
    maps = ThresholdMaps(
        hard={"memory.available": "1Gi", "pid.available": "5"},
        soft={"memory.available": "2Gi"},
        soft_grace_period={"memory.available": "0s"},
        minimum_reclaim={"memory.available": "1Mi"},
    )
    thresholds, _ = parse_threshold_config(maps, enforce_node_allocatable=("pods", "kube-reserved"))
    copies = thresholds[3:]
    assert [str(one.value.quantity) for one in copies] == ["1Gi", "2Gi"]
    assert {(one.signal, one.origin, one.grace_period) for one in copies} == {
        (Signal.ALLOCATABLE_MEMORY_AVAILABLE, Origin.DERIVED, 0)
    }
    assert all(one.min_reclaim is not None for one in copies)


def test_no_copy_for_a_soft_one_with_grace() -> None:
    soft = parse(soft={"memory.available": "1"}, soft_grace_period={"memory.available": "1s"})
    assert add_allocatable_thresholds(soft) == list(soft)


def test_the_origin_is_kept_on_each_threshold() -> None:
    maps = ThresholdMaps(
        hard={"memory.available": "1Gi", "pid.available": "5"}, hard_origins={"pid.available": Origin.MERGED}
    )
    thresholds, _ = parse_threshold_config(maps, enforce_node_allocatable=())
    assert [one.origin for one in thresholds] == [Origin.SET, Origin.MERGED]
