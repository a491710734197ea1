"""Joins two readings of a node, one from before its pods were read and one from after it.

Of each amount the larger one counts. What made the node short may end between the two: a process that the kernel kills, a volume
of a removed pod. Then the pods' numbers do not have it any more, and with the first reading another pod would go. What fills the
node may also grow between the two, while evictd is halted: then the pods' numbers do not have it yet, and with the second one
another pod would go.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from evictd.core.model.stats import FsStats, MemoryStats, NodeStats, RlimitStats, SwapStats

_Stats = TypeVar("_Stats")


def more_available(first: NodeStats, second: NodeStats) -> NodeStats:
    """Return the second reading, with each amount of the first that is larger or could be read then alone."""
    return replace(
        second,
        memory=_larger(first.memory, second.memory, _bytes),
        pods_memory=_larger(first.pods_memory, second.pods_memory, _bytes),
        fs=_fs(first.fs, second.fs),
        image_fs=_fs(first.image_fs, second.image_fs),
        container_fs=_fs(first.container_fs, second.container_fs),
        rlimit=_larger(first.rlimit, second.rlimit, _pids),
        swap=_larger(first.swap, second.swap, _bytes),
    )


def _larger(first: _Stats | None, second: _Stats | None, available: Callable[[_Stats], int | None]) -> _Stats | None:
    """Return the statistic with more available; of one that was not read, the other."""
    before = None if first is None else available(first)
    after = None if second is None else available(second)
    if before is None:
        return second
    return first if after is None or before > after else second


def _bytes(stats: MemoryStats | SwapStats) -> int | None:
    return stats.available_bytes


def _pids(stats: RlimitStats) -> int | None:
    return None if stats.max_pid is None or stats.current is None else stats.max_pid - stats.current


def _amount(amount: int) -> int:
    return amount


def _fs(first: FsStats | None, second: FsStats | None) -> FsStats | None:
    """Return the later reading, with the larger of the bytes and the larger of the inodes: each is an amount of its own."""
    if first is None or second is None:
        return second or first
    return replace(
        second,
        available_bytes=_larger(first.available_bytes, second.available_bytes, _amount),
        inodes_free=_larger(first.inodes_free, second.inodes_free, _amount),
    )
