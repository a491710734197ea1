"""What is allowed, but most likely not meant, is found; what is meant is left alone."""

import pytest

from evictd.config.lint import Lint, Surroundings, limit_on, lint, low_watermark_pages, value_text
from evictd.core.quantity import of_bytes, parse_quantity
from evictd.core.signal import Filesystem, Signal
from evictd.core.threshold import Operator, Origin, Threshold, ThresholdValue, float32
from evictd.core.threshold_config import ThresholdMaps, parse_threshold_config, parse_threshold_value

GIB = 2**30

COMPLETE = {
    "memory.available": "500Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
    "pid.available": "5%",
}


def thresholds(hard: dict[str, str], soft: dict[str, str] | None = None) -> tuple[Threshold, ...]:
    soft = soft or {}
    maps = ThresholdMaps(hard=hard, soft=soft, soft_grace_period=dict.fromkeys(soft, "1m"))
    found, problems = parse_threshold_config(maps)
    assert problems == ()
    return found


def found(
    hard: dict[str, str], soft: dict[str, str] | None = None, around: Surroundings | None = None
) -> list[tuple[Lint, str]]:
    return [(one.lint, one.signal.value) for one in lint(thresholds(hard, soft), around or Surroundings())]


def test_a_complete_configuration_has_no_findings() -> None:
    assert found(COMPLETE) == []


def test_every_finding_says_what_to_do() -> None:
    findings = lint((), Surroundings())
    assert len(findings) == 5
    assert all(finding.message and finding.remedy for finding in findings)


@pytest.mark.parametrize("signal", ["nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree"])
def test_a_filesystem_without_a_threshold_is_found(signal: str) -> None:
    rest = {key: value for key, value in COMPLETE.items() if key != signal}
    assert found(rest) == [(Lint.FILESYSTEM_WITHOUT_THRESHOLD, signal)]
    assert found(rest, {signal: "1Gi"}) == []


def test_a_filesystem_that_the_node_does_not_have_needs_none() -> None:
    rest = {key: value for key, value in COMPLETE.items() if not key.startswith("imagefs")}
    assert found(rest, around=Surroundings(filesystems=[Filesystem.NODEFS])) == []


def test_no_pid_threshold_is_found() -> None:
    rest = {key: value for key, value in COMPLETE.items() if key != "pid.available"}
    assert found(rest) == [(Lint.NO_PID_THRESHOLD, "pid.available")]


@pytest.mark.parametrize("soft", ["500Mi", "400Mi", "5%"])
def test_a_soft_threshold_that_is_not_above_the_hard_one_is_found(soft: str) -> None:
    around = Surroundings(capacities={Signal.MEMORY_AVAILABLE: of_bytes(8 * GIB)})
    assert found(COMPLETE, {"memory.available": soft}, around) == [(Lint.SOFT_NEVER_FIRST, "memory.available")]


@pytest.mark.parametrize("soft", ["501Mi", "10%"])
def test_a_soft_threshold_above_the_hard_one_is_fine(soft: str) -> None:
    around = Surroundings(capacities={Signal.MEMORY_AVAILABLE: of_bytes(8 * GIB)})
    assert found(COMPLETE, {"memory.available": soft}, around) == []


def test_percentages_compare_without_a_capacity_and_mixed_units_only_with_one() -> None:
    assert found(COMPLETE, {"nodefs.available": "9%"}) == [(Lint.SOFT_NEVER_FIRST, "nodefs.available")]
    assert found(COMPLETE, {"memory.available": "1%"}) == []


def test_a_memory_threshold_below_the_kernels_low_watermark_is_found() -> None:
    around = Surroundings(low_watermark_bytes=600 * 2**20)
    assert found(COMPLETE, around=around) == [(Lint.BELOW_LOW_WATERMARK, "memory.available")]
    assert found(COMPLETE, around=Surroundings(low_watermark_bytes=400 * 2**20)) == []


def test_a_kubelet_that_acts_at_the_same_amount_is_found() -> None:
    around = Surroundings(kubelet=thresholds({"memory.available": "500Mi", "nodefs.available": "5%"}))
    assert found(COMPLETE, around=around) == [(Lint.KUBELET_ACTS_FIRST, "memory.available")]


def test_one_threshold_above_the_kubelets_is_enough() -> None:
    around = Surroundings(kubelet=thresholds({"memory.available": "500Mi"}))
    assert found(COMPLETE, {"memory.available": "1Gi"}, around) == []


def test_what_only_the_kubelet_watches_is_its_own() -> None:
    rest = {key: value for key, value in COMPLETE.items() if key != "pid.available"}
    around = Surroundings(kubelet=thresholds({"pid.available": "10%"}))
    assert found(rest, around=around) == [(Lint.NO_PID_THRESHOLD, "pid.available")]


def test_inert_and_derived_thresholds_are_no_reason_to_speak() -> None:
    inert = Threshold(signal=Signal.PID_AVAILABLE, value=ThresholdValue(), operator=Operator.NONE)
    derived = Threshold(
        signal=Signal.ALLOCATABLE_MEMORY_AVAILABLE,
        value=ThresholdValue(quantity=parse_quantity("1")),
        origin=Origin.DERIVED,
    )
    lints = [one.lint for one in lint((inert, derived), Surroundings(low_watermark_bytes=GIB, filesystems=()))]
    assert lints == [Lint.NO_PID_THRESHOLD]


ZONEINFO = """\
Node 0, zone      DMA
  pages free     2816
        boost    0
        min      33
        low      41
        high     49
Node 0, zone   Normal
  pages free     123
        min      16000
        low      20000
        high     24000
        nr_free_pages 5
"""


def test_the_low_watermarks_of_all_zones_are_summed() -> None:
    assert low_watermark_pages(ZONEINFO) == 20041
    assert low_watermark_pages("") is None
    assert low_watermark_pages("  low  x\nlow 5") is None


def test_a_percentage_of_an_unknown_capacity_has_no_amount() -> None:
    (threshold,) = thresholds({"nodefs.available": "10%"})
    assert limit_on(threshold, {}) is None
    assert limit_on(threshold, {Signal.NODEFS_AVAILABLE: of_bytes(1000)}) == of_bytes(100)


@pytest.mark.parametrize("text", ["10%", "5.5%", "0.333%", "500Mi", "1e3", "100.0%", "12.5%", "0.0001%"])
def test_values_are_written_as_they_were_read(text: str) -> None:
    value = parse_threshold_value(Signal.PID_AVAILABLE, text)
    assert value is not None
    assert value_text(value.quantity, value.fraction) == text.replace(".0%", "%")


def test_a_fraction_that_is_no_number_is_written_as_one() -> None:
    assert value_text(None, float("nan")) == "nan%"
    assert value_text(None, float32(0.0)) == "0%"
