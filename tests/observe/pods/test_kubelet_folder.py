"""The volumes of pods that only the runtime knows, from the kubelet's directories."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evictd.core.model.pod import Pod
from evictd.core.model.resources import IN_MEMORY, Container, Volume, VolumeKind
from evictd.core.units.quantity import of_bytes, parse_quantity
from evictd.observe.pods.kubelet_folder import CHECKPOINT, AllocatedPods, VolumeFolders
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


class Silent:
    """An entry of a directory whose filesystem does not answer: a mount point of FUSE whose program hangs or has ended."""

    def __init__(self, entry: os.DirEntry[str]) -> None:
        self.name, self._entry = entry.name, entry

    def is_dir(self, *, follow_symlinks: bool) -> bool:
        return self._entry.is_dir(follow_symlinks=follow_symlinks)

    def stat(self, *, follow_symlinks: bool) -> os.stat_result:
        raise OSError(107, "Transport endpoint is not connected")


def test_no_filesystem_of_a_volume_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path / "pods", {"u1": {"volumes": VOLUMES}})
    real = os.scandir

    @contextmanager
    def scandir(folder: int) -> Iterator[Iterator[Silent]]:
        with real(folder) as entries:
            yield map(Silent, entries)

    monkeypatch.setattr(os, "scandir", scandir)
    (pod,), problems = complete(tmp_path, POD)
    assert (len(pod.volumes), problems) == (4, [])


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


GI = 1 << 30
DEDUCED = Container(name="main", requests={"memory": of_bytes(16 * GI)})
UNKNOWN = Pod(name="web", namespace="ns", uid="u1", containers=(DEDUCED,), spec_known=False)
RECORDED = (
    '{"data":"{\\"entries\\":{\\"u1\\":{\\"ContainerResources\\":{\\"main\\":{\\"limits\\":{\\"memory\\":\\"2Gi\\"},'
    '\\"requests\\":{\\"cpu\\":\\"10m\\",\\"ephemeral-storage\\":\\"1Mi\\",\\"memory\\":\\"1Gi\\"}}},'
    '\\"PodLevelResources\\":null},\\"u2\\":{\\"ContainerResources\\":{\\"main\\":{}},\\"PodLevelResources\\":null}}}",'
    '"checksum":1454238097}'
)
"""As kubelet 1.36.2 writes it, with other uids and amounts."""


def allocated(folder: Path, *pods: Pod) -> tuple[tuple[Pod, ...], list[str]]:
    problems = Problems()
    found = AllocatedPods(folder).complete(pods, problems)
    return found, [each.source for each in problems.found()]


def checkpoint(folder: Path, entries: Any) -> None:
    """Replace the file as the kubelet does."""
    (folder / "new").write_text(json.dumps({"data": json.dumps({"entries": entries}), "checksum": 1}))
    (folder / "new").rename(folder / CHECKPOINT)


def test_requests_and_limits_are_the_allocated_ones(tmp_path: Path) -> None:
    (tmp_path / CHECKPOINT).write_text(RECORDED)
    bare, other = replace(UNKNOWN, name="bare", uid="u2"), replace(UNKNOWN, name="other", uid="u3")
    found, problems = allocated(tmp_path, UNKNOWN, bare, other)
    (first,), (second,), (third,) = (pod.containers for pod in found)
    amounts = {"cpu": "10m", "ephemeral-storage": "1Mi", "memory": "1Gi"}
    assert first.requests == {name: parse_quantity(text) for name, text in amounts.items()}
    assert first.limits == {"memory": parse_quantity("2Gi")}
    assert second == Container(name="main")
    assert third == DEDUCED
    assert problems == []
    assert not any(pod.spec_known for pod in found), "priority and volumes are not in the file"


def test_pod_level_resources_are_read(tmp_path: Path) -> None:
    level = {"requests": {"memory": "1Gi"}}
    checkpoint(tmp_path, {"u1": {"ContainerResources": {"main": {}}, "PodLevelResources": level}})
    (pod,), _ = allocated(tmp_path, UNKNOWN)
    assert pod.resources is not None
    assert pod.resource_totals.memory_request == of_bytes(GI).nano


def test_a_pod_whose_spec_is_known_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / CHECKPOINT).write_text(RECORDED)
    known = replace(UNKNOWN, spec_known=True)
    assert allocated(tmp_path, known) == ((known,), [])


def test_without_a_file_nothing_is_allocated_and_nothing_is_wrong(tmp_path: Path) -> None:
    assert allocated(tmp_path, UNKNOWN) == ((UNKNOWN,), [])


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"data": 7}', '{"data": "{"}', '{"data": "[]"}', '{"data": "{\\"entries\\": 7}"}',
     json.dumps({"data": json.dumps({"entries": {"u1": {"ContainerResources": {"main": {"requests": {"memory": "x"}}}}}})}),
     '{"data":' + "[" * 100_000],
)  # fmt: skip
def test_a_file_of_another_form_is_a_problem(tmp_path: Path, text: str) -> None:
    (tmp_path / CHECKPOINT).write_text(text)
    assert allocated(tmp_path, UNKNOWN) == ((UNKNOWN,), ["allocated resources"])


def test_neither_a_symlink_nor_a_directory_nor_a_huge_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / CHECKPOINT
    (tmp_path / "elsewhere").write_text(RECORDED)
    path.symlink_to("elsewhere")
    assert allocated(tmp_path, UNKNOWN) == ((UNKNOWN,), ["allocated resources"])
    path.unlink()
    path.mkdir()
    assert allocated(tmp_path, UNKNOWN) == ((UNKNOWN,), ["allocated resources"])
    path.rmdir()
    path.write_text(RECORDED.ljust(17 << 20))
    assert allocated(tmp_path, UNKNOWN) == ((UNKNOWN,), ["allocated resources"])


def test_a_file_that_was_replaced_is_read_again(tmp_path: Path) -> None:
    reader = AllocatedPods(tmp_path)
    seen = []
    for amount in ("1Gi", "2Gi"):
        checkpoint(tmp_path, {"u1": {"ContainerResources": {"main": {"requests": {"memory": amount}}}}})
        for _ in range(2):
            (pod,) = reader.complete([UNKNOWN], Problems())
            seen.append(pod.containers[0].requests["memory"])
    assert seen == [parse_quantity(text) for text in ("1Gi", "1Gi", "2Gi", "2Gi")]
    (tmp_path / CHECKPOINT).unlink()
    assert reader.complete([UNKNOWN], Problems()) == (UNKNOWN,)
