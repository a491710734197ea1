"""Joins two readings of a node, one from before its pods were read and one from after it.

Of each amount the larger one counts. What made the node short may end between the two: a process that the kernel kills, a volume
of a removed pod. Then the pods' numbers do not have it any more, and with the first reading another pod would go. What fills the
node may also grow between the two, while evictd is halted: then the pods' numbers do not have it yet, and with the second one
another pod would go.
"""

from dataclasses import replace
from typing import TypeVar

from evictd.core.model.stats import FsStats, MemoryStats, NodeStats, RlimitStats, SwapStats

_Memory = TypeVar("_Memory", MemoryStats, SwapStats)


def more_available(first: NodeStats, second: NodeStats) -> NodeStats:
    """Return the second reading, with each amount of the first that is larger or could be read then alone."""
    return replace(
        second,
        memory=_memory(first.memory, second.memory),
        pods_memory=_memory(first.pods_memory, second.pods_memory),
        fs=_fs(first.fs, second.fs),
        image_fs=_fs(first.image_fs, second.image_fs),
        container_fs=_fs(first.container_fs, second.container_fs),
        rlimit=_pids(first.rlimit, second.rlimit),
        swap=_memory(first.swap, second.swap),
    )


def _memory(first: _Memory | None, second: _Memory | None) -> _Memory | None:
    if first is None or first.available_bytes is None:
        return second
    if second is None or second.available_bytes is None:
        return first
    return first if first.available_bytes > second.available_bytes else second


def _fs(first: FsStats | None, second: FsStats | None) -> FsStats | None:
    if first is None or second is None:
        return second or first
    return replace(
        second,
        available_bytes=_larger(first.available_bytes, second.available_bytes),
        inodes_free=_larger(first.inodes_free, second.inodes_free),
    )


def _pids(first: RlimitStats | None, second: RlimitStats | None) -> RlimitStats | None:
    if first is None or first.max_pid is None or first.current is None:
        return second
    if second is None or second.max_pid is None or second.current is None:
        return first
    return first if first.max_pid - first.current > second.max_pid - second.current else second


def _larger(first: int | None, second: int | None) -> int | None:
    return max((each for each in (first, second) if each is not None), default=None)
