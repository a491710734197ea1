"""Which signals a node is known not to have."""

from evictd.core.model.signal import Signal
from evictd.core.model.stats import FsStats, MemoryStats, NodeStats
from evictd.observe.reading.absent import absent_signals


def test_what_was_not_read_is_not_absent() -> None:
    assert absent_signals(NodeStats(), None) == frozenset()


def test_what_is_there_is_not_absent() -> None:
    node = NodeStats(
        fs=FsStats(inodes=9), pods_memory=MemoryStats(available_bytes=0), image_fs=FsStats(inodes=9, inodes_free=0)
    )
    assert absent_signals(node, 1) == frozenset()


def test_what_is_read_and_not_there_is_absent() -> None:
    node = NodeStats(fs=FsStats(available_bytes=1), container_fs=FsStats(), pods_memory=MemoryStats(usage_bytes=1))
    assert absent_signals(node, 0) == {
        Signal.NODEFS_INODES_FREE,
        Signal.CONTAINERFS_INODES_FREE,
        Signal.SWAP_AVAILABLE,
        Signal.ALLOCATABLE_MEMORY_AVAILABLE,
    }
