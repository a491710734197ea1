"""Which pods are measured, and which of them first."""

from pathlib import Path

import pytest

from evictd.core.model.config import Policy
from evictd.core.model.signal import Filesystem
from evictd.core.model.stats import DiskUsage
from evictd.observe.cgroups.cgroup_reader import CgroupV2
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache
from evictd.observe.disk_usage.disk_requests import DiskRequests, layer_steps
from evictd.observe.disk_usage.pod_disk import DiskRequest, LayerRequest, PodDisk
from evictd.observe.disk_usage.pod_meter import PodDiskMeter
from evictd.observe.reading.roots import Roots
from tests.observe.disk_usage.test_pod_meter import to_the_end
from tests.observe.runtime_double import container, view
from tests.playbook import pod
from tests.trees import Link, Tree, plant, v2

PODS = [pod("idle"), pod("writer"), pod("limited", storage_limit="1Gi")]


def cgroup(written: int) -> Tree:
    return {**v2(1), "io.stat": f"8:0 rbytes=0 wbytes={written} rios=0 wios=0\n"}


def requests(base: Path, policy: Policy = Policy.STANDARD) -> DiskRequests:
    pods = {"podwriter": cgroup(0), "podidle": cgroup(50 << 20)}
    plant(base, {"kubepods": {"besteffort": pods}})
    return DiskRequests(CgroupV2(base, FileDescriptorCache(0)), policy=policy)


def test_far_from_a_threshold_only_pods_with_a_limit_are_measured(tmp_path: Path) -> None:
    (found,) = requests(tmp_path).of(PODS, [], view(), "/kubepods")
    assert (found.uid, found.limited, found.cgroups) == ("limited", True, ())


def test_near_a_threshold_all_are_measured_and_those_that_write_the_most_are_marked(tmp_path: Path) -> None:
    wanted = requests(tmp_path)
    first = wanted.of(PODS, [Filesystem.NODEFS], view(), "/kubepods")
    assert [each.writes_most for each in first] == [False, False, False]
    plant(tmp_path, {"kubepods": {"besteffort": {"podwriter": cgroup(300 << 20)}}})
    second = wanted.of(PODS, [Filesystem.NODEFS], view(), "/kubepods")
    assert [(each.uid, each.writes_most) for each in second] == [("idle", False), ("writer", True), ("limited", False)]
    assert tmp_path / "kubepods/besteffort/podwriter" in second[1].cgroups


@pytest.mark.parametrize(("reported", "folders"), [("/own/web", ["own/web"]), ("/own/../web", [])])
def test_a_cgroup_that_the_runtime_reports_is_the_only_one(tmp_path: Path, reported: str, folders: list[str]) -> None:
    runtime = view(container("c1", "main"), uid="idle", cgroups={"idle": reported})
    found = requests(tmp_path).of(PODS[:1], [Filesystem.NODEFS], runtime, "/kubepods")
    assert [str(each.relative_to(tmp_path)) for each in found[0].cgroups] == folders


def test_policy_kubelet_knows_neither_layers_nor_deleted_files(tmp_path: Path) -> None:
    found = requests(tmp_path, Policy.KUBELET).of(PODS, [Filesystem.NODEFS], view(), "/kubepods")
    assert [(each.cgroups, each.layers, each.writes_most) for each in found] == [((), (), False)] * 3


BLOCK = 4096
OTHER = "22 1 0:5 / /proc rw - proc proc rw"


def mountinfo(upper: str, *, point: str = "/", kind: str = "overlay") -> str:
    layer = (
        f"206 167 0:69 / {point} rw,relatime - {kind} overlay rw,lowerdir=/l/2/fs,upperdir={upper},workdir=/l/4/work"
    )
    return f"{OTHER}\n{layer}\n"


def requested(base: Path, *tables: str) -> LayerRequest:
    proc = {str(pid): {"mountinfo": text.replace("BASE", str(base))} for pid, text in enumerate(tables, start=7)}
    listed = "".join(f"{pid}\n" for pid in proc)
    plant(base / "proc", proc)
    plant(base / "cgroup", {"c1": {"cgroup.procs": listed}})
    return LayerRequest(container_id="c1", cgroups=(base / "none", base / "cgroup/c1"), snapshots=base / "snapshots")


def steps(base: Path, *tables: str) -> tuple[str, ...] | None:
    return layer_steps(requested(base, *tables), base / "proc")


def test_the_upper_directory_of_the_root_is_the_layer(tmp_path: Path) -> None:
    assert steps(tmp_path, mountinfo("BASE/snapshots/4/fs")) == ("4", "fs")


def test_a_process_that_came_from_the_host_is_passed_over(tmp_path: Path) -> None:
    assert steps(tmp_path, OTHER, mountinfo("BASE/snapshots/4/fs")) == ("4", "fs")


@pytest.mark.parametrize(
    "table",
    [
        mountinfo("/etc"),
        mountinfo("BASE/snapshots/../etc"),
        mountinfo("BASE/snapshots"),
        mountinfo("snapshots/4/fs"),
        mountinfo("BASE/snapshots/4/fs", point="/mnt"),
        mountinfo("BASE/snapshots/4/fs", kind="ext4"),
        "1 2 3\n",
        "",
    ],
)
def test_what_is_no_layer_of_the_runtime_is_not_walked(tmp_path: Path, table: str) -> None:
    assert steps(tmp_path, table) is None


def test_a_container_without_a_process_has_none(tmp_path: Path) -> None:
    assert steps(tmp_path) is None


def measured(base: Path, snapshots: Tree) -> PodDisk:
    layer = requested(base, mountinfo("BASE/snapshots/4/fs"))
    plant(base / "snapshots", snapshots)
    roots = Roots(kubelet_dir=plant(base / "kubelet", {}), pod_logs_dir=plant(base / "logs", {}), proc=base / "proc")
    request = DiskRequest(uid="u1", namespace="ns", name="web", layers=(layer,))
    return to_the_end(PodDiskMeter(roots, lambda: 42), request)


def test_a_layer_is_walked_with_the_pod(tmp_path: Path) -> None:
    found = measured(tmp_path, {"4": {"fs": {"a": "x", "d": {"b": "y"}}}, "5": {"fs": {"c": "z"}}})
    assert found == PodDisk(time=42, layers={"c1": DiskUsage(4 * BLOCK, 4)})


def test_no_symlink_is_followed_to_a_layer(tmp_path: Path) -> None:
    found = measured(tmp_path, {"4": Link("5"), "5": {"fs": {"c": "z"}}})
    assert found.layers == {}


def test_a_layer_that_is_gone_is_no_problem(tmp_path: Path) -> None:
    assert measured(tmp_path, {}) == PodDisk(time=42)
