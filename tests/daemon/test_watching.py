"""Which limits are watched between two cycles, and with what."""

from pathlib import Path

from evictd.core.signal import Signal
from evictd.daemon.watching import CheapMemory, Lookout, limits_to_watch, notifiers_v1, notifiers_v2
from evictd.observe.cgroup import find_hierarchy
from evictd.observe.kept_files import KeptFiles
from evictd.observe.memory_watch import MemoryWatch
from tests.daemon.world import GI, NOW, observe, step

MEMORY = Signal.MEMORY_AVAILABLE


def tree(tmp_path: Path, usage: int, inactive: int) -> Path:
    folder = tmp_path / "memory"
    folder.mkdir(exist_ok=True)
    (folder / "memory.usage_in_bytes").write_text(f"{usage}\n")
    (folder / "memory.stat").write_text(f"total_inactive_file {inactive}\n")
    return tmp_path


def cheap(tmp_path: Path, **options: Path) -> CheapMemory:
    return CheapMemory(find_hierarchy(tmp_path, KeptFiles()), lambda: "/", **options)


def test_the_highest_limit_that_is_not_crossed_is_watched() -> None:
    assert limits_to_watch(step(4 * GI).findings) == {MEMORY: 2 * GI}
    assert limits_to_watch(step(2 * GI - 1).findings) == {MEMORY: GI}
    assert limits_to_watch(step(GI - 1).findings) == {}


def test_a_cheap_reading_is_the_capacity_without_the_working_set(tmp_path: Path) -> None:
    memory = cheap(tree(tmp_path, 3 * GI, GI))
    assert memory.read() is None  # before any cycle nobody knows the capacity
    memory.capacity = 8 * GI
    read = memory.read()
    assert read is not None
    assert (read.usage_bytes, read.working_set_bytes, read.available_bytes) == (3 * GI, 2 * GI, 6 * GI)


def test_with_the_other_formula_it_is_the_kernel_s_estimate(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 8388608 kB\nMemAvailable: 1048576 kB\n")
    memory = cheap(tree(tmp_path, 3 * GI, GI), meminfo=tmp_path / "meminfo")
    memory.capacity = 8 * GI
    read = memory.read()
    assert read is not None
    assert read.available_bytes == GI


def test_what_cannot_be_read_is_nothing(tmp_path: Path) -> None:
    memory = cheap(tree(tmp_path, 1, 0), meminfo=tmp_path / "nowhere")
    memory.capacity = GI
    assert memory.read() is None


def test_the_watch_is_aimed_with_the_cycle_s_capacity(tmp_path: Path) -> None:
    memory = cheap(tree(tmp_path, 3 * GI, 0))
    watch = MemoryWatch(clock=lambda: 0, sources={MEMORY: memory.read})
    Lookout(watch, {MEMORY: memory}).aim(observe(4 * GI, NOW), step(4 * GI).findings)
    assert memory.capacity == 8 * GI


def test_what_the_kernel_does_not_offer_is_done_without(tmp_path: Path) -> None:
    complaints: list[tuple[str, str]] = []

    def complain(source: str, detail: str) -> None:
        complaints.append((source, detail))

    assert notifiers_v1(tmp_path, {MEMORY: "/"}, complain) == {}
    assert len(complaints) == 1
    assert notifiers_v2(tmp_path, tmp_path, "/kubepods", complain) == []
    assert len(complaints) == 1


def test_a_change_of_the_pods_memory_events_is_watched(tmp_path: Path) -> None:
    pods = tmp_path / "kubepods"
    pods.mkdir()
    (pods / "memory.events").write_text("oom 0\n")
    (notifier,) = notifiers_v2(tmp_path / "proc", tmp_path, "/kubepods", lambda *_: None)
    assert notifier.name == "memory.events"
    notifier.close()


def test_a_cgroup_that_is_not_there_yet_is_nothing_to_read(tmp_path: Path) -> None:
    places: list[str | None] = [None, "/"]
    memory = CheapMemory(find_hierarchy(tree(tmp_path, GI, 0), KeptFiles()), lambda: places.pop(0))
    memory.capacity = 8 * GI
    assert memory.read() is None
    assert memory.read() is not None
