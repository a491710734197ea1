"""Finds the hard threshold below which none is proposed.

An eviction that does not show how much a hard one needs is no evidence for less: one by a soft threshold, or one whose use was
not measured. Nor is a hard one where the signal fell faster at another time: the next fall can be the fast one. Nor is any of
memory on a node where the kernel killed for want of it: such a kill frees memory, so that no threshold need be seen to be met.
"""

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum, auto

from evictd.advice.enough import quantile, round_up
from evictd.advice.episode import QUICK, Episode
from evictd.advice.evidence import NodeEvidence
from evictd.core.frozen import frozen
from evictd.core.model.signal import MEMORY_SIGNALS, Signal
from evictd.core.units.duration import SECOND


class NotLower(Enum):
    """Why no lower threshold is proposed."""

    NOT_MEASURED = auto()
    """The use of an eviction was not measured."""
    KILLED = auto()
    """The kernel killed for want of memory of the node."""
    NO_HARD = auto()
    """No eviction of the node was by the hard threshold."""
    SOFT = auto()
    """A soft eviction does not show how long a hard one waits until pods are measured."""
    FAST = auto()
    """The signal fell faster than in its hard evictions."""


@frozen
class Floor:
    """The least hard threshold that is proposed, and the node that it comes from."""

    amount: int = 0
    node: str = ""
    why: NotLower = NotLower.NOT_MEASURED
    rate: int = 0
    """The fastest recorded fall on that node, in units a second."""
    capacity: int = 0
    """Capacity of that node; 0 if it was not recorded."""


def floor_of(signal: Signal, nodes: Sequence[NodeEvidence], cover: int) -> Floor:
    """Return the hard threshold below which none is proposed."""
    floors = [
        replace(_of_node(node, signal, found), capacity=node.capacity.get(signal, 0))
        for node in nodes
        if (found := node.episodes_of(signal))
    ]
    amount = quantile([each.amount for each in floors], cover)
    return next((each for each in floors if each.amount == amount), Floor())


def _of_node(node: NodeEvidence, signal: Signal, episodes: Sequence[Episode]) -> Floor:
    rate, most = node.fastest.get(signal, 0), max(each.threshold for each in episodes)
    hard = [each for each in episodes if each.hard and each.known]
    if node.killed and signal in MEMORY_SIGNALS:
        return Floor(amount=most, node=node.node, why=NotLower.KILLED, rate=rate)
    unknown = not all(each.known for each in episodes)
    if not hard:
        why = NotLower.NOT_MEASURED if unknown else NotLower.NO_HARD
        return Floor(amount=most, node=node.node, why=why, rate=rate)
    shown = max((each.threshold for each in episodes if not each.shows_hard), default=0)
    fast = min(most, round_up(max(_need(each, rate) for each in hard)))
    if fast > shown:
        return Floor(amount=fast, node=node.node, why=NotLower.FAST, rate=rate)
    return Floor(amount=shown, node=node.node, why=NotLower.NOT_MEASURED if unknown else NotLower.SOFT, rate=rate)


def _need(each: Episode, rate: int) -> int:
    """Return what this eviction needs where the signal falls so fast; 0 where it fell as fast."""
    if rate <= each.rate:
        return 0
    return rate * min(each.took or QUICK, QUICK) // SECOND + each.reserve + each.overcounted
