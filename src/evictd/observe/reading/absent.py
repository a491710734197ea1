"""Finds the signals that a node does not have, as opposed to those that could not be read."""

from evictd.core.model.signal import Signal
from evictd.core.model.stats import NodeStats


def absent_signals(node: NodeStats, swap_total: int | None) -> frozenset[Signal]:
    """Return the signals that this node is known not to have; `swap_total` in bytes, `None` where it was not read.

    Swap ends with swapoff, the limit of all pods with a change of `enforceNodeAllocatable`, and btrfs has no number of inodes.
    Where the reading succeeded and shows that there is nothing to measure, the signal is absent, and its condition ends. Where it
    failed nothing is known, and the condition stays.
    """
    inodes = {
        Signal.NODEFS_INODES_FREE: node.fs,
        Signal.IMAGEFS_INODES_FREE: node.image_fs,
        Signal.CONTAINERFS_INODES_FREE: node.container_fs,
    }
    found = {signal for signal, fs in inodes.items() if fs is not None and fs.inodes is None}
    if swap_total == 0:
        found.add(Signal.SWAP_AVAILABLE)
    if node.pods_memory is not None and node.pods_memory.available_bytes is None:
        found.add(Signal.ALLOCATABLE_MEMORY_AVAILABLE)
    return frozenset(found)
