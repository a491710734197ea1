"""Runs one check of `evictd check` over thresholds on memory, on a node of a size."""

from collections.abc import Callable, Iterator, Sequence

from evictd.config.lint_model import Lint, LintFinding, Severity, Surroundings
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Threshold
from evictd.core.model.threshold_config import ThresholdMaps, parse_threshold_config
from evictd.core.units.quantity import parse_quantity

Check = Callable[[Sequence[Threshold], Surroundings], Iterator[LintFinding]]


def memory_notes(check: Check, lint: Lint, hard: str, soft: str, memory: str) -> list[str]:
    """Messages and remedies on a node of this size; each is a note of this kind."""
    maps = ThresholdMaps(
        hard={"memory.available": hard} if hard else {},
        soft={"memory.available": soft} if soft else {},
        soft_grace_period={"memory.available": "1m"} if soft else {},
    )
    thresholds, problems = parse_threshold_config(maps)
    assert problems == ()
    around = Surroundings(capacities={Signal.MEMORY_AVAILABLE: parse_quantity(memory)} if memory else {})
    findings = list(check(thresholds, around))
    assert all((one.lint, one.severity) == (lint, Severity.NOTE) for one in findings)
    return [f"{one.message}; {one.remedy}" for one in findings]
