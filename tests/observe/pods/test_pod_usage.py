"""Pods' usage from cgroups, the runtime and the last walk."""

from dataclasses import replace
from pathlib import Path

import pytest

from evictd.clients.cri.values import CriContainerStats as RuntimeStats
from evictd.core.gc.container_gc import ContainerState
from evictd.core.model.config import Policy
from evictd.core.model.pod import Pod
from evictd.core.model.resources import QOSClass, Volume, VolumeKind
from evictd.core.model.signal import StalledResource
from evictd.core.model.stats import (
    ContainerStats,
    DiskUsage,
    IOStats,
    MemoryStats,
    PodStats,
    PressureStall,
    PSIStats,
    VolumeStats,
)
from evictd.observe.cgroups.cgroup import find_hierarchy
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache
from evictd.observe.disk_usage.pod_disk import PodDisk
from evictd.observe.pods.pod_usage import PodUsageReader, UsageSources
from evictd.observe.reading.problems import Problems
from evictd.observe.runtime.runtime_view import RuntimeView
from tests.observe.runtime_double import container, sandbox, stats, view
from tests.trees import FILE_PAGES, Tree, plant, v1_node, v2, v2_node

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
    most_memory: int | None = None,
) -> tuple[PodStats | None, list[str]]:
    cgroups = find_hierarchy(
        plant(base / "cgroup", v2_node(systemd=False) if tree is None else tree), FileDescriptorCache(0)
    )
    problems = Problems()
    sources = UsageSources(
        now=7,
        problems=problems,
        runtime=runtime,
        pods_cgroup=pods_cgroup,
        most_memory=most_memory,
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
    assert found.memory == MemoryStats(time=7, usage_bytes=100, working_set_bytes=80, clean_file_bytes=FILE_PAGES)
    assert found.process_count == 4
    assert found.containers == (ContainerStats("main", working_set_bytes=50),)
    assert found.time == 7
    assert problems == []


def test_the_cgroup_reported_by_the_runtime_is_used_first(tmp_path: Path) -> None:
    tree = v2(anon=1, file=1, below={"own": v2(1, below={"web": v2(500, inactive=1, pids=9, below={"c1": v2(40)})})})
    found, problems = read(tmp_path, view(RUNNING, cgroups={"a-b": "/own/web"}), tree=tree)
    assert found is not None
    assert found.memory is not None
    assert (found.memory.working_set_bytes, found.process_count) == (499, 9)
    assert found.containers[0].working_set_bytes == 40
    assert problems == []


@pytest.mark.parametrize("runtime", [None, replace(view(uid="other"), current=False)], ids=["never", "not now"])
def test_without_the_runtimes_answer_a_pod_is_measured_by_its_own_cgroup(
    tmp_path: Path, runtime: RuntimeView | None
) -> None:
    found, problems = read(tmp_path, runtime)
    assert found is not None
    assert found.memory == MemoryStats(time=7, usage_bytes=100, working_set_bytes=80, clean_file_bytes=FILE_PAGES)
    assert (found.process_count, found.containers) == (4, ())
    assert problems == []


def test_without_the_runtimes_answer_the_last_known_cgroup_is_read(tmp_path: Path) -> None:
    tree = v2(anon=1, file=1, below={"own": v2(1, below={"web": v2(500, inactive=1, pids=9, below={"c1": v2(40)})})})
    runtime = replace(view(RUNNING, cgroups={"a-b": "/own/web"}), current=False)
    found, _ = read(tmp_path, runtime, tree=tree)
    assert found is not None
    assert found.memory is not None
    assert (found.memory.working_set_bytes, found.process_count) == (499, 9)
    assert found.containers[0].working_set_bytes == 40


def test_a_pod_that_ended_since_the_last_listing_is_not_measured_by_old_statistics(tmp_path: Path) -> None:
    runtime = view(RUNNING, cgroups={"a-b": "/gone"}, stats={"c1": stats(1, 1, memory=900)})
    assert read(tmp_path / "1", replace(runtime, current=False))[0] is None
    found, _ = read(tmp_path / "2", runtime)
    assert found is not None
    assert found.memory == MemoryStats(time=7, working_set_bytes=900)


def test_without_the_runtimes_answer_a_pod_without_a_cgroup_has_no_entry(tmp_path: Path) -> None:
    assert read(tmp_path, None, pods_cgroup="/none") == (None, [])


def test_policy_kubelet_measures_no_pod_without_the_runtime(tmp_path: Path) -> None:
    assert read(tmp_path, None, policy=Policy.KUBELET)[0] is None


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


@pytest.mark.parametrize(
    ("policy", "expected"), [(Policy.STANDARD, DiskUsage(None, None)), (Policy.KUBELET, DiskUsage(0, 0))]
)
def test_a_layer_that_is_not_measured_yet_is_empty_to_the_kubelet_only(
    tmp_path: Path, policy: Policy, expected: DiskUsage
) -> None:
    """Its message then names the container by its logs alone; under Standard the layer is unknown."""
    found, _ = read(tmp_path, view(RUNNING, stats={"c1": stats(None, None, time=0)}), policy=policy)
    assert found is not None
    assert found.containers[0].rootfs == expected


WALL = 1_000_000
"""The wall clock at the boot-time clock's 1, where `view` is made; `read` looks at 7."""


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ({"c1": stats(1, 1, time=WALL + 2), "c2": stats(1, 1, time=WALL + 4)}, 3),
        ({"c1": stats(1, 1, time=WALL - 9), "c2": stats(1, 1, time=WALL + 4)}, -8),
        ({"c1": stats(1, 1, time=WALL + 2)}, None),
        ({"c1": stats(1, 1, time=WALL + 2), "c2": stats(None, None, time=0)}, None),
        ({"c1": stats(1, 1, time=WALL + 2), "c2": stats(1, 1, time=WALL + 7)}, None),
        (None, None),
    ],
    ids=["the oldest counts", "old", "one without statistics", "a restarted containerd", "in the future", "none"],
)
def test_the_time_of_the_layers_is_that_of_the_oldest_and_absent_if_one_was_not_read(
    tmp_path: Path, rows: dict[str, RuntimeStats] | None, expected: int | None
) -> None:
    found, _ = read(tmp_path, replace(view(RUNNING, container("c2", "side"), stats=rows), wall=WALL))
    assert found is not None
    assert found.layers_time == expected


@pytest.mark.parametrize(
    ("reported", "walked", "at", "expected", "time"),
    [
        (stats(10, 1, time=WALL + 1), DiskUsage(500, 5), 5, DiskUsage(500, 5), 5),
        (stats(900, 9, time=WALL + 1), DiskUsage(500, 5), 5, DiskUsage(900, 9), 5),
        (stats(10, 1, time=WALL + 4), DiskUsage(500, 5), 3, DiskUsage(10, 1), 5),
        (stats(None, None, time=0), DiskUsage(500, 5), 5, DiskUsage(500, 5), 5),
        (None, DiskUsage(500, 5), 5, DiskUsage(500, 5), 5),
        (stats(10, 1, time=WALL + 1), DiskUsage(500, 5), None, DiskUsage(500, 5), 2),
    ],
    ids=["a later walk", "never less", "an earlier walk", "not reported yet", "never", "under way"],
)
def test_a_layer_that_was_walked_later_than_the_runtime_read_it_counts_as_walked(
    tmp_path: Path,
    reported: RuntimeStats | None,
    walked: DiskUsage,
    at: int | None,
    expected: DiskUsage,
    time: int,
) -> None:
    rows = None if reported is None else {"c1": reported}
    disk = PodDisk(time=at, layers={"c1": walked, "gone": DiskUsage(7, 7)})
    found, _ = read(tmp_path, replace(view(RUNNING, stats=rows), wall=WALL), disk=disk)
    assert found is not None
    assert found.containers[0].rootfs == expected
    assert found.layers_time == time


def test_an_exited_container_without_a_layer_is_not_waited_for(tmp_path: Path) -> None:
    runtime = view(
        RUNNING, container("c0", "main", state=ContainerState.EXITED), stats={"c1": stats(1, 1, time=WALL + 2)}
    )
    found, _ = read(tmp_path / "1", replace(runtime, wall=WALL))
    assert found is not None
    assert found.layers_time == 3
    unknown, _ = read(tmp_path / "2", runtime)
    assert unknown is not None
    assert unknown.layers_time is None, "without the wall clock a stamp says nothing"


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
def test_a_malformed_cgroup_file_is_absent_and_a_problem(tmp_path: Path, text: str) -> None:
    pod = {**v2(1, pids=4), "memory.current": text}
    tree = v2(anon=1, file=1, below={"kubepods": v2(1, below={"burstable": v2(1, below={"poda-b": pod})})})
    found, problems = read(tmp_path, view(RUNNING), tree=tree)
    assert found is not None
    assert found.memory is None
    assert found.process_count == 4
    assert problems == ["memory of ns/web"]


def test_an_unknown_pod_has_no_entry(tmp_path: Path) -> None:
    assert read(tmp_path, view(uid="other")) == (None, [])
    assert read(tmp_path / "2", view(RUNNING, uid="other")) == (None, [])


def test_a_pod_that_the_runtime_does_not_list_has_no_entry_though_its_disk_was_measured(tmp_path: Path) -> None:
    """It could not be stopped; a listed sandbox alone can be, and what the pod's volumes hold counts."""
    disk = PodDisk(time=5, logs={}, volumes={})
    assert read(tmp_path, view(uid="other"), disk=disk) == (None, [])
    assert read(tmp_path / "2", view(), disk=disk)[0] is not None


def test_containers_belong_to_the_pod_of_their_sandbox_and_not_of_their_labels(tmp_path: Path) -> None:
    runtime = view(RUNNING)
    lost = container("c9", "main", sandbox_id="elsewhere")
    mixed = RuntimeView(time=1, sandboxes=(sandbox("a-b"),), containers=(*runtime.containers, lost))
    found, _ = read(tmp_path, mixed)
    assert found is not None
    assert len(found.containers) == 1


def test_where_a_container_is_found_is_remembered_until_it_is_gone(tmp_path: Path) -> None:
    cgroups = find_hierarchy(plant(tmp_path, v2_node(systemd=False)), FileDescriptorCache(0))
    reader = PodUsageReader(cgroups, policy=Policy.STANDARD)
    for runtime, known in ((view(RUNNING), 1), (view(RUNNING), 1), (view(), 0)):
        reader.read([POD], UsageSources(now=1, problems=Problems(), runtime=runtime, pods_cgroup="/kubepods"))
        assert len(reader._container_paths) == known


PRESSURE = "some avg10=5.00 avg60=0.00 avg300=0.00 total=7\nfull avg10=2.50 avg60=0.00 avg300=0.00 total=5\n"


def test_a_pods_own_stalls_are_read_where_they_are_wanted(tmp_path: Path) -> None:
    """Of cgroup v2; a file that is missing is absent, one that is damaged a problem."""
    folder = plant(tmp_path / "cgroup", v2_node(systemd=False)) / "kubepods/burstable/poda-b"
    (folder / "memory.pressure").write_text(PRESSURE)
    cgroups = find_hierarchy(tmp_path / "cgroup", FileDescriptorCache(0))

    def stalls(*wanted: StalledResource) -> tuple[PSIStats | None, IOStats | None, list[str]]:
        problems = Problems()
        sources = UsageSources(
            now=7, problems=problems, runtime=view(RUNNING), pods_cgroup="/kubepods", stalled=frozenset(wanted)
        )
        found = PodUsageReader(cgroups, policy=Policy.STANDARD).read([POD], sources)[POD.uid]
        assert found.memory is not None
        return found.memory.psi, found.io, [problem.source for problem in problems.found()]

    memory = PSIStats(full=PressureStall(2.5, 0.0, 0.0, 5), some=PressureStall(5.0, 0.0, 0.0, 7))
    assert stalls() == (None, None, [])
    assert stalls(*StalledResource) == (memory, None, [])
    (folder / "io.pressure").write_text(PRESSURE)
    assert stalls(*StalledResource) == (memory, IOStats(time=7, psi=memory), [])
    (folder / "io.pressure").write_text("some avg10=nan")
    assert stalls(*StalledResource) == (memory, None, ["io pressure of ns/web"])


def test_a_pods_swap_is_read_where_the_node_has_any(tmp_path: Path) -> None:
    folder = plant(tmp_path / "cgroup", v2_node(systemd=False)) / "kubepods/burstable/poda-b"
    cgroups = find_hierarchy(tmp_path / "cgroup", FileDescriptorCache(0))

    def swap(*, node_has: bool) -> tuple[int | None, list[str]]:
        problems = Problems()
        sources = UsageSources(now=7, problems=problems, runtime=view(RUNNING), pods_cgroup="/kubepods", swap=node_has)
        found = PodUsageReader(cgroups, policy=Policy.STANDARD).read([POD], sources)[POD.uid]
        assert found.memory is not None
        return found.memory.swap_bytes, [problem.source for problem in problems.found()]

    assert swap(node_has=True) == (None, [])  # the kernel does not account for it
    (folder / "memory.swap.current").write_text("4096\n")
    assert swap(node_has=False) == (None, [])
    assert swap(node_has=True) == (4096, [])
    (folder / "memory.swap.current").write_text("4096")
    assert swap(node_has=True) == (None, ["memory of ns/web"])


def test_memory_that_the_machine_does_not_have_is_refused(tmp_path: Path) -> None:
    """A pod whose counter showed 8 EiB went, and as a static one it was the culprit for ever."""
    tree = v2(anon=1, file=1, below={"kubepods": {"burstable": {"poda-b": v2(2**63 - 1, below={"c1": v2(2**63 - 1)})}}})
    found, problems = read(tmp_path, view(RUNNING), tree=tree, most_memory=16 << 30)
    assert found is not None
    assert found.memory is None
    assert [each.working_set_bytes for each in found.containers] == [None]
    assert set(problems) >= {"memory of ns/web", "memory of container c1"}


def test_statistics_of_the_runtime_that_cannot_be_true_are_refused(tmp_path: Path) -> None:
    impossible = view(RUNNING, stats={"c1": stats(2**63 - 1, 2**63 - 1, memory=2**63 - 1)})
    found, problems = read(tmp_path, impossible, pods_cgroup=None, most_memory=16 << 30)
    assert found is not None
    assert [(each.working_set_bytes, each.rootfs) for each in found.containers] == [(None, None)]
    assert (found.memory, found.ephemeral_storage) == (None, None)
    assert set(problems) == {"memory of container c1", "writable layer of container c1"}
