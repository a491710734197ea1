"""PIDs between two cycles: read as the cycle reads them."""

import os
import select
import time
from pathlib import Path

import pytest

from evictd.core.model.signal import Signal
from evictd.core.units.duration import SECOND
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache
from evictd.observe.cgroups.process import rlimit
from evictd.observe.reading.problems import Problems
from evictd.observe.reading.roots import Roots
from evictd.observe.threshold_watch.memory_watch import MemoryWatch, Woken
from evictd.observe.threshold_watch.watch import CheapPids

PIDS = Signal.PID_AVAILABLE


def cheap(path: Path, tasks: str) -> CheapPids:
    path.write_text(f"0.1 0.1 0.1 {tasks} 99\n")
    pids = CheapPids(path)
    pids.capacity = 32768
    return pids


def test_what_is_available_is_the_capacity_without_the_tasks(tmp_path: Path) -> None:
    read = cheap(tmp_path / "loadavg", "3/768").read()
    assert read is not None
    assert read.available_bytes == 32000


@pytest.mark.parametrize(("left", "available"), [(None, 32000), (31999, 31999), (32001, 32000)])
def test_the_limit_of_all_pods_counts_where_it_leaves_less(tmp_path: Path, left: int | None, available: int) -> None:
    (tmp_path / "loadavg").write_text("0.1 0.1 0.1 3/768 99\n")
    pids = CheapPids(tmp_path / "loadavg", lambda: left)
    pids.capacity = 32768
    read = pids.read()
    assert read is not None
    assert read.available_bytes == available


@pytest.mark.parametrize("tasks", ["", "3", "3/", "3/x", "3/-5"])
def test_garbage_is_no_reading(tmp_path: Path, tasks: str) -> None:
    assert cheap(tmp_path / "loadavg", tasks).read() is None


def test_nothing_is_known_before_the_first_cycle_and_without_the_file(tmp_path: Path) -> None:
    pids = cheap(tmp_path / "loadavg", "3/768")
    pids.capacity = None
    assert pids.read() is None
    pids.capacity = 5
    (tmp_path / "loadavg").unlink()
    assert pids.read() is None


def test_it_agrees_with_the_cycles_reading_of_this_machine() -> None:
    """The same file; between the two readings the number of tasks changes by some."""
    roots, files = Roots(), FileDescriptorCache()
    read = rlimit(roots, files, 1, Problems())
    files.close()
    assert read.max_pid is not None
    assert read.current is not None
    pids = CheapPids(roots.proc / "loadavg")
    pids.capacity = read.max_pid
    now = pids.read()
    assert now is not None
    assert now.available_bytes is not None
    assert abs(read.max_pid - now.available_bytes - read.current) < read.current / 2 + 100


def test_a_fork_bomb_ends_the_wait(tmp_path: Path) -> None:
    """Without any notification, and long before the next cycle."""
    pids = cheap(tmp_path / "loadavg", "3/32000")
    reader, writer = os.pipe()
    try:
        watch = MemoryWatch(clock=time.monotonic_ns, sources={PIDS: pids.read})
        watch.set_thresholds({PIDS: 1000})
        assert watch.wait(time.monotonic_ns() + 60 * SECOND, wake_fd=reader) is Woken.MEMORY
        assert not select.select([reader], [], [], 0)[0]
    finally:
        os.close(reader)
        os.close(writer)


def test_a_calm_node_is_read_at_the_pace_of_pids_and_not_of_bytes(tmp_path: Path) -> None:
    """30,000 PIDs are a second and more away, whatever one core can do; 30,000 bytes are no time."""
    calls: list[int] = []
    pids, now = cheap(tmp_path / "loadavg", "3/700"), [SECOND]

    def counted() -> object:
        calls.append(now[0])
        return pids.read()

    watch = MemoryWatch(clock=lambda: now[0], sources={PIDS: counted})  # type: ignore[dict-item]
    watch.set_thresholds({PIDS: 1000})
    assert watch._read(now[0]) is False
    assert watch._next_reading is not None
    assert watch._next_reading - now[0] >= SECOND
