"""Says how high a soft threshold has to be to be met before the hard one, and how long before it.

With `memory.formula: Auto` a hard threshold goes by the kernel's own estimate, a soft one counts what no process can allocate as
available. One that is not above that amount is never met (`config.never_met`, `config.kernel_share`).
"""

from collections.abc import Sequence

from evictd.advice.enough import round_up
from evictd.advice.episode import longest_wait
from evictd.advice.evidence import AtRest, NodeEvidence
from evictd.config.kernel_share import kernel_share
from evictd.core.model.signal import Signal
from evictd.core.units.duration import SECOND

SOFT_GRACE = 30 * SECOND
"""The grace period that is advised for a soft threshold: three cycles, so that one high reading does not count."""


def time_to_hard(signal: Signal, pod_grace: int) -> int:
    """Return how long before the hard threshold the soft one has to be met, so that a pod has its grace period in seconds."""
    return SOFT_GRACE + longest_wait(signal) + pod_grace * SECOND


def soft_need(signal: Signal, nodes: Sequence[NodeEvidence], usable: int) -> tuple[int, int]:
    """Return the least soft threshold that is met while so much is left that processes can use, and what they cannot allocate.

    Where a journal has less than what was measured on machines of the size, `evictd check` goes by these.
    """
    if signal is not Signal.MEMORY_AVAILABLE:
        return usable, 0
    shares = (kernel_share(node.capacity[signal]) for node in nodes if signal in node.capacity)
    busy = max((share.busy for share in shares if share is not None), default=-1)
    unallocatable = max((node.unallocatable for node in nodes), default=0)
    return max((usable + unallocatable, unallocatable), (busy + 1, busy))


def fast_nodes(
    signal: Signal, nodes: Sequence[NodeEvidence], hard: int, pod_grace: int, most: float
) -> tuple[str, ...]:
    """Return the nodes where a signal falls too fast for a soft threshold of at most this amount; none if it does on all."""
    rates = {
        node.node: max((each.rate for each in node.episodes_of(signal) if each.known), default=0) for node in nodes
    }
    measured = {node: rate for node, rate in rates.items() if rate}
    wait = time_to_hard(signal, pod_grace)
    needs = {node: soft_need(signal, nodes, hard + rate * wait // SECOND)[0] for node, rate in measured.items()}
    fast = tuple(sorted(node for node, need in needs.items() if round_up(need) > most))
    return fast if len(fast) < len(measured) else ()


def met_at_rest(signal: Signal, soft: int, nodes: Sequence[NodeEvidence]) -> AtRest | None:
    """Return the least amount at rest that meets this soft threshold on any node: pods would go without a shortage."""
    found = [
        rest
        for node in nodes
        if (rest := node.rest.get(signal)) is not None
        and rest.amount < soft - (node.unallocatable if signal is Signal.MEMORY_AVAILABLE else 0)
    ]
    return min(found, key=lambda each: each.amount, default=None)
