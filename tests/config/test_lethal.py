"""Thresholds that evict pods of a healthy node are errors."""

import pytest

from evictd.config.lint import lint
from evictd.config.lint_model import Lint, LintFinding, Severity, Surroundings
from evictd.core.model.signal import Signal
from evictd.core.model.threshold_config import ThresholdMaps, parse_threshold_config
from evictd.core.units.quantity import parse_quantity

DISK = {Signal.NODEFS_AVAILABLE: parse_quantity("100Gi")}
AROUND = Surroundings(
    capacities={Signal.MEMORY_AVAILABLE: parse_quantity("24Gi"), **DISK},
    available={Signal.MEMORY_AVAILABLE: parse_quantity("20Gi"), Signal.NODEFS_AVAILABLE: parse_quantity("97Gi")},
    filesystems=(),
)


def errors(maps: ThresholdMaps) -> list[LintFinding]:
    thresholds, problems = parse_threshold_config(maps)
    assert problems == ()
    return [one for one in lint(thresholds, AROUND) if one.severity is Severity.ERROR]


@pytest.mark.parametrize(
    ("signal", "value", "kind"),
    [
        ("memory.available", "5000Gi", Lint.NOT_BELOW_CAPACITY),
        ("memory.available", "24Gi", Lint.NOT_BELOW_CAPACITY),
        ("memory.available", "21Gi", Lint.MET_ALREADY),
        ("memory.available", "13Gi", Lint.ABOVE_HALF_OF_CAPACITY),
        ("nodefs.available", "95%", Lint.ABOVE_HALF_OF_CAPACITY),
        ("nodefs.available", "98%", Lint.MET_ALREADY),
    ],
)
@pytest.mark.parametrize("soft", [False, True])
def test_a_threshold_that_is_met_on_a_healthy_node(signal: str, value: str, kind: Lint, soft: bool) -> None:
    """`evictd check` passed all of them."""
    maps = (
        ThresholdMaps(soft={signal: value}, soft_grace_period={signal: "1m"})
        if soft
        else ThresholdMaps(hard={signal: value})
    )
    found = [one for one in errors(maps) if one.signal.value == signal]
    assert [one.lint for one in found] == [kind]
    assert "of 24Gi" in found[0].message or "of 100Gi" in found[0].message or "Gi left" in found[0].message


@pytest.mark.parametrize(("reclaim", "found"), [("90%", True), ("45Gi", True), ("30%", False), ("1Gi", False)])
def test_a_minimum_reclaim_that_evicts_pod_after_pod(reclaim: str, found: bool) -> None:
    maps = ThresholdMaps(hard={"nodefs.available": "10%"}, minimum_reclaim={"nodefs.available": reclaim})
    assert [one.lint for one in errors(maps)] == [Lint.RECLAIM_TOO_LARGE] * found


def test_what_is_not_known_of_the_node_is_no_error() -> None:
    thresholds, _ = parse_threshold_config(
        ThresholdMaps(hard={"memory.available": "5000Gi", "nodefs.available": "95%"})
    )
    assert all(one.severity is Severity.WARNING for one in lint(thresholds, Surroundings()))
