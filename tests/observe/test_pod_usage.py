"""Pods' usage from cgroups, the runtime and the last walk."""

from pathlib import Path

import pytest

from evictd.clients.cri.values import ContainerState
from evictd.core.config import Policy
from evictd.core.pod import Pod
from evictd.core.qos import QOSClass
from evictd.core.stats import ContainerStats, DiskUsage, MemoryStats, PodStats, VolumeStats
from evictd.core.volume import Volume, VolumeKind
from evictd.observe.cgroup import find_hierarchy
from evictd.observe.findings import Problems
from evictd.observe.kept_files import KeptFiles
from evictd.observe.pod_disk import PodDisk
from evictd.observe.pod_usage import PodUsageReader, UsageSources
from evictd.observe.runtime_view import RuntimeView
from tests.observe.runtime import container, sandbox, stats, view
from tests.trees import Tree, plant, v1_node, v2, v2_node

POD = Pod(name="web", namespace="ns", uid="a-b", status_qos_class=QOSClass.BURSTABLE.value)
RUNNING = container("c1", "main")


def read(
    base: Path,
    runtime: RuntimeView | None,
    *,
    pod: Pod = POD,
    tree: Tree | None = None,
    disk: PodDisk | None = None,
    policy: Policy = Policy.STANDARD,
    pods_cgroup: str | None = "/kubepods",
) -> tuple[PodStats | None, list[str]]:
    cgroups = find_hierarchy(plant(base / "cgroup", v2_node(systemd=False) if tree is None else tree), KeptFiles(0))
    problems = Problems()
    sources = UsageSources(
        now=7,
        problems=problems,
        runtime=runtime,
        pods_cgroup=pods_cgroup,
        disks={} if disk is None else {pod.uid: disk},
    )
    found = PodUsageReader(cgroups, policy=policy).read([pod], sources)
    return found.get(pod.uid), [problem.source for problem in problems.found()]


@pytest.mark.parametrize(
    ("tree", "pods"),
    [(v2_node(systemd=True), "/kubepods.slice"), (v2_node(systemd=False), "/kubepods"), (v1_node(), "/kubepods")],
    ids=["v2 systemd", "v2 cgroupfs", "v1"],
)
def test_memory_and_tasks_come_from_the_pods_cgroup(tmp_path: Path, tree: Tree, pods: str) -> None:
    found, problems = read(tmp_path, view(RUNNING), tree=tree, pods_cgroup=pods)
    assert found is not None
    assert found.memory == MemoryStats(time=7, usage_bytes=100, working_set_bytes=80)
    assert found.process_count == 4
    assert found.containers == (ContainerStats("main", working_set_bytes=50),)
    assert found.time == 7
    assert problems == []


def test_the_cgroup_that_the_runtime_tells_of_wins(tmp_path: Path) -> None:
    tree = v2(anon=1, file=1, below={"own": v2(1, below={"web": v2(500, inactive=1, pids=9, below={"c1": v2(40)})})})
    found, problems = read(tmp_path, view(RUNNING, cgroups={"a-b": "/own/web"}), tree=tree)
    assert found is not None
    assert found.memory is not None
    assert (found.memory.working_set_bytes, found.process_count) == (499, 9)
    assert found.containers[0].working_set_bytes == 40
    assert problems == []


@pytest.mark.parametrize("path", ["/kubepods/../../../etc", "relative", "/", "/a//b"])
def test_an_unsafe_path_from_the_runtime_is_not_read(tmp_path: Path, path: str) -> None:
    found, problems = read(tmp_path, view(RUNNING, cgroups={"a-b": path}))
    assert found is not None
    assert found.memory is None
    assert problems == ["cgroup of ns/web"]


@pytest.mark.parametrize("uid", ["../x", "a/b", "..", ""])
def test_an_unsafe_uid_makes_no_path(tmp_path: Path, uid: str) -> None:
    pod = Pod(name="web", namespace="ns", uid=uid, status_qos_class="Burstable")
    found, problems = read(tmp_path, view(RUNNING, uid=uid), pod=pod)
    assert found is not None
    assert found.memory is None
    assert problems == ["cgroup of ns/web"]


def test_an_unsafe_container_id_makes_no_path(tmp_path: Path) -> None:
    runtime = view(container("../../x", "main"), container("", "side"))
    found, problems = read(tmp_path, runtime)
    assert found is not None
    assert [row.working_set_bytes for row in found.containers] == [None, None]
    assert problems == []


def test_writable_layers_of_exited_containers_count_to_their_pod(tmp_path: Path) -> None:
    gone = container("c0", "main", state=ContainerState.EXITED)
    init = container("i0", "init", state=ContainerState.EXITED)
    runtime = view(gone, init, RUNNING, stats={"c0": stats(1000, 10), "i0": stats(500, 5), "c1": stats(200, 2)})
    found, problems = read(tmp_path, runtime)
    assert found is not None
    assert found.containers == (
        ContainerStats("main", 50, DiskUsage(200, 2)),
        ContainerStats("main", None, DiskUsage(1000, 10)),
        ContainerStats("init", None, DiskUsage(500, 5)),
    )
    assert found.ephemeral_storage == DiskUsage(1700, 17)
    assert problems == []


def test_the_kubelet_forgets_them_and_pods_without_statistics(tmp_path: Path) -> None:
    gone = container("c0", "main", state=ContainerState.EXITED)
    runtime = view(gone, RUNNING, stats={"c0": stats(1000, 10), "c1": stats(200, 2)})
    found, _ = read(tmp_path, runtime, policy=Policy.KUBELET)
    assert found is not None
    assert found.ephemeral_storage == DiskUsage(200, 2)
    assert read(tmp_path / "2", view(gone, stats={"c0": stats(1, 1)}), policy=Policy.KUBELET)[0] is None
    assert read(tmp_path / "3", view(RUNNING), policy=Policy.KUBELET)[0] is None


def test_a_pod_of_exited_containers_has_an_entry_without_memory(tmp_path: Path) -> None:
    gone = container("c0", "main", state=ContainerState.EXITED)
    found, problems = read(tmp_path, view(gone, stats={"c0": stats(1000, 10)}), pods_cgroup="/none")
    assert found is not None
    assert (found.memory, found.process_count) == (None, None)
    assert found.ephemeral_storage == DiskUsage(1000, 10)
    assert problems == [], "it is no fault that nothing runs there"


def test_logs_volumes_and_the_rest_are_added_up_and_memory_volumes_are_not(tmp_path: Path) -> None:
    volumes = (
        Volume(name="secret", kind=VolumeKind.SECRET),
        Volume(name="data", kind=VolumeKind.EMPTY_DIR),
        Volume(name="shm", kind=VolumeKind.EMPTY_DIR, medium="Memory"),
        Volume(name="conf", kind=VolumeKind.CONFIG_MAP),
        Volume(name="host", kind=VolumeKind.HOST_PATH),
    )
    pod = Pod(name="web", namespace="ns", uid="a-b", status_qos_class="Burstable", volumes=volumes)
    disk = PodDisk(
        time=3,
        logs={"main": DiskUsage(10, 1), "gone": DiskUsage(20, 1)},
        volumes={
            "data": DiskUsage(100, 3),
            "shm": DiskUsage(7000, 70),
            "conf": DiskUsage(200, 2),
            "secret": DiskUsage(9000, 9),
        },
        pod_logs=DiskUsage(1000, 1),
        etc_hosts=DiskUsage(2000, 1),
    )
    found, _ = read(tmp_path, view(RUNNING, stats={"c1": stats(5, 5)}), pod=pod, disk=disk)
    assert found is not None
    assert found.volumes == (
        VolumeStats("data", 100, 3),
        VolumeStats("conf", 200, 2),
        VolumeStats("secret", 9000, 9),
        VolumeStats("shm", 7000, 70),
    )
    assert found.containers == (ContainerStats("main", 50, DiskUsage(5, 5), DiskUsage(10, 1)),)
    assert found.ephemeral_storage == DiskUsage(5 + 10 + 20 + 100 + 200 + 1000 + 2000, 5 + 1 + 1 + 3 + 2 + 1 + 1)
    assert (found.time, found.disk_time) == (7, 3)


def test_without_any_part_there_is_no_ephemeral_storage(tmp_path: Path) -> None:
    found, _ = read(tmp_path, view(RUNNING))
    assert found is not None
    assert (found.ephemeral_storage, found.disk_time) == (None, None)


def test_without_cgroups_the_runtimes_own_numbers_do(tmp_path: Path) -> None:
    runtime = view(RUNNING, container("c2", "side"), stats={"c1": stats(1, 1, memory=30), "c2": stats(1, 1, memory=12)})
    found, problems = read(tmp_path, runtime, tree=v2(anon=1, file=1))
    assert found is not None
    assert found.memory == MemoryStats(time=7, working_set_bytes=42)
    assert problems == ["memory of ns/web", "tasks of ns/web"]


@pytest.mark.parametrize("text", ["", "12", "max\n", f"{2**64}\n", "garbage\n"])
def test_a_garbled_cgroup_file_is_absent_and_named(tmp_path: Path, text: str) -> None:
    pod = {**v2(1, pids=4), "memory.current": text}
    tree = v2(anon=1, file=1, below={"kubepods": v2(1, below={"burstable": v2(1, below={"poda-b": pod})})})
    found, problems = read(tmp_path, view(RUNNING), tree=tree)
    assert found is not None
    assert found.memory is None
    assert found.process_count == 4
    assert problems == ["memory of ns/web"]


def test_a_pod_that_nobody_knows_has_no_entry(tmp_path: Path) -> None:
    assert read(tmp_path, None) == (None, [])
    assert read(tmp_path / "2", view(RUNNING, uid="other")) == (None, [])


def test_containers_belong_to_the_pod_of_their_sandbox_whatever_their_labels_say(tmp_path: Path) -> None:
    runtime = view(RUNNING)
    lost = container("c9", "main", sandbox_id="elsewhere")
    mixed = RuntimeView(time=1, sandboxes=(sandbox("a-b"),), containers=(*runtime.containers, lost))
    found, _ = read(tmp_path, mixed)
    assert found is not None
    assert len(found.containers) == 1


def test_where_a_container_is_found_is_remembered_until_it_is_gone(tmp_path: Path) -> None:
    cgroups = find_hierarchy(plant(tmp_path, v2_node(systemd=False)), KeptFiles(0))
    reader = PodUsageReader(cgroups, policy=Policy.STANDARD)
    for runtime, known in ((view(RUNNING), 1), (view(RUNNING), 1), (view(), 0)):
        reader.read([POD], UsageSources(now=1, problems=Problems(), runtime=runtime, pods_cgroup="/kubepods"))
        assert len(reader._container_paths) == known
