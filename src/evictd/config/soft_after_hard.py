"""Finds a soft memory threshold that the hard one overtakes, because only the hard one leaves out what no process can allocate.

With the formula `Auto` a hard threshold goes by the kernel's estimate where that is lower, a soft one by the kubelet's formula
(docs/adr/0017-formula-auto.md). On a node of 2 GiB with 150Mi and 200Mi the hard one acts while 250 MiB are available by the
kubelet's formula, and the pod gets no grace period of its own.
"""

from collections.abc import Iterator, Sequence

from evictd.config.kernel_share import KernelShare, kernel_share
from evictd.config.lint_model import Lint, LintFinding, Surroundings, at_most, highest_limit, limit_on
from evictd.config.never_met import memory_never_met, useful_text
from evictd.core.model.config import MemoryFormula
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Origin, Threshold
from evictd.core.units.quantity import Quantity

_MI = 1 << 20
_SIGNAL = Signal.MEMORY_AVAILABLE


def soft_after_hard(thresholds: Sequence[Threshold], around: Surroundings) -> Iterator[LintFinding]:
    """Yield a finding for each soft threshold of `memory.available` that is above the hard one by less than that memory."""
    unallocatable = _unallocatable(around)
    own = [each for each in thresholds if each.signal is _SIGNAL and each.origin is not Origin.DERIVED]
    hard = highest_limit([each for each in own if each.hard], _SIGNAL, around)
    if around.formula is not MemoryFormula.AUTO or unallocatable is None or hard is None:
        return
    acts_at, useful = hard.value() + unallocatable.busy, useful_text(hard.value() + unallocatable.idle)
    for soft in (each for each in own if not each.hard):
        limit = limit_on(soft, around.capacities)
        if limit is None or limit.value() > acts_at or any(memory_never_met([soft], around)):
            continue
        if not any(each.hard and at_most(soft, each, around) for each in own):
            yield LintFinding(
                lint=Lint.SOFT_AFTER_HARD,
                signal=_SIGNAL,
                message=(
                    f"the soft threshold {soft.bound[1:]} {_when(limit, hard, unallocatable)} the hard one, which leaves out "
                    f"what no process can allocate ({_range(unallocatable)}) and so acts at up to {acts_at // _MI}Mi by the soft "
                    "one's count: pods get no grace period of their own then"
                ),
                remedy=f"set it to {useful} or more, or memory.formula: {MemoryFormula.LOWEST.value}",
            )


def _when(soft: Quantity, hard: Quantity, unallocatable: KernelShare) -> str:
    """Return whether it acts after the hard one on every such node, or with much kernel memory only."""
    return "acts after" if soft.value() <= hard.value() + unallocatable.idle else "may act after"


def _range(unallocatable: KernelShare) -> str:
    return f"{unallocatable.idle // _MI}Mi" if unallocatable.idle == unallocatable.busy else unallocatable.text


def _unallocatable(around: Surroundings) -> KernelShare | None:
    """Return the bytes that no process can allocate, of this node or of a measured machine of its size; `None` if unknown."""
    if around.unallocatable_bytes is not None:
        return KernelShare(idle=around.unallocatable_bytes, busy=around.unallocatable_bytes)
    capacity = around.capacities.get(_SIGNAL)
    return None if capacity is None else kernel_share(capacity.value())
