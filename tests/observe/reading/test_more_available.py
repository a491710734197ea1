"""Two readings of a node: of each amount the larger one counts."""

import pytest

from evictd.core.model.stats import FsStats, MemoryStats, NodeStats, RlimitStats, SwapStats
from evictd.observe.reading.more_available import more_available

SHORT = NodeStats(
    memory=MemoryStats(time=1, available_bytes=1),
    pods_memory=MemoryStats(time=1, available_bytes=-1),
    fs=FsStats(time=1, available_bytes=1, inodes_free=9),
    image_fs=FsStats(time=1, available_bytes=1, inodes_free=9),
    container_fs=FsStats(time=1, available_bytes=1, inodes_free=9),
    rlimit=RlimitStats(time=1, max_pid=100, current=99),
    swap=SwapStats(time=1, available_bytes=1),
)
CALM = NodeStats(
    memory=MemoryStats(time=2, available_bytes=5),
    pods_memory=MemoryStats(time=2, available_bytes=5),
    fs=FsStats(time=2, available_bytes=5, inodes_free=5),
    image_fs=FsStats(time=2, available_bytes=5, inodes_free=5),
    container_fs=FsStats(time=2, available_bytes=5, inodes_free=5),
    rlimit=RlimitStats(time=2, max_pid=100, current=5),
    swap=SwapStats(time=2, available_bytes=5),
)


@pytest.mark.parametrize(("first", "second", "time"), [(SHORT, CALM, 2), (CALM, SHORT, 1)])
def test_the_larger_amount_counts_whichever_reading_has_it(first: NodeStats, second: NodeStats, time: int) -> None:
    found = more_available(first, second)
    disk = FsStats(time=time, available_bytes=5, inodes_free=9)
    assert (found.fs, found.image_fs, found.container_fs) == (disk, disk, disk)
    assert (found.memory, found.pods_memory) == (CALM.memory, CALM.pods_memory)
    assert (found.rlimit, found.swap) == (CALM.rlimit, CALM.swap)


@pytest.mark.parametrize(
    "unread", [NodeStats(), NodeStats(memory=MemoryStats(), rlimit=RlimitStats(), swap=SwapStats())]
)
def test_what_was_read_once_counts(unread: NodeStats) -> None:
    for found in (more_available(SHORT, unread), more_available(unread, SHORT)):
        assert (found.memory, found.pods_memory, found.fs) == (SHORT.memory, SHORT.pods_memory, SHORT.fs)
        assert (found.rlimit, found.swap) == (SHORT.rlimit, SHORT.swap)
    assert more_available(unread, unread).fs is None
