"""One observation of a whole node."""

import os
import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from evictd.clients.cri.values import FilesystemUsage, ImageFsInfo
from evictd.core.model.config import MemoryFormula
from evictd.core.model.observation import Filesystems, Outcomes, Problem, signal_observations
from evictd.core.model.pod import Pod
from evictd.core.model.resources import Container
from evictd.core.model.signal import MEMORY_SIGNALS, STALLS, Filesystem, Signal
from evictd.core.units.duration import MILLISECOND, SECOND
from evictd.core.units.quantity import of_bytes, of_count
from evictd.errors import NodeError
from evictd.observe.disk_usage.cache import DiskUsageCache
from evictd.observe.disk_usage.pod_disk import DiskRequest, PodDisk
from evictd.observe.disk_usage.pod_meter import PodDiskMeter
from evictd.observe.disk_usage.walk_age import WalkAge
from evictd.observe.filesystems.filesystem import FilesystemReader, Statvfs
from evictd.observe.reading.node_stats import NodeStatsReader, ObserveOptions
from evictd.observe.reading.roots import Roots
from evictd_testnode.cgroups import group
from tests import real_cgroups
from tests.measured import at_once
from tests.observe.runtime_double import container, stats, view
from tests.trees import PROC, Tree, plant, v1_node, v2, v2_node

Clock = Callable[[], int]

POD = Pod(name="web", namespace="ns", uid="a-b", status_qos_class="Burstable", containers=(Container(name="main"),))


ORPHAN: Tree = {"pods": {"u9": {"volumes": {"kubernetes.io~empty-dir": {"data": {}}}}}}
"""The kubelet's directory with a volume of a pod that is not listed."""


@pytest.fixture
def clock() -> Clock:
    return count(1).__next__


def observer(
    base: Path,
    clock: Clock,
    *,
    tree: Tree | None = None,
    proc: Tree = PROC,
    stop_time: int | None = None,
    statvfs: Statvfs = os.statvfs,
    **options: object,
) -> NodeStatsReader:
    roots = Roots(
        proc=plant(base / "proc", proc),
        cgroup=plant(base / "cgroup", v2_node(systemd=True) if tree is None else tree),
        kubelet_dir=plant(base / "kubelet", {}),
        pod_logs_dir=base / "logs",
    )
    made = ObserveOptions(**options)  # type: ignore[arg-type]
    disks = FilesystemReader(statvfs=statvfs)
    return NodeStatsReader(roots, made, clock=clock, stop_time=lambda: stop_time, filesystems=disks)


def images(base: Path) -> ImageFsInfo:
    row = FilesystemUsage(time=1, mountpoint=str(base), used_bytes=5, inodes_used=5)
    return ImageFsInfo(image_filesystems=(row,), container_filesystems=())


@pytest.mark.parametrize(
    "tree", [v2_node(systemd=True), v2_node(systemd=False), v1_node()], ids=["systemd", "cgroupfs", "v1"]
)
def test_every_signal_is_observed(tmp_path: Path, clock: Clock, tree: Tree) -> None:
    with observer(tmp_path, clock, tree=tree, node_name="n1") as node:
        found = node.observe([POD], view(container("c1", "main"), stats={"c1": stats(1, 1)}, image_fs=images(tmp_path)))
    assert found.node is not None
    signals = signal_observations(found.node)
    assert signals.keys() == set(Signal) - STALLS.keys()
    assert signals[Signal.MEMORY_AVAILABLE].available == of_bytes(16_000_000 * 1024 - 4_000_000_000)
    assert signals[Signal.ALLOCATABLE_MEMORY_AVAILABLE].available == of_bytes(5000)
    assert signals[Signal.PID_AVAILABLE].available == of_count(32768 - 345)
    assert found.pods == (POD,)
    assert found.pod_stats["a-b"].process_count == 4
    assert found.filesystems == Filesystems(dedicated_image_fs=False, split_container_fs=False)
    assert found.node.name == "n1"
    assert found.problems == ()


def test_no_file_of_a_pod_that_is_gone_stays_open(tmp_path: Path, clock: Clock) -> None:
    """A cgroup whose files are open keeps its memory charged; each pod that ever ran would cost descriptors."""

    def open_files() -> list[str]:
        links = (os.path.realpath(each) for each in Path("/proc/self/fd").iterdir())
        return [each for each in links if "poda_b" in each]

    with observer(tmp_path, clock) as node:
        node.observe([POD], view(container("c1", "main")))
        assert open_files()
        for _ in range(2):
            node.observe([], view())
        assert open_files() == []


def test_on_a_machine_without_cgroups_nothing_stays_open(tmp_path: Path, clock: Clock) -> None:
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(NodeError, match="no cgroup hierarchy"):
        NodeStatsReader(Roots(cgroup=tmp_path), ObserveOptions(), clock=clock)
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors


def test_every_source_has_a_time_of_its_own(tmp_path: Path, clock: Clock) -> None:
    with observer(tmp_path, clock) as node:
        first = node.observe([POD], view(container("c1", "main"))).node
        second = node.observe([POD], view(container("c1", "main"))).node
    assert first is not None
    assert second is not None
    for reading in (first, second):
        stamps = [
            row.time for row in (reading.memory, reading.pods_memory, reading.fs, reading.rlimit) if row is not None
        ]
        assert len(set(stamps)) == 4
    assert first.memory is not None
    assert second.memory is not None
    assert first.memory.time != second.memory.time


def test_without_a_runtime_the_node_is_read_and_the_layout_is_unknown(tmp_path: Path, clock: Clock) -> None:
    with observer(tmp_path, clock) as node:
        found = node.observe()
    assert found.node is not None
    assert found.node.fs is not None
    assert found.node.image_fs is None
    assert found.filesystems == Filesystems(dedicated_image_fs=None, split_container_fs=None)
    assert Signal.IMAGEFS_AVAILABLE not in found.absent
    assert found.problems == ()


def test_what_became_of_the_last_decisions_is_handed_on(tmp_path: Path, clock: Clock) -> None:
    outcomes = Outcomes(cleaned_up=frozenset({"x"}))
    with observer(tmp_path, clock) as node:
        assert node.observe(outcomes=outcomes).outcomes == outcomes


def test_everything_may_be_unreadable_and_there_is_still_an_observation(tmp_path: Path, clock: Clock) -> None:
    proc: Tree = {"self": {"mountinfo": ""}, "pressure": {"memory": "x"}}
    node = observer(tmp_path, clock, tree={"memory": {}}, proc=proc)
    (tmp_path / "kubelet").rmdir()
    for _ in range(2):
        found = node.observe([POD], view(container("c1", "main")))
        assert found.node is not None
        assert signal_observations(found.node) == {}
        sources = [row.source for row in found.problems]
        assert len(sources) == len(set(sources)), "one problem for each source"
        assert {"memory of the node", "nodefs", "pods cgroup", "pids: loadavg"} <= set(sources)
    node.close()


def test_the_pods_cgroup_may_come_later_and_may_be_named(tmp_path: Path, clock: Clock) -> None:
    with observer(tmp_path, clock, tree={"memory": v1_node()["memory"], "pids": {}}, pods_cgroup="/own/pods") as node:
        assert [row.source for row in node.observe().problems] == ["pods cgroup"]
        plant(tmp_path / "cgroup/memory/own/pods", {"memory.usage_in_bytes": "9\n"})
        found = node.observe()
        assert [row.source for row in found.problems] == ["memory of the pods cgroup"]
    with observer(tmp_path / "2", clock, pods_cgroup="/../etc") as node:
        assert "unsafe path" in node.observe().problems[0].detail


def test_pods_outside_of_the_configured_root_are_found_by_the_runtimes_sandboxes(tmp_path: Path, clock: Clock) -> None:
    """A kubelet with a `cgroupRoot` that evictd was not told: the pods' memory is read, and the problem names the setting."""
    memory: Any = v1_node()["memory"]
    memory["own"] = {"kubepods": memory.pop("kubepods")}
    with observer(tmp_path, clock, tree={"memory": memory, "pids": {}}) as node:
        assert "there is no kubepods" in node.observe().problems[0].detail
        seen = replace(view(), pod_cgroups={"u": "/own/kubepods/burstable/podu"})
        (problem,) = [row for row in node.observe([], seen).problems if row.source == "pods cgroup"]
        assert problem.detail.endswith("the runtime's pods are in /own/kubepods: set cgroupRoot: /own")
        stats = node.observe([], seen).node
        assert stats is not None
        assert stats.pods_memory is not None


def test_the_other_formula(tmp_path: Path, clock: Clock) -> None:
    with observer(tmp_path, clock, formula=MemoryFormula.MEM_AVAILABLE) as node:
        found = node.observe().node
    assert found is not None
    assert found.memory is not None
    assert found.memory.available_bytes == 9_000_000 * 1024
    assert found.gauges is not None
    assert found.gauges.working_set_available_bytes == 16_000_000 * 1024 - 4_000_000_000


def test_a_formula_that_a_reload_brings_is_used_and_its_step_is_no_fill(tmp_path: Path) -> None:
    times = [0]
    with observer(tmp_path, lambda: times[0], formula=MemoryFormula.WORKING_SET) as node:
        node.observe()
        times[0] = SECOND
        found = node.observe(formula=MemoryFormula.LOWEST).node
        assert node.memory_formula is MemoryFormula.LOWEST
    assert found is not None
    assert found.memory is not None
    assert (found.memory.available_bytes, found.memory.fill_rate) == (9_000_000 * 1024, None)


def test_a_mount_that_hangs_does_not_stop_the_observation(tmp_path: Path, clock: Clock) -> None:
    free = threading.Event()

    def hang(path: str) -> os.statvfs_result:
        free.wait(60)
        return os.statvfs("/")

    plain = observer(tmp_path, clock)
    plain.close()
    plant(tmp_path / "kubelet", {**ORPHAN, "allocated_pods_state": "not read"})
    roots = Roots(proc=tmp_path / "proc", cgroup=tmp_path / "cgroup", kubelet_dir=tmp_path / "kubelet")
    slow = FilesystemReader(statvfs=hang, timeout=20 * MILLISECOND)
    with NodeStatsReader(roots, ObserveOptions(), clock=clock, filesystems=slow) as node:
        for _ in range(3):
            found = node.observe([replace(POD, spec_known=False, volumes_known=False)])
            assert [row.source for row in found.problems] == ["nodefs"]
            assert found.node is not None
            assert found.node.fs is None
            assert found.node.memory is not None
            assert found.removed_pods == {}, "the directories of a disk that does not answer are not opened"
            assert not found.pods[0].volumes_known
        free.set()


class Cache(DiskUsageCache):
    """Records the requested pods."""

    def __init__(self) -> None:
        super().__init__(at_once(lambda request: PodDisk(time=3)), clock=lambda: 5)
        self.requested: list[str] = []
        self.pauses: list[bool] = []
        self.age: WalkAge | None = None

    def set_requests(self, requests: object, *, active: object, age: WalkAge | None = None) -> None:
        self.age = age
        self.pauses.append(self.limiter.due)
        self.requested = [row.uid for row in requests]  # type: ignore[attr-defined]

    def find(self, uid: str) -> PodDisk | None:
        return PodDisk(time=3)


def test_pods_are_walked_only_where_their_filesystem_is_not_calm(tmp_path: Path, clock: Clock) -> None:
    limited = Pod(
        name="limited",
        namespace="ns",
        uid="l",
        containers=(Container(name="main", limits={"ephemeral-storage": of_bytes(1 << 20)}),),
    )
    cache = Cache()
    observer(tmp_path, clock).close()
    roots = Roots(proc=tmp_path / "proc", cgroup=tmp_path / "cgroup", kubelet_dir=tmp_path / "kubelet")
    with NodeStatsReader(roots, ObserveOptions(), clock=clock, disk_usage=cache) as node:
        found = node.observe([POD, limited], near=())
        assert cache.requested == ["l"]
        assert found.pod_stats["a-b"].disk_time == 3
        node.observe([POD, limited], near=(Filesystem.IMAGEFS,))
        assert cache.requested == ["l"]
        node.observe([POD, limited], near=(Filesystem.NODEFS,), walk_age=WalkAge(longest=7))
        assert (cache.requested, cache.age) == (["a-b", "l"], WalkAge(longest=7))
    assert cache.pauses == [True] * 3, "walks stand aside while an observation is taken"


def test_what_a_walk_met_is_among_the_problems(tmp_path: Path, clock: Clock) -> None:
    observer(tmp_path, clock).close()
    roots = Roots(proc=tmp_path / "proc", cgroup=tmp_path / "cgroup", kubelet_dir=plant(tmp_path / "kubelet", {}))

    def fail(request: DiskRequest) -> PodDisk:
        return PodDisk(time=1, problems=(Problem(source="volume a of ns/web", detail="EIO"),))

    cache = DiskUsageCache(at_once(fail), clock=lambda: 5)
    with NodeStatsReader(roots, ObserveOptions(), clock=clock, disk_usage=cache) as node:
        node.observe([POD])
        assert cache.take_turn()
        assert [row.source for row in node.observe([POD]).problems] == ["volume a of ns/web"]


def test_swap_that_was_switched_off_is_absent_and_not_unread(tmp_path: Path, clock: Clock) -> None:
    meminfo = b"MemTotal: 16000000 kB\nSwapTotal: %d kB\nSwapFree: 0 kB\n"
    with observer(tmp_path, clock, proc={**PROC, "meminfo": meminfo % 9}) as node:
        assert Signal.SWAP_AVAILABLE not in node.observe().absent
        (tmp_path / "proc/meminfo").write_bytes(meminfo % 0)
        assert Signal.SWAP_AVAILABLE in node.observe().absent
        (tmp_path / "proc/meminfo").write_bytes(b"")
        assert Signal.SWAP_AVAILABLE not in node.observe().absent


def test_volumes_that_are_found_on_disk_are_measured(tmp_path: Path, clock: Clock) -> None:
    observer(tmp_path, clock).close()
    plant(tmp_path / "kubelet/pods", {"a-b": {"volumes": {"kubernetes.io~empty-dir": {"data": {"file": "x" * 9000}}}}})
    roots = Roots(proc=tmp_path / "proc", cgroup=tmp_path / "cgroup", kubelet_dir=tmp_path / "kubelet")
    cache = DiskUsageCache(PodDiskMeter(roots, clock).begin, clock=clock)
    unknown = replace(POD, spec_known=False, volumes_known=False)
    with NodeStatsReader(roots, ObserveOptions(), clock=clock, disk_usage=cache) as node:
        node.observe([unknown], view(container("c1", "main")))
        assert cache.take_turn()
        found = node.observe([unknown], view(container("c1", "main")))
    assert [(pod.volumes_known, pod.volumes[0].name) for pod in found.pods] == [(True, "data")]
    (volume,) = found.pod_stats["a-b"].volumes
    assert volume.name == "data"
    assert (volume.used_bytes or 0) >= 9000


@pytest.mark.root
@pytest.mark.skipif(bool(real_cgroups.reason_against()), reason=real_cgroups.reason_against() or "possible")
def test_this_machine_with_real_cgroups(clock: Clock, tmp_path: Path) -> None:
    """A pod's cgroup that vanishes, and one that comes again under its name, between two observations."""
    roots = Roots(kubelet_dir=tmp_path)
    with real_cgroups.branch() as branch:
        path = f"{branch}/burstable/poda-b"
        folders = [group(controller, path) for controller in ("memory", "pids")]
        with NodeStatsReader(roots, ObserveOptions(pods_cgroup=branch), clock=clock) as node:
            seen = []
            for action in ("make", "keep", "remove", "make"):
                for folder in folders:
                    if action == "make":
                        folder.mkdir(parents=True)
                    elif action == "remove":
                        folder.rmdir()
                found = node.observe([POD], view(container("c1", "main"), image_fs=images(tmp_path)))
                memory = found.pod_stats["a-b"].memory
                seen.append((memory is not None, found.pod_stats["a-b"].process_count))
                assert found.node is not None
                assert found.node.pods_memory is not None
                assert found.node.memory is not None
            assert seen == [(True, 0), (True, 0), (False, None), (True, 0)]


def test_the_fill_rate_comes_from_the_cycles_and_from_the_readings_between_them(tmp_path: Path) -> None:
    times = [0]
    with observer(tmp_path, lambda: times[0], tree=v1_node()) as reader:
        first = reader.observe().node
        assert first is not None
        assert first.memory is not None
        assert first.memory.fill_rate is None
        assert first.memory.available_bytes is not None
        times[0] = 500 * MILLISECOND
        reader.recent_fill.add(Signal.MEMORY_AVAILABLE, first.memory.available_bytes + 1000, times[0])
        times[0] = 1000 * MILLISECOND
        second = reader.observe().node
    assert second is not None
    assert second.memory is not None
    assert second.memory.fill_rate == 2000
    assert signal_observations(second)[Signal.MEMORY_AVAILABLE].fill_rate == 2000


def test_the_fill_rate_of_a_disk_comes_from_the_cycles_and_from_the_readings_between_them(tmp_path: Path) -> None:
    times = [0]
    with observer(tmp_path, lambda: times[0], tree=v1_node()) as reader:
        first = reader.observe().node
        assert first is not None
        assert first.fs is not None
        assert (first.fs.fill_rate, first.fs.inodes_fill_rate) == (None, None)
        assert first.fs.available_bytes is not None
        times[0] = 1500 * MILLISECOND
        reader.recent_fill.add(Signal.NODEFS_AVAILABLE, first.fs.available_bytes, times[0])
        times[0] = 4000 * MILLISECOND
        second = reader.observe().node
    assert second is not None
    assert second.fs is not None
    assert second.fs.available_bytes is not None
    assert second.fs.fill_rate == (first.fs.available_bytes - second.fs.available_bytes) * 2 // 5
    assert signal_observations(second)[Signal.NODEFS_AVAILABLE].fill_rate == second.fs.fill_rate


def test_the_measured_time_of_stops_comes_with_every_memory_signal(tmp_path: Path, clock: Clock) -> None:
    with observer(tmp_path, clock, stop_time=7) as reader:
        node = reader.observe().node
    assert node is not None
    signals = signal_observations(node)
    assert {s: o.stop_time for s, o in signals.items() if s in MEMORY_SIGNALS} == dict.fromkeys(MEMORY_SIGNALS, 7)


def test_memory_is_read_once_more_where_the_rate_is_old(tmp_path: Path) -> None:
    """As directly after a notification: the last reading was seconds ago, on a calm node."""
    times = iter(range(0, 10**15, 6 * MILLISECOND))
    with observer(tmp_path, lambda: next(times), tree=v1_node()) as reader:
        first = reader.observe().node
    assert first is not None
    assert first.memory is not None
    assert first.memory.fill_rate == 0


@pytest.mark.parametrize(
    "tree", [v2_node(systemd=True), v2_node(systemd=False), v1_node()], ids=["systemd", "cgroupfs", "v1"]
)
def test_a_pod_has_containers_while_there_is_a_cgroup_in_its_own(tmp_path: Path, clock: Clock, tree: Tree) -> None:
    with observer(tmp_path, clock, tree=tree) as node:
        assert node.pod_uids() == ("a-b",)
        assert node.any_containers(["gone", "a-b"])
        assert not node.any_containers(["gone", "../a-b"])
        assert not node.any_containers([])


def test_filesystems_are_not_asked_where_they_need_not_be_read_anew(tmp_path: Path, clock: Clock) -> None:
    """A disk that hangs would hold up a decision about memory for two seconds."""
    unchanged = os.statvfs("/")

    def steady(path: str) -> os.statvfs_result:
        """Others write to the machine's disk between two readings."""
        os.statvfs(path)
        return unchanged

    with observer(tmp_path, clock, statvfs=steady) as node:
        first = node.observe()
        (tmp_path / "kubelet").rmdir()
        again, anew = node.observe(disks_anew=False), node.observe()
    assert first.node is not None
    assert again.node is not None
    assert anew.node is not None
    assert again.node.fs == first.node.fs
    assert again.problems == first.problems
    assert again.node.memory != first.node.memory, "with the time of its own reading"
    assert anew.node.fs is None


@pytest.mark.parametrize(("before", "after"), [(9 << 30, 5), (5, 9 << 30)])
def test_a_shortage_that_begins_or_ends_while_the_pods_are_read_is_not_in_the_reading(
    tmp_path: Path, clock: Clock, before: int, after: int
) -> None:
    """The kernel killed the hog while evictd was halted, and the pods' numbers had another one as the largest."""

    class Between(Cache):
        """Is asked after the node was read and before the pods' cgroups are."""

        def set_requests(self, requests: object, *, active: object, age: WalkAge | None = None) -> None:
            plant(tmp_path / "cgroup", {"memory.stat": f"anon {after}\nfile 0\nkernel 5\ninactive_file 0\n"})

    observer(tmp_path, clock, tree=v2(anon=before, below={"kubepods": v2(0)})).close()
    roots = Roots(proc=tmp_path / "proc", cgroup=tmp_path / "cgroup", kubelet_dir=tmp_path / "kubelet")
    with NodeStatsReader(roots, ObserveOptions(), clock=clock, disk_usage=Between()) as node:
        found = node.observe().node
    assert found is not None
    assert found.memory is not None
    assert found.memory.available_bytes is not None
    assert found.memory.available_bytes > 10 << 30


@pytest.mark.parametrize("near", [(Filesystem.NODEFS,), ()])
def test_a_disk_near_its_threshold_is_read_after_the_volumes_of_removed_pods(
    tmp_path: Path, clock: Clock, near: tuple[Filesystem, ...]
) -> None:
    """One that was removed between the two was neither awaited nor counted as free, and a pod went for its bytes."""
    observer(tmp_path, clock).close()
    plant(tmp_path / "kubelet", ORPHAN)
    volume = tmp_path / "kubelet/pods/u9"
    there = list[bool]()

    def removed_after(path: str) -> os.statvfs_result:
        there.append(volume.exists())
        shutil.rmtree(volume, ignore_errors=True)
        return os.statvfs(path)

    roots = Roots(proc=tmp_path / "proc", cgroup=tmp_path / "cgroup", kubelet_dir=tmp_path / "kubelet")
    reader = FilesystemReader(statvfs=removed_after)
    with NodeStatsReader(roots, ObserveOptions(), clock=clock, filesystems=reader) as node:
        assert node.observe(near=near).removed_pods == {}
    assert there == ([True, False] if near else [True])


def test_the_time_at_which_the_disks_were_read_is_later_than_the_reading_of_each(tmp_path: Path, clock: Clock) -> None:
    with observer(tmp_path, clock) as node:
        found = node.observe().node
        assert found is not None
        assert found.fs is not None
        assert found.memory is not None
        assert found.fs.time is not None
        assert found.memory.time is not None
        assert found.fs.time < node.disks_read_at < found.memory.time


def test_volumes_of_removed_pods_are_looked_for_where_pods_and_disks_are_read(tmp_path: Path, clock: Clock) -> None:
    """Not on a calm cycle, nor directly after memory was crossed."""
    with observer(tmp_path, clock) as node:
        plant(tmp_path / "kubelet", ORPHAN)
        found = node.observe([POD])
        assert list(found.removed_pods) == ["u9"]
        assert node.observe_node(found, None, outcomes=Outcomes(), formula=None).removed_pods == {}
        assert node.observe([POD], disks_anew=False).removed_pods == {}
