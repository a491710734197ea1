"""A pod's disk usage in the kubelet's directories."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from evictd.core.model.stats import DiskUsage
from evictd.observe.disk_usage import levels, pod_meter, tree_walk
from evictd.observe.disk_usage.pod_disk import DiskRequest, PodDisk
from evictd.observe.disk_usage.pod_meter import PodDiskMeter
from evictd.observe.filesystems.mounts import mount_number
from evictd.observe.reading.roots import Roots
from tests.observe.disk_usage.test_deleted_files import holder
from tests.observe.disk_usage.test_tree_walk import opened
from tests.trees import Link, Tree, plant

BLOCK = 4096


def to_the_end(meter: PodDiskMeter, request: DiskRequest) -> PodDisk:
    """Measure all parts of a pod."""
    measurement = meter.begin(request)
    for _ in measurement.steps():
        pass
    return measurement.found


def measure(base: Path, request: DiskRequest, *, kubelet: Tree | None = None, logs: Tree | None = None) -> PodDisk:
    roots = Roots(kubelet_dir=plant(base / "kubelet", kubelet or {}), pod_logs_dir=plant(base / "logs", logs or {}))
    return to_the_end(PodDiskMeter(roots, lambda: 42), request)


def request(*volumes: tuple[str, str], uid: str = "u1", name: str = "web") -> DiskRequest:
    return DiskRequest(uid=uid, namespace="ns", name=name, containers=("main", "side"), volumes=volumes)


def test_logs_volumes_and_the_hosts_file_are_found(tmp_path: Path) -> None:
    """`debugger` is an ephemeral container, which is not in the request."""
    found = measure(
        tmp_path,
        request(("kubernetes.io~empty-dir", "data"), ("kubernetes.io~configmap", "conf")),
        kubelet={
            "pods": {
                "u1": {
                    "etc-hosts": "127.0.0.1 localhost\n",
                    "volumes": {
                        "kubernetes.io~empty-dir": {"data": {"a": "x", "b": {"c": "y"}}, "other": {"d": "z"}},
                        "kubernetes.io~configmap": {"conf": {"k": "v"}},
                    },
                }
            }
        },
        logs={
            "ns_web_u1": {
                "extra": "x",
                "main": {"0.log": "x", "0.log.gz": "y", "d": {"e": "z"}},
                "debugger": {"0.log": "x"},
                "link": Link("main"),
            }
        },
    )
    assert found == PodDisk(
        time=42,
        logs={"main": DiskUsage(2 * BLOCK, 2), "debugger": DiskUsage(BLOCK, 1)},
        volumes={"data": DiskUsage(4 * BLOCK, 4), "conf": DiskUsage(2 * BLOCK, 2)},
        pod_logs=DiskUsage(BLOCK, 1),
        etc_hosts=DiskUsage(BLOCK, 1),
    )


def test_a_pod_with_nothing_on_disk_yet_has_nothing_and_that_is_no_problem(tmp_path: Path) -> None:
    assert measure(tmp_path, request(("kubernetes.io~empty-dir", "data"))) == PodDisk(time=42)


@pytest.mark.parametrize("name", ["..", "../x", "/etc", "a/b", ".", ""])
def test_a_name_that_is_no_step_of_a_path_is_a_problem_and_touches_nothing(tmp_path: Path, name: str) -> None:
    secret: Tree = {"volumes": {"kubernetes.io~empty-dir": {"data": {"secret": "x"}}}, "etc-hosts": "x"}
    kubelet: Tree = {"pods": {"u1": secret, **secret}, **secret}
    found = measure(tmp_path, request(("kubernetes.io~empty-dir", "data"), uid=name), kubelet=kubelet)
    assert (found.volumes, found.etc_hosts) == ({}, None)
    assert {problem.source for problem in found.problems} >= {"volume data of ns/web", "hosts file of ns/web"}
    found = measure(tmp_path / "again", request(("kubernetes.io~empty-dir", name)), kubelet=kubelet)
    assert found.volumes == {}
    assert [problem.source for problem in found.problems] == [f"volume {name} of ns/web"]


def test_a_pods_name_with_slashes_leads_nowhere(tmp_path: Path) -> None:
    found = measure(
        tmp_path, request(name="x/../../outside"), logs={"ns_x": {}, "outside_u1": {"main": {"0.log": "x"}}}
    )
    assert found.logs == {}
    assert "unsafe name" in found.problems[0].detail


@pytest.mark.parametrize("where", ["pod", "volumes", "plugin", "volume"])
def test_no_step_follows_a_symlink(tmp_path: Path, where: str) -> None:
    outside = plant(tmp_path / "outside", {"u1": {}, "volumes": {}, "data": {"big": "x" * 50_000}, "big": "x" * 50_000})
    volume: Tree = {"data": Link(str(outside / "data"))} if where == "volume" else {"data": {}}
    plugin: Tree = {"kubernetes.io~empty-dir": Link(str(outside)) if where == "plugin" else volume}
    pod: Tree = {"volumes": Link(str(outside)) if where == "volumes" else plugin}
    found = measure(
        tmp_path,
        request(("kubernetes.io~empty-dir", "data")),
        kubelet={"pods": {"u1": Link(str(outside)) if where == "pod" else pod}},
    )
    assert found.volumes == {}


def test_a_file_that_cannot_be_read_hides_nothing_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.lstat

    def lstat(name: str, *, dir_fd: int) -> os.stat_result:
        if name == "bad":
            raise OSError(5, "EIO")
        return real(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "lstat", lstat)
    found = measure(
        tmp_path,
        request(("kubernetes.io~empty-dir", "a"), ("kubernetes.io~empty-dir", "b")),
        kubelet={
            "pods": {"u1": {"volumes": {"kubernetes.io~empty-dir": {"a": {"bad": "x", "c": "z"}, "b": {"good": "y"}}}}}
        },
    )
    assert found.volumes == {"a": DiskUsage(2 * BLOCK, 2), "b": DiskUsage(2 * BLOCK, 2)}
    assert found.at_least
    assert [problem.source for problem in found.problems] == ["volume a of ns/web"]


def test_a_volume_that_is_too_large_to_be_walked_counts_with_what_was_seen_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the lower bound a pod could hide its usage in a tree that is too deep."""
    monkeypatch.setattr(levels, "_MAX_PATH_BYTES", 100)
    monkeypatch.setattr(tree_walk, "_MAX_LATER", 0)
    deep: Tree = {"file": "x"}
    for _ in range(20):
        deep = {"d": deep, "file": "x"}
    kubelet: Tree = {"pods": {"u1": {"volumes": {"kubernetes.io~empty-dir": {"data": deep}}}}}
    found = measure(tmp_path, request(("kubernetes.io~empty-dir", "data")), kubelet=kubelet)
    inodes = found.volumes["data"].inodes_used
    assert inodes is not None
    assert 5 < inodes < 40
    (problem,) = found.problems
    assert problem.source == "volume data of ns/web"
    assert "at least" in problem.detail


@pytest.mark.parametrize(("quotas", "inodes"), [(False, 3), (True, 1)], ids=["of the node", "of its own"])
def test_a_quota_counts_only_where_the_user_namespace_is_the_pods_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quotas: bool, inodes: int
) -> None:
    """Otherwise its root can set another project on its files, and the quota counts next to nothing."""
    monkeypatch.setattr(pod_meter, "quota_usage", lambda _: DiskUsage(0, 1))
    kubelet: Tree = {"pods": {"u1": {"volumes": {"kubernetes.io~empty-dir": {"data": {"a": "x", "b": "y"}}}}}}
    asked = replace(request(("kubernetes.io~empty-dir", "data")), quotas=quotas)
    assert measure(tmp_path, asked, kubelet=kubelet).volumes["data"].inodes_used == inodes


@pytest.mark.parametrize(("quotas", "deleted"), [(False, 1 << 20), (True, 0)], ids=["walked", "by the quota"])
def test_a_deleted_file_that_a_quota_counts_is_not_counted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quotas: bool, deleted: int
) -> None:
    monkeypatch.setattr(pod_meter, "quota_usage", lambda _: DiskUsage(1 << 20, 2))
    kubelet: Tree = {"pods": {"u1": {"volumes": {"kubernetes.io~empty-dir": {"data": {}}}}}}
    volume = plant(tmp_path / "kubelet", kubelet) / "pods/u1/volumes/kubernetes.io~empty-dir/data"
    with holder(volume, "open") as pid:
        plant(tmp_path / "cgroup", {"cgroup.procs": f"{pid}\n"})
        data = request(("kubernetes.io~empty-dir", "data"))
        found = measure(tmp_path, replace(data, quotas=quotas, cgroups=(tmp_path / "cgroup",)))
    assert found.deleted_local is not None
    assert found.deleted_local.used_bytes == deleted


def test_a_subvolume_of_btrfs_has_the_number_of_its_mount_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mount tables and `maps` have the filesystem's number, by which deleted files are counted; `stat` has the subvolume's."""
    number = tmp_path.stat().st_dev
    with opened(tmp_path) as folder:
        line = f"{mount_number(folder)} 1 0:77 /root / rw - btrfs /dev/vda rw\n"
    proc = plant(tmp_path / "proc", {"self": {"mountinfo": line}})
    meter = PodDiskMeter(Roots(proc=proc, kubelet_dir=tmp_path, pod_logs_dir=tmp_path / "none"), lambda: 42)
    monkeypatch.setattr(os, "major", lambda _: 0)
    assert meter.disks() == {number, os.makedev(0, 77)}
    monkeypatch.setattr(os, "major", lambda _: 8)
    assert meter.disks() == {number}, "the table of a node has thousands of lines"
