"""Computes `memory.available` by a formula from both readings of it.

The documented reading is capacity minus working set. It counts memory that processes cannot allocate: the kernel's own memory and
its reserves are in no cgroup's usage. The kernel's estimate (`MemAvailable`) has neither, but counts active file pages as free.
"""

from evictd.core.model.config import MemoryFormula


def available_by(formula: MemoryFormula, documented: int | None, kernels: int | None) -> int | None:
    """Return the available bytes by a formula from both readings; `None` where it needs one that is missing."""
    if formula is MemoryFormula.MEM_AVAILABLE:
        return kernels
    if documented is None or formula is MemoryFormula.WORKING_SET:
        return documented
    if kernels is None:
        return documented if formula is MemoryFormula.AUTO else None
    return min(documented, kernels)


def unallocatable_by(formula: MemoryFormula, documented: int | None, available: int) -> int | None:
    """Return the amount that soft thresholds add to `available` to use the documented formula; `None` for nothing."""
    if formula is not MemoryFormula.AUTO or documented is None or documented <= available:
        return None
    return documented - available
