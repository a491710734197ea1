"""`memory.available` by each formula, from the documented reading and the kernel's estimate."""

import pytest

from evictd.core.model.config import EvictionConfig, MemoryFormula, Policy, memory_formula
from evictd.core.model.memory_formula import available_by, unallocatable_by

AUTO, LOWEST = MemoryFormula.AUTO, MemoryFormula.LOWEST
WORKING_SET, MEM_AVAILABLE = MemoryFormula.WORKING_SET, MemoryFormula.MEM_AVAILABLE


@pytest.mark.parametrize(
    ("formula", "documented", "kernels", "available"),
    [
        (WORKING_SET, 9, 5, 9),
        (MEM_AVAILABLE, 9, 5, 5),
        (MEM_AVAILABLE, None, 5, 5),
        (LOWEST, 9, 5, 5),
        (LOWEST, 5, 9, 5),
        (LOWEST, 9, None, None),
        (AUTO, 9, 5, 5),
        (AUTO, 5, 9, 5),
        (AUTO, 9, None, 9),
        (AUTO, None, 5, None),
    ],
)
def test_what_is_available(
    formula: MemoryFormula, documented: int | None, kernels: int | None, available: int | None
) -> None:
    assert available_by(formula, documented, kernels) == available


@pytest.mark.parametrize(
    ("formula", "documented", "available", "more"),
    [(AUTO, 9, 5, 4), (AUTO, 9, 9, None), (AUTO, None, 5, None), (LOWEST, 9, 5, None), (WORKING_SET, 9, 9, None)],
)
def test_only_auto_keeps_the_difference(
    formula: MemoryFormula, documented: int | None, available: int, more: int | None
) -> None:
    assert unallocatable_by(formula, documented, available) == more


@pytest.mark.parametrize(
    ("policy", "formula", "used"),
    [
        (Policy.STANDARD, AUTO, AUTO),
        (Policy.KUBELET, AUTO, WORKING_SET),
        (Policy.KUBELET, LOWEST, LOWEST),
    ],
)
def test_policy_kubelet_reads_as_the_kubelet_does(policy: Policy, formula: MemoryFormula, used: MemoryFormula) -> None:
    assert memory_formula(EvictionConfig(policy=policy, memory_formula=formula)) is used
