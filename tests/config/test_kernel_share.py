"""Checks the estimate of the memory that processes cannot allocate against the machines that were measured."""

import pytest

from evictd.config.kernel_share import KernelShare, below_kernel_share, kernel_share
from evictd.core.model.config import MemoryFormula
from tests.playbook import threshold

MI, GI = 1 << 20, 1 << 30


@pytest.mark.parametrize(("memory", "idle", "busy"), [(1, 92, 162), (4, 137, 207), (3, 118, 188), (8, 163, 234)])
def test_the_share_is_as_measured_and_between_the_machines_in_proportion(memory: int, idle: int, busy: int) -> None:
    assert kernel_share(memory * GI) == KernelShare(idle * MI, busy * MI)


@pytest.mark.parametrize("memory", [256 * MI, 16 * GI])
def test_a_machine_of_another_size_has_no_estimate(memory: int) -> None:
    assert kernel_share(memory) is None


def test_only_a_threshold_that_counts_the_share_is_below_it() -> None:
    soft, hard = threshold("memory.available", "120Mi", grace="5s"), threshold("memory.available", "120Mi")
    found = below_kernel_share(soft, MemoryFormula.AUTO, 4 * GI)
    assert found is not None
    assert found.text == "137Mi to 207Mi"
    assert below_kernel_share(hard, MemoryFormula.AUTO, 4 * GI) is None
    assert below_kernel_share(hard, MemoryFormula.WORKING_SET, 4 * GI) is not None
    assert below_kernel_share(soft, MemoryFormula.MEM_AVAILABLE, 4 * GI) is None
    assert below_kernel_share(threshold("memory.available", "500Mi"), MemoryFormula.WORKING_SET, 4 * GI) is None
    assert below_kernel_share(threshold("nodefs.available", "100Mi"), MemoryFormula.WORKING_SET, 4 * GI) is None
