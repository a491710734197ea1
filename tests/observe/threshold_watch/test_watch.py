"""The limits watched between two cycles, and their notifiers."""

import os
import select
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from evictd.core.model.config import FastFill, MemoryFormula, Policy
from evictd.core.model.finding import Finding
from evictd.core.model.signal import Signal
from evictd.observe.cgroups.cgroup import PodsCgroup, find_hierarchy
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache
from evictd.observe.reading.problems import Problems
from evictd.observe.reading.roots import Roots
from evictd.observe.threshold_watch.disk_watch import DiskWatch
from evictd.observe.threshold_watch.kernel_notifiers import MemcgNotifier
from evictd.observe.threshold_watch.memory_watch import MemoryWatch
from evictd.observe.threshold_watch.renewing_notifier import KernelNotifier, RenewingNotifier
from evictd.observe.threshold_watch.watch import (
    CheapMemory,
    CheapPids,
    ThresholdWatch,
    WatchedCgroups,
    limits_to_watch,
    notifiers_v1,
    notifiers_v2,
)
from tests.daemon.world import CONFIG, GI, NOW, observe, step
from tests.recorded_errors import NoErrors, RecordedErrors

MEMORY = Signal.MEMORY_AVAILABLE
MEMCG_V1 = Path("/sys/fs/cgroup/memory")


def tree(tmp_path: Path, usage: int, inactive: int) -> Path:
    folder = tmp_path / "memory"
    folder.mkdir(exist_ok=True)
    (folder / "memory.usage_in_bytes").write_text(f"{usage}\n")
    (folder / "memory.stat").write_text(f"total_inactive_file {inactive}\n")
    return tmp_path


class Named(WatchedCgroups):
    """Has the test choose the name of the cgroup of all pods."""

    def __init__(self, root: Path, pods: str | None) -> None:
        super().__init__(find_hierarchy(tree(root, 0, 0), FileDescriptorCache()), lambda: self.pods)
        self.pods = pods


def cheap(
    tmp_path: Path, *, meminfo: Path | None = None, formula: MemoryFormula = MemoryFormula.MEM_AVAILABLE
) -> CheapMemory:
    cgroups = WatchedCgroups(find_hierarchy(tmp_path, FileDescriptorCache()), lambda: None)
    used = formula if meminfo is not None else MemoryFormula.WORKING_SET
    return CheapMemory(cgroups, MEMORY, meminfo=meminfo, formula=lambda: used)


def test_the_highest_limit_that_is_not_crossed_is_watched() -> None:
    assert limits_to_watch(step(4 * GI).findings) == {MEMORY: 2 * GI}
    assert limits_to_watch(step(2 * GI - 1).findings) == {MEMORY: GI}
    assert limits_to_watch(step(GI - 1).findings) == {}


def test_a_cheap_reading_is_the_capacity_without_the_working_set(tmp_path: Path) -> None:
    memory = cheap(tree(tmp_path, 3 * GI, GI))
    assert memory.read() is None  # the capacity is known after the first cycle
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


@pytest.mark.parametrize("formula", [MemoryFormula.LOWEST, MemoryFormula.AUTO])
@pytest.mark.parametrize(("kib", "expected"), [(1048576, GI), (7340032, 6 * GI)])
def test_with_these_formulas_it_is_the_lower_of_both(
    tmp_path: Path, kib: int, expected: int, formula: MemoryFormula
) -> None:
    (tmp_path / "meminfo").write_text(f"MemTotal: 8388608 kB\nMemAvailable: {kib} kB\n")
    memory = cheap(tree(tmp_path, 3 * GI, GI), meminfo=tmp_path / "meminfo", formula=formula)
    memory.capacity = 8 * GI
    read = memory.read()
    assert read is not None
    assert read.available_bytes == expected
    assert read.working_set_bytes is None, "no level of usage covers it"


def test_what_cannot_be_read_is_nothing(tmp_path: Path) -> None:
    memory = cheap(tree(tmp_path, 1, 0), meminfo=tmp_path / "nowhere")
    memory.capacity = GI
    assert memory.read() is None


def test_thresholds_are_set_with_the_cycle_s_capacity(tmp_path: Path) -> None:
    memory = cheap(tree(tmp_path, 3 * GI, 0))
    watch = MemoryWatch(clock=lambda: 0, sources={MEMORY: memory.read})
    ThresholdWatch(watch, {MEMORY: memory}).set_thresholds(observe(4 * GI, NOW), step(4 * GI).findings, CONFIG)
    assert memory.capacity == 8 * GI


class LedMemory(MemoryWatch):
    """Records the lead that was set last."""

    lead: bool

    def set_thresholds(self, limits: Mapping[Signal, int], *, lead: bool = False) -> None:
        self.lead = lead


class LedDisks(DiskWatch):
    """Records the lead and the findings that were set last."""

    lead: bool
    findings: list[Finding]

    def set_thresholds(self, findings: Iterable[Finding], now: int, *, lead: bool = False) -> None:
        self.lead, self.findings = lead, list(findings)


@pytest.mark.parametrize("memory_lead", FastFill)
@pytest.mark.parametrize("disk_lead", FastFill)
def test_the_leads_are_those_of_the_cycle_s_configuration(memory_lead: FastFill, disk_lead: FastFill) -> None:
    """They were those of the start, until a reload could change them."""
    memory, disks = LedMemory(clock=lambda: 0, sources={}), LedDisks(dict)
    memory.disks = disks
    led = replace(CONFIG, memory_lead=memory_lead, disk_lead=disk_lead)
    with closing(memory):
        ThresholdWatch(memory, {}).set_thresholds(observe(4 * GI, NOW), (), led)
    assert (memory.lead, disks.lead) == (memory_lead is FastFill.AUTO, disk_lead is FastFill.AUTO)


@pytest.mark.parametrize("policy", Policy)
def test_the_policy_is_that_of_the_cycle_s_configuration(tmp_path: Path, policy: Policy) -> None:
    """A reload from Kubelet to Standard left the disks unwatched until the next start."""
    memory, disks = LedMemory(clock=lambda: 0, sources={}), LedDisks(dict)
    memory.disks = disks
    (tmp_path / "loadavg").write_text("0.1 0.1 0.1 3/768 99\n")
    pids, findings = CheapPids(tmp_path / "loadavg", lambda: 7), step(4 * GI).findings
    with closing(memory):
        watch = ThresholdWatch(memory, {Signal.PID_AVAILABLE: pids})
        watch.set_thresholds(observe(4 * GI, NOW), findings, replace(CONFIG, policy=policy))
    pids.capacity = 32768
    read = pids.read()
    assert read is not None
    standard = policy is Policy.STANDARD
    assert (disks.findings, read.available_bytes) == ((list(findings), 7) if standard else ([], 32000))


def test_a_notification_the_kernel_does_not_offer_is_reported_once(tmp_path: Path) -> None:
    errors = RecordedErrors()
    kept = notifiers_v1(tmp_path, Named(tmp_path, "/"), errors)[MEMORY]
    for _ in range(3):
        kept.renew()
        assert kept.current is None
    assert [source for source, _ in errors] == ["memory notification"]
    assert (
        notifiers_now(notifiers_v2(Roots(proc=tmp_path, cgroup=tmp_path), Named(tmp_path, "/kubepods"), errors)) == []
    )
    assert len(errors) == 1


def notifiers_now(kept: list[RenewingNotifier[KernelNotifier]]) -> list[str]:
    for one in kept:
        one.renew()
    return [one.current.name for one in kept if one.current is not None]


def pods_events(parent: Path) -> Path:
    (parent / "kubepods").mkdir()
    events = parent / "kubepods/memory.events"
    events.write_text("oom 0\n")
    return events


def rings(kept: list[RenewingNotifier[KernelNotifier]]) -> bool:
    poll = select.poll()
    for one in kept:
        if one.current is not None:
            poll.register(one.current.fileno(), one.current.events)
    return bool(poll.poll(0))


def test_a_change_of_the_pods_memory_events_is_watched_from_when_the_pods_cgroup_is_there(tmp_path: Path) -> None:
    cgroups = Named(tmp_path, None)
    kept = notifiers_v2(Roots(proc=tmp_path / "proc", cgroup=tmp_path), cgroups, NoErrors())
    assert notifiers_now(kept) == []
    cgroups.pods = "/kubepods"
    assert notifiers_now(kept) == []  # named, and not made yet
    events = pods_events(tmp_path)
    assert notifiers_now(kept) == ["memory.events"]
    events.write_text("oom 1\n")
    assert rings(kept)
    for one in kept:
        one.close()


def test_a_pods_cgroup_that_is_made_again_is_watched_again(tmp_path: Path) -> None:
    kept = notifiers_v2(Roots(proc=tmp_path / "proc", cgroup=tmp_path), Named(tmp_path, "/kubepods"), NoErrors())
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
    reader = find_hierarchy(MEMCG_V1.parent, FileDescriptorCache())
    kubepods = PodsCgroup(reader, parent)
    cgroups = WatchedCgroups(reader, lambda: kubepods.find(Problems()))
    kept = notifiers_v1(MEMCG_V1, cgroups, NoErrors())[Signal.ALLOCATABLE_MEMORY_AVAILABLE]
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


def renewed(kept: RenewingNotifier[MemcgNotifier]) -> MemcgNotifier | None:
    kept.renew()
    return kept.current


def arm(kept: RenewingNotifier[MemcgNotifier]) -> MemcgNotifier:
    notifier = renewed(kept)
    assert notifier is not None
    assert notifier.set_level(1 << 40)  # the kernel takes a level only for a cgroup that is there
    return notifier


def test_pods_that_are_not_below_cgroup_root_are_watched_where_the_runtime_has_them(tmp_path: Path) -> None:
    reader = find_hierarchy(tree(tmp_path, GI, 0), FileDescriptorCache())
    (tmp_path / "memory/other/kubepods").mkdir(parents=True)
    kubepods = PodsCgroup(reader, "/")
    kubepods.note(["/other/kubepods/burstable/poduid"])
    assert kubepods.find(Problems()) == "/other/kubepods"
    cgroups = WatchedCgroups(reader, lambda: kubepods.path)
    assert cgroups.name(Signal.ALLOCATABLE_MEMORY_AVAILABLE) == "/other/kubepods"


def test_a_cgroup_that_is_not_there_yet_is_nothing_to_read(tmp_path: Path) -> None:
    cgroups = Named(tree(tmp_path, GI, 0), None)
    memory = CheapMemory(cgroups, Signal.ALLOCATABLE_MEMORY_AVAILABLE)
    memory.capacity = 8 * GI
    assert memory.read() is None
    cgroups.pods = "/"
    assert memory.read() is not None
