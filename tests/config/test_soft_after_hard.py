"""Checks the warning of a soft memory threshold that the hard one overtakes."""

import pytest

from evictd.config.lint_model import Lint, Severity, Surroundings
from evictd.config.soft_after_hard import soft_after_hard
from evictd.core.model.config import MemoryFormula
from evictd.core.model.signal import Signal
from evictd.core.model.threshold_config import ThresholdMaps, parse_threshold_config
from evictd.core.units.quantity import parse_quantity

MI = 1 << 20


def found(
    hard: str,
    soft: str,
    memory: str = "",
    unallocatable: int | None = None,
    formula: MemoryFormula = MemoryFormula.AUTO,
) -> list[str]:
    """Messages and remedies on a node of this size, or with so many MiB that no process can allocate."""
    maps = ThresholdMaps(
        hard={"memory.available": hard} if hard else {},
        soft={"memory.available": soft},
        soft_grace_period={"memory.available": "1m"},
    )
    thresholds, problems = parse_threshold_config(maps)
    assert problems == ()
    around = Surroundings(
        capacities={Signal.MEMORY_AVAILABLE: parse_quantity(memory)} if memory else {},
        unallocatable_bytes=None if unallocatable is None else unallocatable * MI,
        formula=formula,
    )
    findings = list(soft_after_hard(thresholds, around))
    assert all((one.lint, one.severity) == (Lint.SOFT_AFTER_HARD, Severity.WARNING) for one in findings)
    return [f"{one.message}; {one.remedy}" for one in findings]


def test_the_soft_threshold_of_a_small_node_is_named() -> None:
    """With 150Mi and 200Mi on 2 GiB each pod was killed after a second; `check` said nothing, and 400Mi gave it 60 s."""
    assert found("150Mi", "200Mi", "2Gi") == [
        (
            "the soft threshold 200Mi acts after the hard one, which leaves out what no process can allocate (99Mi to 169Mi) "
            "and so acts at up to 319Mi by the soft one's count: pods get no grace period of their own then; set it to 350Mi or "
            "more, or memory.formula: Lowest"
        )
    ]
    assert found("150Mi", "350Mi", "2Gi") == []
    (said,) = found("205Mi", "410Mi", "4Gi")
    assert "the soft threshold 410Mi may act after the hard one" in said, "with much kernel memory"
    assert "(137Mi to 207Mi) and so acts at up to 412Mi" in said
    assert said.endswith("set it to 450Mi or more, or memory.formula: Lowest")
    assert len(found("500Mi", "600Mi", "8Gi")) == 1
    assert found("500Mi", "1Gi", "8Gi") == []


def test_what_this_node_computes_comes_before_what_was_measured_elsewhere() -> None:
    assert found("150Mi", "200Mi", "2Gi", unallocatable=20) == []
    assert "(300Mi) and so acts at up to 450Mi" in found("150Mi", "400Mi", "64Gi", unallocatable=300)[0]


@pytest.mark.parametrize(
    ("hard", "soft", "memory", "formula"),
    [
        ("150Mi", "200Mi", "2Gi", MemoryFormula.LOWEST),
        ("150Mi", "200Mi", "64Gi", MemoryFormula.AUTO),
        ("150Mi", "200Mi", "", MemoryFormula.AUTO),
        ("5%", "200Mi", "", MemoryFormula.AUTO),
        ("150Mi", "100Mi", "2Gi", MemoryFormula.AUTO),
        ("", "200Mi", "2Gi", MemoryFormula.AUTO),
    ],
)
def test_one_formula_an_unknown_node_or_what_another_finding_says_is_not_named(
    hard: str, soft: str, memory: str, formula: MemoryFormula
) -> None:
    assert found(hard, soft, memory, formula=formula) == []
    assert found("150Mi", "120Mi", unallocatable=100) == [], "it can never be met, which says more"
