"""Finds the threshold of another signal on the same disk that acts before one that would be proposed.

On most nodes images lie on nodefs: a lower threshold for imagefs is never met beside that of nodefs, which a node keeps.
Neither is a lower one for the memory of all pods beside that of `memory.available`, of which the kubelet has a copy for them.
"""

from collections.abc import Collection, Sequence

from evictd.advice.evidence import NodeEvidence
from evictd.core.model.signal import SIGNALS, Signal


def acts_first(
    signal: Signal, hard: int, nodes: Sequence[NodeEvidence], proposed: Collection[Signal]
) -> tuple[Signal, int] | None:
    """Return the signal that acts before this hard threshold, and the least threshold of it that the nodes keep.

    Only where that is so on each node that had an eviction; thresholds that are proposed are not kept.
    """
    evicted = [node for node in nodes if node.episodes_of(signal)]
    copied = [node.hard[signal] for node in evicted if signal in node.derived and signal in node.hard]
    if signal is Signal.ALLOCATABLE_MEMORY_AVAILABLE and copied and len(copied) == len(evicted) and min(copied) > hard:
        # The threshold of memory.available counts for the pods' memory too, beside one that is set for it.
        return None if Signal.MEMORY_AVAILABLE in proposed else (Signal.MEMORY_AVAILABLE, min(copied))
    for other in Signal:
        if other is signal or other in proposed:
            continue
        kept = [node.hard[other] for node in evicted if _on_its_disk(signal, other, node) and other in node.hard]
        if kept and len(kept) == len(evicted) and min(kept) >= hard:
            return other, min(kept)
    return None


def _on_its_disk(signal: Signal, other: Signal, node: NodeEvidence) -> bool:
    """Whether two signals are of one disk, by its capacity; not where the other's threshold is derived from this one's."""
    one, two = SIGNALS[signal], SIGNALS[other]
    same = one.filesystem is not None and two.filesystem is not None and one.resource is two.resource
    return same and other not in node.derived and node.capacity.get(signal) == node.capacity.get(other)
