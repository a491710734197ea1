"""The directory of a container's writable layer is found by a process of the container, below the runtime's directory only."""

from pathlib import Path

import pytest

from evictd.core.model.stats import DiskUsage
from evictd.observe.disk_usage.layer_folder import layer_steps
from evictd.observe.disk_usage.pod_disk import DiskRequest, LayerRequest, PodDisk
from evictd.observe.disk_usage.pod_meter import PodDiskMeter
from evictd.observe.reading.roots import Roots
from tests.trees import Link, Tree, plant

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
    return PodDiskMeter(roots, lambda: 42).measure(request)


def test_a_layer_is_walked_with_the_pod(tmp_path: Path) -> None:
    found = measured(tmp_path, {"4": {"fs": {"a": "x", "d": {"b": "y"}}}, "5": {"fs": {"c": "z"}}})
    assert found == PodDisk(time=42, layers={"c1": DiskUsage(4 * BLOCK, 4)})


def test_no_symlink_is_followed_to_a_layer(tmp_path: Path) -> None:
    found = measured(tmp_path, {"4": Link("5"), "5": {"fs": {"c": "z"}}})
    assert found.layers == {}


def test_a_layer_that_is_gone_is_no_problem(tmp_path: Path) -> None:
    assert measured(tmp_path, {}) == PodDisk(time=42)
