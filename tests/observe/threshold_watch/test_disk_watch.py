"""Disks are read between two cycles as often as they could run short, and a crossing ends the wait."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from evictd.core.eviction.time_left import SHORTEST
from evictd.core.model.finding import ThresholdFinding
from evictd.core.model.signal import Filesystem, Signal
from evictd.core.model.stats import MemoryStats
from evictd.core.units.duration import MILLISECOND, MINUTE, SECOND
from evictd.core.units.quantity import of_bytes
from evictd.observe.filesystems.filesystem import FilesystemReader
from evictd.observe.threshold_watch.disk_watch import TIMEOUT, DiskWatch, Noticed
from evictd.observe.threshold_watch.memory_watch import MemoryWatch, Woken
from evictd.observe.threshold_watch.recent_fill import RecentFill
from tests.daemon.world import DISK, GI
from tests.kube.waiting import eventually
from tests.observe.threshold_watch.polled_time import PolledTime, polled_time

__all__ = ["polled_time"]

MIB = 1 << 20
PATHS = {Filesystem.NODEFS: Path("/node"), Filesystem.IMAGEFS: Path("/images")}
HOUR = 60 * MINUTE


class Disks:
    """Two disks whose free space the test sets."""

    def __init__(self) -> None:
        self.left = {"/node": 40 * GI, "/images": 40 * GI}
        self.inodes = 10_000_000
        self.readings: list[str] = []

    def statvfs(self, path: str) -> os.statvfs_result:
        self.readings.append(path)
        free = self.left[path] // 4096
        return os.statvfs_result(
            (4096, 4096, 100 * GI // 4096, free, free, 20_000_000, self.inodes, self.inodes, 0, 255)
        )


@pytest.fixture
def disks() -> Disks:
    return Disks()


@pytest.fixture
def watch(disks: Disks) -> Iterator[DiskWatch]:
    with closing(DiskWatch(lambda: PATHS, reader=FilesystemReader(statvfs=disks.statvfs))) as made:
        yield made


def finding(available: int, limit: int = 10 * GI, signal: Signal = Signal.NODEFS_AVAILABLE) -> ThresholdFinding:
    return ThresholdFinding(
        threshold=replace(DISK, signal=signal),
        available=of_bytes(available),
        capacity=of_bytes(100 * GI),
        limit=of_bytes(limit),
        met=available < limit,
    )


def due_in(watch: DiskWatch, now: int) -> int:
    assert watch.due is not None
    return watch.due - now


def test_a_disk_with_much_left_is_not_read_between_two_cycles(watch: DiskWatch) -> None:
    watch.set_thresholds([finding(40 * GI)], 5 * SECOND)
    assert due_in(watch, 5 * SECOND) == 10 * SECOND


@pytest.mark.parametrize(
    ("left", "expected"), [(5 * GI, 5 * SECOND), (GI, SECOND), (100 * MIB, 100 * MILLISECOND), (0, SHORTEST)]
)
def test_the_less_is_left_the_sooner_it_is_read(watch: DiskWatch, left: int, expected: int) -> None:
    watch.set_thresholds([finding(10 * GI + left)], 0)
    assert due_in(watch, 0) == expected


@pytest.mark.parametrize(
    ("signal", "limit", "rate"),
    [(Signal.NODEFS_AVAILABLE, 10 * GI, 500 * MIB), (Signal.NODEFS_INODES_FREE, 100_000, 50_000)],
)
def test_the_first_fill_of_a_calm_disk_is_noticed_soon_after_its_crossing(
    watch: DiskWatch, disks: Disks, signal: Signal, limit: int, rate: int
) -> None:
    """It begins right after a reading, four seconds before the crossing."""
    watch.set_thresholds([finding(limit + 4 * rate, limit, signal)], 0)
    noticed, now = Noticed.NOTHING, 0
    while noticed is not Noticed.CROSSED:
        now = watch.due or 0
        left = limit + 4 * rate - rate * now // SECOND
        disks.left["/node"], disks.inodes = left, min(left, disks.inodes)
        noticed = watch.read(now)
    assert now - 4 * SECOND <= 200 * MILLISECOND


def test_inodes_have_a_pace_of_their_own(watch: DiskWatch, disks: Disks) -> None:
    watch.set_thresholds([finding(200_000, 100_000, Signal.NODEFS_INODES_FREE)], 0)
    assert due_in(watch, 0) == SECOND
    disks.inodes = 99_999
    assert watch.read(SECOND)


def test_the_fastest_fill_of_an_hour_sets_the_pace(watch: DiskWatch, disks: Disks) -> None:
    watch.set_thresholds([finding(30 * GI)], 0)
    disks.left["/node"] = 22 * GI
    assert not watch.read(10 * SECOND)
    assert due_in(watch, 10 * SECOND) == 10 * SECOND
    watch.set_thresholds([finding(14 * GI)], 12 * SECOND)  # 4 GiB/s
    assert due_in(watch, 12 * SECOND) == SECOND
    watch.set_thresholds([finding(14 * GI)], 12 * SECOND + HOUR // 2)
    assert due_in(watch, 12 * SECOND + HOUR // 2) == SECOND
    watch.set_thresholds([finding(14 * GI)], 12 * SECOND + HOUR + 10 * MINUTE)
    assert due_in(watch, 12 * SECOND + HOUR + 10 * MINUTE) == 4 * SECOND, "forgotten"


def test_a_crossing_is_read_and_a_met_threshold_is_not_watched(watch: DiskWatch, disks: Disks) -> None:
    watch.set_thresholds([finding(11 * GI), finding(11 * GI, 5 * GI)], 0)
    disks.left["/node"] = 10 * GI - 4096
    assert watch.read(10 * SECOND)
    watch.set_thresholds([finding(10 * GI - 4096)], 10 * SECOND)
    assert watch.due is None


def test_a_disk_that_will_be_short_before_the_next_cycle_begins_one_once(watch: DiskWatch, disks: Disks) -> None:
    """So that the pods are measured before the crossing, not after it."""
    watch.set_thresholds([finding(14 * GI)], 0)
    disks.left["/node"] = 14 * GI
    assert watch.read(10 * SECOND) is Noticed.NOTHING, "calm"
    disks.left["/node"] = 14 * GI - 200 * MIB
    assert watch.read(20 * SECOND) is Noticed.NOTHING, "20 MiB/s: short in three minutes"
    disks.left["/node"] = 11 * GI + GI // 2
    assert watch.read(30 * SECOND) is Noticed.FILLING, "short in six seconds"
    disks.left["/node"] = 10 * GI + GI // 5
    assert watch.read(37 * SECOND) is Noticed.NOTHING, "that cycle has begun the measurements"
    disks.left["/node"] = 9 * GI
    assert watch.read(38 * SECOND) is Noticed.CROSSED


def test_beside_a_crossing_the_readings_of_the_other_disks_count_too(disks: Disks) -> None:
    """They were made and dropped, so the rate of a disk that filled beside was that of an older reading."""
    signals, recent = (Signal.NODEFS_AVAILABLE, Signal.IMAGEFS_AVAILABLE), RecentFill()
    with closing(DiskWatch(lambda: PATHS, reader=FilesystemReader(statvfs=disks.statvfs), recent=recent)) as watch:
        watch.set_thresholds([finding(40 * GI, signal=each) for each in signals], 0)
        assert watch.read(10 * SECOND) is Noticed.NOTHING
        disks.left = {"/node": 9 * GI, "/images": 9 * GI}
        assert watch.read(20 * SECOND) is Noticed.CROSSED
    assert [recent.rate(each) for each in signals] == [31 * GI // 10] * 2


def test_only_the_disk_that_is_due_is_read(watch: DiskWatch, disks: Disks) -> None:
    watch.set_thresholds([finding(10 * GI + 200 * MIB), finding(40 * GI, signal=Signal.IMAGEFS_AVAILABLE)], 0)
    assert not watch.read(SECOND)
    assert disks.readings == ["/node"]


@pytest.fixture
def hanging(disks: Disks) -> Iterator[DiskWatch]:
    """A watch whose readings of nodefs hang until the end of the test."""
    free = threading.Event()

    def statvfs(path: str) -> os.statvfs_result:
        if path == "/node":
            free.wait(300)
        return disks.statvfs(path)

    with closing(DiskWatch(lambda: PATHS, reader=FilesystemReader(statvfs=statvfs, timeout=TIMEOUT))) as made:
        yield made
        free.set()


def test_a_disk_that_hangs_is_read_less_and_less_often(hanging: DiskWatch) -> None:
    hanging.set_thresholds([finding(10 * GI + MIB)], 0)
    for expected in (2, 4, 8, 16, 32, 64, 100, 100):
        now = hanging.due or 0
        assert not hanging.read(now)
        assert due_in(hanging, now) == expected * 100 * MILLISECOND


def test_beside_a_disk_that_hangs_the_other_is_read(hanging: DiskWatch, disks: Disks) -> None:
    near = [finding(10 * GI + MIB, signal=each) for each in (Signal.NODEFS_AVAILABLE, Signal.IMAGEFS_AVAILABLE)]
    hanging.set_thresholds(near, 0)
    disks.left["/images"] = 10 * GI - 4096
    # A busy machine may not run the thread that reads it within `TIMEOUT`.
    assert eventually(lambda: hanging.read(hanging.due or 0)) is Noticed.CROSSED


def test_a_crossing_ends_the_wait_and_memory_is_read_meanwhile(
    watch: DiskWatch, disks: Disks, polled_time: PolledTime
) -> None:
    readings = list[int]()

    def memory() -> MemoryStats:
        readings.append(polled_time.now)
        return MemoryStats(available_bytes=2 * GI)

    loop = MemoryWatch(clock=polled_time, sources={Signal.MEMORY_AVAILABLE: memory})
    loop.disks = watch
    loop.set_thresholds({Signal.MEMORY_AVAILABLE: GI})
    watch.set_thresholds([finding(10 * GI + 2 * GI)], polled_time.now)
    first = polled_time.now
    fill: Callable[[], None] = lambda: disks.left.update({"/node": 9 * GI})  # noqa: E731
    polled_time.at(first + 500 * MILLISECOND, fill)
    reader, writer = os.pipe()
    try:
        assert loop.wait(first + 60 * SECOND, wake_fd=reader) is Woken.DISK
    finally:
        os.close(reader)
        os.close(writer)
    assert polled_time.now - first == 2 * SECOND
    assert readings


@pytest.mark.parametrize(
    ("lead", "left", "crossed"), [(True, 4 * GI, True), (True, 8 * GI, False), (False, 4 * GI, False)]
)
def test_with_a_lead_a_crossing_is_what_does_not_last_for_an_eviction(
    disks: Disks, lead: bool, left: int, crossed: bool
) -> None:
    """20 GiB less what is left in 10 s; an eviction takes 3.5 s."""
    recent = RecentFill(lambda: 2 * SECOND, lambda: SECOND)
    reader = FilesystemReader(statvfs=disks.statvfs)
    with closing(DiskWatch(lambda: PATHS, reader=reader, recent=recent)) as made:
        recent.add(Signal.NODEFS_AVAILABLE, 20 * GI, 0)
        made.set_thresholds([finding(20 * GI, GI)], 0, lead=lead)
        disks.left["/node"] = left
        assert (made.read(10 * SECOND) is Noticed.CROSSED) is crossed
