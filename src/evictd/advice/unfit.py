"""Finds a node that a hard threshold of other nodes does not fit.

There it would be met always, or act before the soft threshold that is kept on the node.
"""

from collections.abc import Iterable

from evictd.advice.evidence import NodeEvidence
from evictd.core.frozen import frozen
from evictd.core.model.signal import Signal


@frozen
class Unfit:
    """A node, and the amount that a hard threshold is not to exceed on it."""

    node: str
    amount: int
    soft: bool
    """Whether that is its soft threshold; else the most that was available in any of its readings."""


def unfit(signal: Signal, hard: int, nodes: Iterable[NodeEvidence], *, keeps_soft: bool) -> Unfit | None:
    """Return the node with the least such amount, of those whose hard threshold would be raised beyond it; `None` without one."""
    found = [
        Unfit(node=node.node, amount=amount, soft=soft)
        for node in nodes
        for soft, amount in ((False, node.most.get(signal)), (True, node.soft.get(signal) if keeps_soft else None))
        if amount is not None and node.hard.get(signal, 0) < amount < hard
    ]
    return min(found, key=lambda each: each.amount, default=None)
