"""The volumes of pods that only the runtime knows, from the kubelet's directories."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from evictd.core.model.pod import Pod
from evictd.core.model.resources import IN_MEMORY, Volume, VolumeKind
from evictd.observe.pods.volume_folders import VolumeFolders
from evictd.observe.reading.problems import Problems
from evictd_testnode.tool import run_tool
from tests.trees import Link, Tree, plant

POD = Pod(name="web", namespace="ns", uid="u1", spec_known=False, volumes_known=False)
VOLUMES: Tree = {
    "kubernetes.io~empty-dir": {"data": {}, "wrapped_x": {}},
    "kubernetes.io~configmap": {"settings": {}},
    "kubernetes.io~csi": {"pvc": {"mount": {}}},
    "kubernetes.io~projected": {"kube-api-access": {}},
}


def complete(kubelet: Path, *pods: Pod) -> tuple[tuple[Pod, ...], list[str]]:
    problems = Problems()
    found = VolumeFolders(kubelet).complete(pods, problems)
    return found, [each.source for each in problems.found()]


def test_each_local_volume_has_its_name_and_kind(tmp_path: Path) -> None:
    plant(tmp_path / "pods", {"u1": {"volumes": VOLUMES}})
    (pod,), problems = complete(tmp_path, POD)
    assert pod.volumes == (
        Volume(name="data", kind=VolumeKind.EMPTY_DIR),
        Volume(name="kube-api-access", kind=VolumeKind.PROJECTED),
        Volume(name="settings", kind=VolumeKind.CONFIG_MAP),
        Volume(name="wrapped_x", kind=VolumeKind.EMPTY_DIR),
    )
    assert (pod.spec_known, pod.volumes_known) == (False, True)
    assert problems == []


def test_a_pod_whose_spec_is_known_keeps_its_volumes(tmp_path: Path) -> None:
    plant(tmp_path / "pods", {"u1": {"volumes": VOLUMES}})
    described = Pod(name="web", namespace="ns", uid="u1", volumes=(Volume(name="a", kind=VolumeKind.HOST_PATH),))
    assert complete(tmp_path, described) == ((described,), [])


def test_a_pod_without_a_directory_has_no_volumes(tmp_path: Path) -> None:
    """It was not started by a kubelet."""
    assert complete(tmp_path, POD) == ((replace(POD, volumes_known=True),), [])


@pytest.mark.parametrize(
    "volumes",
    [
        {"kubernetes.io~empty-dir": Link("../../u2/volumes/kubernetes.io~empty-dir")},
        {"kubernetes.io~empty-dir": {"data": Link("../../../u2/volumes/kubernetes.io~empty-dir/data"), "file": "text"}},
        Link("../u2/volumes"),
    ],
    ids=["plugin", "volume", "all volumes"],
)
def test_no_symlink_is_followed(tmp_path: Path, volumes: Tree | Link) -> None:
    plant(tmp_path / "pods", {"u1": {"volumes": volumes}, "u2": {"volumes": VOLUMES}})
    (pod,), _ = complete(tmp_path, POD)
    assert pod.volumes == ()


def test_a_uid_that_leads_elsewhere_is_a_problem(tmp_path: Path) -> None:
    plant(tmp_path / "pods", {"u1": {"volumes": VOLUMES}})
    other = replace(POD, uid="../pods/u1")
    assert complete(tmp_path, other) == ((other,), ["volumes of ns/web"])


def test_what_could_not_be_read_is_read_again(tmp_path: Path) -> None:
    folders = VolumeFolders(tmp_path)
    loop = tmp_path / "pods"
    loop.symlink_to(loop)
    assert folders.complete([POD], Problems()) == (POD,)
    loop.unlink()
    plant(loop, {"u1": {"volumes": VOLUMES}})
    (pod,) = folders.complete([POD], Problems())
    assert (len(pod.volumes), pod.volumes_known) == (4, True)


def test_volumes_are_read_once_for_each_pod(tmp_path: Path) -> None:
    plant(tmp_path / "pods", {"u1": {"volumes": VOLUMES}})
    folders = VolumeFolders(tmp_path)
    (first,) = folders.complete([POD], Problems())
    (tmp_path / "pods").rename(tmp_path / "away")
    assert folders.complete([POD], Problems()) == (first,)
    folders.complete([], Problems())
    assert folders.complete([POD], Problems()) == (replace(POD, volumes_known=True),)


@pytest.mark.root
def test_an_empty_dir_in_memory_does_not_count_as_disk_usage(tmp_path: Path) -> None:
    plant(tmp_path / "pods", {"u1": {"volumes": VOLUMES}})
    at = tmp_path / "pods/u1/volumes/kubernetes.io~empty-dir/data"
    run_tool("mount", "-t", "tmpfs", "-o", "size=1m", "evictd-test", at)
    try:
        (pod,), _ = complete(tmp_path, POD)
    finally:
        run_tool("umount", at)
    mediums = {volume.name: volume.medium for volume in pod.volumes}
    assert mediums == {"data": IN_MEMORY, "wrapped_x": "", "settings": "", "kube-api-access": ""}
    assert not os.path.ismount(at)
