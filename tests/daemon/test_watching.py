"""Which limits are watched between two cycles, and with what."""

import os
import select
from collections.abc import Iterator
from pathlib import Path

import pytest

from evictd.core.signal import Signal
from evictd.daemon.watching import CheapMemory, Lookout, limits_to_watch, notifiers_v1, notifiers_v2
from evictd.observe.cgroup import find_hierarchy, find_pods_cgroup
from evictd.observe.kept_files import KeptFiles
from evictd.observe.kept_notifier import KeptNotifier, Notifier
from evictd.observe.memory_notify_v1 import MemcgNotifier
from evictd.observe.memory_watch import MemoryWatch
from tests.daemon.world import GI, NOW, observe, step

MEMORY = Signal.MEMORY_AVAILABLE
MEMCG_V1 = Path("/sys/fs/cgroup/memory")


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


def test_what_the_kernel_does_not_offer_is_told_once_and_done_without(tmp_path: Path) -> None:
    complaints: list[tuple[str, str]] = []

    def complain(source: str, detail: str) -> None:
        complaints.append((source, detail))

    kept = notifiers_v1(tmp_path, {MEMORY: lambda: "/"}, complain)[MEMORY]
    for _ in range(3):
        kept.renew()
        assert kept.current is None
    assert [source for source, _ in complaints] == ["memory notification"]
    assert notifiers_now(notifiers_v2(tmp_path, tmp_path, lambda: "/kubepods", complain)) == []
    assert len(complaints) == 1


def notifiers_now(kept: list[KeptNotifier[Notifier]]) -> list[str]:
    for one in kept:
        one.renew()
    return [one.current.name for one in kept if one.current is not None]


def pods_events(parent: Path) -> Path:
    (parent / "kubepods").mkdir()
    events = parent / "kubepods/memory.events"
    events.write_text("oom 0\n")
    return events


def rings(kept: list[KeptNotifier[Notifier]]) -> bool:
    poll = select.poll()
    for one in kept:
        if one.current is not None:
            poll.register(one.current.fileno(), one.current.events)
    return bool(poll.poll(0))


def test_a_change_of_the_pods_memory_events_is_watched_from_when_the_pods_cgroup_is_there(tmp_path: Path) -> None:
    there: list[str] = []
    kept = notifiers_v2(tmp_path / "proc", tmp_path, lambda: there[0] if there else None, no_complaint)
    assert notifiers_now(kept) == []
    there.append("/kubepods")
    assert notifiers_now(kept) == []  # named, and not made yet
    events = pods_events(tmp_path)
    assert notifiers_now(kept) == ["memory.events"]
    events.write_text("oom 1\n")
    assert rings(kept)
    for one in kept:
        one.close()


def test_a_pods_cgroup_that_is_made_again_is_watched_again(tmp_path: Path) -> None:
    kept = notifiers_v2(tmp_path / "proc", tmp_path, lambda: "/kubepods", no_complaint)
    pods_events(tmp_path)
    assert notifiers_now(kept) == ["memory.events"]
    (tmp_path / "kubepods").rename(tmp_path / "removed")
    events = pods_events(tmp_path)
    events.write_text("oom 1\n")
    assert not rings(kept)
    assert notifiers_now(kept) == ["memory.events"]
    events.write_text("oom 2\n")
    assert rings(kept)
    for one in kept:
        one.close()


@pytest.fixture
def parent() -> Iterator[str]:
    """A cgroup of version 1 for pods to come."""
    if os.geteuid() != 0 or not (MEMCG_V1 / "cgroup.event_control").exists():
        pytest.skip("needs root and a memory controller of cgroup v1")
    path = MEMCG_V1 / f"evictd-test-{os.getpid()}-watching"
    path.mkdir()
    yield path.name
    for pods in path.glob("*/"):
        pods.rmdir()
    path.rmdir()


@pytest.mark.root
def test_on_v1_the_pods_cgroup_is_notified_of_when_it_comes_and_when_it_comes_again(parent: str) -> None:
    reader = find_hierarchy(MEMCG_V1.parent, KeptFiles())
    cgroups = {Signal.ALLOCATABLE_MEMORY_AVAILABLE: lambda: find_pods_cgroup(reader, parent)}
    kept = notifiers_v1(MEMCG_V1, cgroups, no_complaint)[Signal.ALLOCATABLE_MEMORY_AVAILABLE]
    pods = MEMCG_V1 / parent / "kubepods"
    armed: list[MemcgNotifier] = []
    for _ in range(2):
        assert renewed(kept) is None
        pods.mkdir()
        armed.append(arm(kept))
        pods.rmdir()
    pods.mkdir()
    armed.append(arm(kept))
    pods.rmdir()
    pods.mkdir()  # removed and made again between two cycles
    armed.append(arm(kept))
    assert len(set(armed)) == 4
    kept.close()


def renewed(kept: KeptNotifier[MemcgNotifier]) -> MemcgNotifier | None:
    kept.renew()
    return kept.current


def arm(kept: KeptNotifier[MemcgNotifier]) -> MemcgNotifier:
    notifier = renewed(kept)
    assert notifier is not None
    assert notifier.aim(1 << 40)  # the kernel takes a level only for a cgroup that is there
    return notifier


def no_complaint(source: str, detail: str) -> None:
    raise AssertionError(f"{source}: {detail}")


def test_a_cgroup_that_is_not_there_yet_is_nothing_to_read(tmp_path: Path) -> None:
    places: list[str | None] = [None, "/"]
    memory = CheapMemory(find_hierarchy(tree(tmp_path, GI, 0), KeptFiles()), lambda: places.pop(0))
    memory.capacity = 8 * GI
    assert memory.read() is None
    assert memory.read() is not None
