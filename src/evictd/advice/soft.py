"""Says how high a soft threshold has to be to be met before the hard one, and how long before it.

With `memory.formula: Auto` a hard threshold goes by the kernel's own estimate, a soft one counts what no process can allocate as
available. One that is not above that amount is never met (`config.never_met`, `config.kernel_share`).
"""

from collections.abc import Sequence
from typing import NamedTuple

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


class HardActs(NamedTuple):
    """Where a hard threshold can act, by the count of a soft one."""

    at: int
    unallocatable: int
    """What of it no process can allocate."""
    node: str


def hard_acts(signal: Signal, nodes: Sequence[NodeEvidence], hard: int, *, keeps: bool) -> HardActs:
    """Return where a hard threshold acts the earliest; with `keeps` each node has its own if that is higher.

    Where a journal has less than what was measured on machines of the size, `evictd check` goes by these.
    """
    found = [HardActs(hard, 0, "")]
    for node in nodes:
        share = kernel_share(node.capacity.get(signal, 0)) if signal is Signal.MEMORY_AVAILABLE else None
        hidden = max(_unallocatable(signal, [node]), 0 if share is None else share.busy)
        own = node.hard.get(signal, 0) if keeps else 0
        found.append(HardActs(max(hard, own) + hidden, hidden, node.node))
    return max(found)


def soft_need(signal: Signal, nodes: Sequence[NodeEvidence], usable: int, acts: HardActs) -> tuple[int, int]:
    """Return the least soft threshold that is met while so much is left that processes can use, and what they cannot allocate.

    It is above where the hard threshold acts on each of the nodes.
    """
    unallocatable = _unallocatable(signal, nodes)
    return max((usable + unallocatable, unallocatable), (acts.at + 1, acts.unallocatable))


def _unallocatable(signal: Signal, nodes: Sequence[NodeEvidence]) -> int:
    return max((node.unallocatable for node in nodes), default=0) if signal is Signal.MEMORY_AVAILABLE else 0


def fast_nodes(
    signal: Signal, nodes: Sequence[NodeEvidence], hard: int, pod_grace: int, most: float
) -> tuple[str, ...]:
    """Return the nodes where a signal falls too fast for a soft threshold of at most this amount; none if it does on all."""
    rates = {
        node.node: max((each.rate for each in node.episodes_of(signal) if each.known), default=0) for node in nodes
    }
    measured = {node: rate for node, rate in rates.items() if rate}
    wait, acts = time_to_hard(signal, pod_grace), HardActs(0, 0, "")
    needs = {node: soft_need(signal, nodes, hard + rate * wait // SECOND, acts)[0] for node, rate in measured.items()}
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
