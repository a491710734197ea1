"""Estimates how much memory still counts as available on a node when the OOM killer acts, from machines that were measured.

A configuration is checked for another node, or in a world, whose kernel cannot be asked (`never_met` computes it for this one).
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from evictd.core.model.config import MemoryFormula
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Origin, Threshold
from evictd.core.units.quantity import of_bytes

_MI, _GI = 1 << 20, 1 << 30


class KernelShare(NamedTuple):
    """Memory that processes cannot allocate, in bytes: of an idle node, and of one with much kernel memory."""

    idle: int
    busy: int

    @property
    def text(self) -> str:
        """The range, as `137Mi to 207Mi`."""
        return f"{self.idle // _MI}Mi to {self.busy // _MI}Mi"


_MEASURED: Sequence[tuple[int, int, int]] = ((1, 92, 162), (2, 99, 169), (4, 137, 207), (8, 163, 234))
"""GiB of the machine, MiB when idle and with much slab (docs/benchmarks.md)."""
_LEAST = 9 * _GI // 10
"""A machine of 1 GiB has somewhat less memory than that."""


def kernel_share(memory: int) -> KernelShare | None:
    """Return the share on a node with so much memory, between the measured ones in proportion; `None` outside of them."""
    if not _LEAST <= memory <= _MEASURED[-1][0] * _GI:
        return None
    for (low, *least), (high, *most) in pairwise(_MEASURED):
        if memory <= high * _GI:
            part = max(memory - low * _GI, 0) / ((high - low) * _GI)
            return KernelShare(*(round(a + (b - a) * part) * _MI for a, b in zip(least, most, strict=True)))
    return None


def counts_kernel_share(threshold: Threshold, formula: MemoryFormula) -> bool:
    """Whether a threshold counts what no process can allocate as available.

    With the formula `Auto` only soft thresholds do, with `WorkingSet` all.
    """
    counts = formula is MemoryFormula.WORKING_SET or (formula is MemoryFormula.AUTO and not threshold.hard)
    return threshold.signal is Signal.MEMORY_AVAILABLE and threshold.origin is not Origin.DERIVED and counts


def below_kernel_share(threshold: Threshold, formula: MemoryFormula, memory: int) -> KernelShare | None:
    """Return the share of a node if a threshold that counts it as available is not above it on every such node."""
    if not counts_kernel_share(threshold, formula):
        return None
    share = kernel_share(memory)
    return share if share is not None and threshold.value.resolve(of_bytes(memory)) <= of_bytes(share.busy) else None
