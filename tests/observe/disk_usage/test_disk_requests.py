"""Which pods are measured, and which of them first."""

from pathlib import Path

import pytest

from evictd.core.model.config import Policy
from evictd.core.model.signal import Filesystem
from evictd.observe.cgroups.cgroup_v2 import CgroupV2
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache
from evictd.observe.disk_usage.disk_requests import DiskRequests
from tests.observe.runtime_double import container, view
from tests.playbook import pod
from tests.trees import Tree, plant, v2

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
