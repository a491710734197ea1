"""Finds memory thresholds that are never met, because the OOM killer acts first.

`memory.available` of the kubelet counts memory that processes cannot allocate (`observe.cgroups.unallocatable`). On a node
of 2 GiB it was still 107 MiB when the OOM killer acted, so the documented default of 100Mi did nothing.
"""

from collections.abc import Iterator, Sequence

from evictd.config.lint_model import Lint, LintFinding, Surroundings, limit_on
from evictd.core.model.config import MemoryFormula
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Origin, Threshold
from evictd.core.units.quantity import of_bytes

_MI = 1 << 20
_USABLE = 100 * _MI
"""Usable memory that a threshold should leave: the kubelet's default threshold."""
_ROUND = 10 * _MI
_OOM = "it acts first"
_HARD_ACTS = "only the hard threshold acts, which goes by the kernel's own estimate"
MARGIN = 28 * _MI
"""Least distance above the computed amount at which the OOM killer struck, in 18 trials on machines of 1, 2, 4 and 8 GiB
(docs/benchmarks.md): the last file pages and slab that could be reclaimed. With much slab it was twice as far."""


def memory_never_met(thresholds: Sequence[Threshold], around: Surroundings) -> Iterator[LintFinding]:
    """Yield a finding for each threshold of `memory.available` that this node cannot meet, with a value that it can.

    With the formula `Auto` hard thresholds go by the kernel's estimate, so only soft ones may be among them.
    """
    for threshold in thresholds:
        if around.formula is MemoryFormula.AUTO and threshold.hard:
            continue
        unallocatable = _hides(threshold, around)
        if unallocatable is not None:
            other = MemoryFormula.LOWEST if around.formula is MemoryFormula.AUTO else MemoryFormula.AUTO
            remedy = f"set it to {useful_text(unallocatable)}, or memory.formula: {other.value}"
            hard = around.formula is MemoryFormula.AUTO and any(_is_hard_on_memory(one) for one in thresholds)
            yield _finding(f"{threshold.value} cannot be met", unallocatable, remedy, _HARD_ACTS if hard else _OOM)


def kubelet_never_acts(thresholds: Sequence[Threshold], around: Surroundings) -> Iterator[LintFinding]:
    """Yield a finding for each memory threshold of the kubelet on this node that cannot be met."""
    for threshold in around.kubelet or ():
        unallocatable = _hides(threshold, around)
        if unallocatable is not None and threshold.origin is not Origin.DERIVED and thresholds:
            remedy = f"set evictionHard of the kubelet to {useful_text(unallocatable)}, else it never acts"
            yield _finding(f"the kubelet's {threshold.value} cannot be met", unallocatable, remedy)


def _hides(threshold: Threshold, around: Surroundings) -> int | None:
    """Return the memory that processes cannot allocate, if a threshold on the documented formula is not above it."""
    limit, unallocatable = limit_on(threshold, around.capacities), around.unallocatable_bytes
    if threshold.signal is not Signal.MEMORY_AVAILABLE or limit is None or unallocatable is None:
        return None
    return unallocatable if limit <= of_bytes(unallocatable + MARGIN) else None


def _is_hard_on_memory(threshold: Threshold) -> bool:
    return threshold.hard and threshold.signal is Signal.MEMORY_AVAILABLE


def _finding(what: str, unallocatable: int, remedy: str, result: str = _OOM) -> LintFinding:
    unusable, margin = -(-unallocatable // _MI), MARGIN // _MI
    return LintFinding(
        lint=Lint.MEMORY_THRESHOLD_NEVER_MET,
        signal=Signal.MEMORY_AVAILABLE,
        message=(
            f"{what}: {unusable}Mi count as available although processes cannot allocate them (kernel memory, reserves, "
            f"watermarks), and the kernel's OOM killer acts at least {margin}Mi above that ({unusable + margin}Mi), so {result}"
        ),
        remedy=remedy,
    )


def useful_text(unallocatable: int) -> str:
    """Write `useful_threshold` in Mi."""
    return f"{useful_threshold(unallocatable) // _MI}Mi"


def useful_threshold(unallocatable: int) -> int:
    """Return the value in bytes, in steps of 10Mi, that leaves 100Mi that can be used."""
    return -(-(unallocatable + _USABLE) // _ROUND) * _ROUND
