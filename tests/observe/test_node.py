"""One observation of a whole node."""

import os
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from evictd.clients.cri.values import FilesystemUsage, ImageFsInfo
from evictd.core.duration import MILLISECOND
from evictd.core.observation import Filesystems, Outcomes, Problem, signal_observations
from evictd.core.pod import Pod
from evictd.core.quantity import of_bytes, of_count
from evictd.core.resources import Container
from evictd.core.signal import Filesystem, Signal
from evictd.demo.cgroups import group
from evictd.observe.disk_usage_cache import DiskUsageCache
from evictd.observe.filesystem import FilesystemReader
from evictd.observe.memory import MemoryFormula
from evictd.observe.node import NodeObserver, ObserveOptions
from evictd.observe.pod_disk import DiskRequest, PodDisk
from evictd.observe.roots import Roots
from tests import real_cgroups
from tests.observe.runtime import container, stats, view
from tests.trees import PROC, Tree, plant, v1_node, v2_node

Clock = Callable[[], int]

POD = Pod(name="web", namespace="ns", uid="a-b", status_qos_class="Burstable", containers=(Container(name="main"),))


@pytest.fixture
def clock() -> Clock:
    return count(1).__next__


def observer(
    base: Path, clock: Clock, *, tree: Tree | None = None, proc: Tree = PROC, **options: object
) -> NodeObserver:
    roots = Roots(
        proc=plant(base / "proc", proc),
        cgroup=plant(base / "cgroup", v2_node(systemd=True) if tree is None else tree),
        kubelet_dir=plant(base / "kubelet", {}),
        pod_logs_dir=base / "logs",
    )
    return NodeObserver(roots, ObserveOptions(**options), clock=clock)  # type: ignore[arg-type]


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
    assert signals.keys() == set(Signal)
    assert signals[Signal.MEMORY_AVAILABLE].available == of_bytes(16_000_000 * 1024 - 4_000_000_000)
    assert signals[Signal.ALLOCATABLE_MEMORY_AVAILABLE].available == of_bytes(5000)
    assert signals[Signal.PID_AVAILABLE].available == of_count(32768 - 345)
    assert found.pods == (POD,)
    assert found.pod_stats["a-b"].process_count == 4
    assert found.filesystems == Filesystems(dedicated_image_fs=False, split_container_fs=False)
    assert found.node.name == "n1"
    assert found.problems == ()


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


def test_a_node_without_a_runtime_is_observed_all_the_same(tmp_path: Path, clock: Clock) -> None:
    with observer(tmp_path, clock) as node:
        found = node.observe()
    assert found.node is not None
    assert found.node.fs is not None
    assert found.node.image_fs is None
    assert found.filesystems == Filesystems()
    assert found.problems == ()


def test_a_runtime_that_does_not_answer_is_something_else(tmp_path: Path, clock: Clock) -> None:
    with observer(tmp_path, clock) as node:
        found = node.observe(has_runtime=True)
    assert found.filesystems == Filesystems(dedicated_image_fs=None, split_container_fs=None)
    assert [row.source for row in found.problems] == ["imagefs"]


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
        assert {"memory of the node", "nodefs", "imagefs", "pods cgroup", "pids: loadavg"} <= set(sources)
    node.close()


def test_the_pods_cgroup_may_come_later_and_may_be_named(tmp_path: Path, clock: Clock) -> None:
    with observer(tmp_path, clock, tree={"memory": v1_node()["memory"], "pids": {}}, pods_cgroup="/own/pods") as node:
        assert [row.source for row in node.observe().problems] == ["pods cgroup"]
        plant(tmp_path / "cgroup/memory/own/pods", {"memory.usage_in_bytes": "9\n"})
        found = node.observe()
        assert [row.source for row in found.problems] == ["memory of the pods cgroup"]
    with observer(tmp_path / "2", clock, pods_cgroup="/../etc") as node:
        assert "unsafe path" in node.observe().problems[0].detail


def test_the_other_formula(tmp_path: Path, clock: Clock) -> None:
    with observer(tmp_path, clock, formula=MemoryFormula.MEM_AVAILABLE) as node:
        found = node.observe().node
    assert found is not None
    assert found.memory is not None
    assert found.memory.available_bytes == 9_000_000 * 1024
    assert found.gauges is not None
    assert found.gauges.working_set_available_bytes == 16_000_000 * 1024 - 4_000_000_000


def test_a_mount_that_hangs_does_not_stop_the_observation(tmp_path: Path, clock: Clock) -> None:
    free = threading.Event()

    def hang(path: str) -> os.statvfs_result:
        free.wait(60)
        return os.statvfs("/")

    plain = observer(tmp_path, clock)
    plain.close()
    roots = Roots(proc=tmp_path / "proc", cgroup=tmp_path / "cgroup", kubelet_dir=tmp_path / "kubelet")
    slow = FilesystemReader(statvfs=hang, timeout=20 * MILLISECOND)
    with NodeObserver(roots, ObserveOptions(), clock=clock, filesystems=slow) as node:
        for _ in range(3):
            found = node.observe()
            assert [row.source for row in found.problems] == ["nodefs"]
            assert found.node is not None
            assert found.node.fs is None
            assert found.node.memory is not None
        free.set()


class Cache(DiskUsageCache):
    """Notes who is wanted."""

    def __init__(self) -> None:
        super().__init__(lambda request: PodDisk(time=3), clock=lambda: 5)
        self.asked: list[str] = []
        self.quiet: list[bool] = []

    def want(self, requests: object, *, active: object) -> None:
        self.quiet.append(self.pace.due)
        self.asked = [row.uid for row in requests]  # type: ignore[attr-defined]

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
    with NodeObserver(roots, ObserveOptions(), clock=clock, disk_usage=cache) as node:
        found = node.observe([POD, limited], near=())
        assert cache.asked == ["l"]
        assert found.pod_stats["a-b"].disk_time == 3
        node.observe([POD, limited], near=(Filesystem.IMAGEFS,))
        assert cache.asked == ["l"]
        node.observe([POD, limited], near=(Filesystem.NODEFS,))
        assert cache.asked == ["a-b", "l"]
    assert cache.quiet == [True] * 3, "walks stand aside while an observation is taken"


def test_what_a_walk_met_is_among_the_problems(tmp_path: Path, clock: Clock) -> None:
    observer(tmp_path, clock).close()
    roots = Roots(proc=tmp_path / "proc", cgroup=tmp_path / "cgroup", kubelet_dir=plant(tmp_path / "kubelet", {}))

    def fail(request: DiskRequest) -> PodDisk:
        return PodDisk(time=1, problems=(Problem(source="volume a of ns/web", detail="EIO"),))

    cache = DiskUsageCache(fail, clock=lambda: 5)
    with NodeObserver(roots, ObserveOptions(), clock=clock, disk_usage=cache) as node:
        node.observe([POD])
        assert cache.renew_one()
        assert [row.source for row in node.observe([POD]).problems] == ["volume a of ns/web"]


@pytest.mark.root
@pytest.mark.skipif(bool(real_cgroups.reason_against()), reason=real_cgroups.reason_against() or "possible")
def test_this_machine_with_real_cgroups(clock: Clock, tmp_path: Path) -> None:
    """A pod's cgroup that vanishes, and one that comes again under its name, between two observations."""
    roots = Roots(kubelet_dir=tmp_path)
    with real_cgroups.branch() as branch:
        path = f"{branch}/burstable/poda-b"
        folders = [group(controller, path) for controller in ("memory", "pids")]
        with NodeObserver(roots, ObserveOptions(pods_cgroup=branch), clock=clock) as node:
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
