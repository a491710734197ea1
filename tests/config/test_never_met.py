"""Memory thresholds that the OOM killer precedes."""

from dataclasses import replace

import pytest

from evictd.config.lint import lint
from evictd.config.lint_model import Lint, Severity, Surroundings
from evictd.config.never_met import MARGIN, memory_never_met, useful_threshold
from evictd.core.model.config import MemoryFormula
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Threshold, ThresholdValue
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import of_bytes

MI = 1 << 20
MACHINE = Surroundings(capacities={Signal.MEMORY_AVAILABLE: of_bytes(2048 * MI)}, unallocatable_bytes=107 * MI)


def memory(limit: int, signal: Signal = Signal.MEMORY_AVAILABLE) -> Threshold:
    return Threshold(signal=signal, value=ThresholdValue(quantity=of_bytes(limit)))


def fraction(part: float) -> Threshold:
    return Threshold(signal=Signal.MEMORY_AVAILABLE, value=ThresholdValue(fraction=part))


def test_the_default_of_100mi_on_a_node_of_2_gib_is_found_with_the_value_that_works() -> None:
    """In 3 of 3 trials it never fired, and `check` found nothing."""
    (found,) = memory_never_met([memory(100 * MI)], MACHINE)
    assert (found.lint, found.severity) == (Lint.MEMORY_THRESHOLD_NEVER_MET, Severity.WARNING)
    assert found.message.startswith(
        "100Mi cannot be met: 107Mi count as available although processes cannot allocate them"
    )
    assert found.message.endswith("the kernel's OOM killer acts at least 28Mi above that (135Mi), so it acts first")
    assert found.remedy == "set it to 210Mi, or memory.formula: Auto"
    assert not list(memory_never_met([memory(210 * MI)], MACHINE))


@pytest.mark.parametrize(
    ("threshold", "found"),
    [(memory(107 * MI + MARGIN), 1), (memory(107 * MI + MARGIN + 1), 0), (fraction(0.05), 1), (fraction(0.07), 0)],
)
def test_a_threshold_at_or_below_what_no_process_can_have_is_never_met(threshold: Threshold, found: int) -> None:
    assert len(list(memory_never_met([threshold], MACHINE))) == found


def test_by_formula_auto_only_a_soft_threshold_is_hidden() -> None:
    soft = replace(memory(100 * MI), grace_period=SECOND)
    (found,) = memory_never_met([memory(100 * MI), soft], replace(MACHINE, formula=MemoryFormula.AUTO))
    assert found.remedy == "set it to 210Mi, or memory.formula: Lowest"
    assert found.message.endswith("so only the hard threshold acts, which goes by the kernel's own estimate")
    (alone,) = memory_never_met([soft], replace(MACHINE, formula=MemoryFormula.AUTO))
    assert alone.message.endswith("(135Mi), so it acts first")


def test_other_signals_and_unknown_amounts_are_left_alone() -> None:
    pods = memory(MI, Signal.ALLOCATABLE_MEMORY_AVAILABLE)
    assert not list(memory_never_met([pods], MACHINE))
    assert not list(memory_never_met([memory(MI)], Surroundings()))


def test_it_takes_the_place_of_the_finding_about_the_low_watermark() -> None:
    around = Surroundings(unallocatable_bytes=107 * MI, low_watermark_bytes=101 * MI, filesystems=())
    lints = [one.lint for one in lint([memory(100 * MI)], around)]
    assert Lint.MEMORY_THRESHOLD_NEVER_MET in lints
    assert Lint.BELOW_LOW_WATERMARK not in lints


def test_the_value_that_works_leaves_100mi() -> None:
    assert useful_threshold(107 * MI) == 210 * MI
    assert useful_threshold(0) == 100 * MI


def test_a_threshold_above_what_no_process_can_have_is_explained_by_the_margin() -> None:
    """`200Mi cannot be met: 190Mi count as available`: 200 is more than 190."""
    (found,) = memory_never_met([memory(130 * MI)], MACHINE)
    assert found.message.startswith("130Mi cannot be met: 107Mi count as available ")
    assert "at least 28Mi above that (135Mi)" in found.message
