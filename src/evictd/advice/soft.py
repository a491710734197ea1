"""Says how high a soft threshold for memory has to be to be met before the hard one.

With `memory.formula: Auto` a hard threshold goes by the kernel's own estimate, a soft one counts what no process can allocate as
available. One that is not above that amount is never met (`config.never_met`, `config.kernel_share`).
"""

from collections.abc import Sequence

from evictd.advice.evidence import NodeEvidence
from evictd.config.kernel_share import kernel_share
from evictd.core.model.signal import Signal


def soft_need(signal: Signal, nodes: Sequence[NodeEvidence], usable: int) -> int:
    """Return the least soft threshold that is met while so much is left that processes can use.

    Where a journal has less than what was measured on machines of the size, `evictd check` goes by these.
    """
    if signal is not Signal.MEMORY_AVAILABLE:
        return usable
    shares = (kernel_share(node.capacity[signal]) for node in nodes if signal in node.capacity)
    above = max((share.busy + 1 for share in shares if share is not None), default=0)
    return max(usable + max((node.unallocatable for node in nodes), default=0), above)
