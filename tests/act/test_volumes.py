"""The emptyDir volumes of an evicted pod go with it, and nothing else does."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from evictd.act.volumes import remove_empty_dirs
from evictd.errors import NodeError
from tests.act.test_trees import dig


@pytest.fixture
def volumes(tmp_path: Path) -> Path:
    folder = tmp_path / "pods" / "uid-1" / "volumes"
    (folder / "kubernetes.io~empty-dir" / "data" / "deep").mkdir(parents=True)
    (folder / "kubernetes.io~empty-dir" / "data" / "deep" / "file").write_text("x")
    (folder / "kubernetes.io~configmap" / "settings").mkdir(parents=True)
    return folder


def test_every_empty_dir_of_the_pod_goes_and_its_other_volumes_stay(tmp_path: Path, volumes: Path) -> None:
    (volumes / "kubernetes.io~empty-dir" / "cache").mkdir()
    assert remove_empty_dirs(tmp_path, "uid-1") == 2
    assert list((volumes / "kubernetes.io~empty-dir").iterdir()) == []
    assert (volumes / "kubernetes.io~configmap" / "settings").exists()


def test_other_pods_are_not_touched(tmp_path: Path, volumes: Path) -> None:
    assert remove_empty_dirs(tmp_path, "uid-2") == 0
    assert (volumes / "kubernetes.io~empty-dir" / "data" / "deep" / "file").exists()


def test_a_link_in_a_volume_goes_and_what_it_points_to_stays(tmp_path: Path, volumes: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("x")
    (volumes / "kubernetes.io~empty-dir" / "data" / "link").symlink_to(precious)
    (volumes / "kubernetes.io~empty-dir" / "itself").symlink_to(precious)
    remove_empty_dirs(tmp_path, "uid-1")
    assert (precious / "file").exists()


def test_a_pod_folder_that_is_a_link_is_not_entered(tmp_path: Path, volumes: Path) -> None:
    (tmp_path / "pods" / "uid-2").symlink_to(tmp_path / "pods" / "uid-1")
    with pytest.raises(NodeError):
        remove_empty_dirs(tmp_path, "uid-2")
    assert (volumes / "kubernetes.io~empty-dir" / "data").exists()


@pytest.mark.parametrize("uid", ["", ".", "..", "../uid-1", "a/b", "a\0b"])
def test_what_is_no_uid_removes_nothing(tmp_path: Path, volumes: Path, uid: str) -> None:
    with pytest.raises(NodeError, match="is no uid"):
        remove_empty_dirs(tmp_path, uid)
    assert (volumes / "kubernetes.io~empty-dir" / "data").exists()


@pytest.fixture
def in_memory(volumes: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a volume in memory")
    folder = volumes / "kubernetes.io~empty-dir" / "shm"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "evictd-test", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.root
def test_a_volume_in_memory_is_left_alone(tmp_path: Path, in_memory: Path) -> None:
    (in_memory / "file").write_text("x")
    assert remove_empty_dirs(tmp_path, "uid-1") == 1
    assert (in_memory / "file").exists()


@pytest.fixture(params=["data/bound", "data"])
def bound(request: pytest.FixtureRequest, tmp_path: Path, volumes: Path) -> Iterator[Path]:
    """What a privileged pod has mounted in its volume, or over it: of the same device, and not the pod's."""
    precious, target = tmp_path / "precious", volumes / "kubernetes.io~empty-dir" / request.param
    precious.mkdir()
    (precious / "file").write_text("x")
    target.mkdir(exist_ok=True)
    if subprocess.run(["mount", "--bind", precious, target], check=False, capture_output=True).returncode:
        pytest.skip("needs root and the right to mount")
    try:
        yield precious
    finally:
        # The tree may have been moved before it was refused.
        subprocess.run(["umount", target], check=True)


@pytest.mark.root
def test_what_is_mounted_below_from_the_same_disk_is_told_and_stays(tmp_path: Path, bound: Path) -> None:
    with pytest.raises(NodeError, match="busy"):
        remove_empty_dirs(tmp_path, "uid-1")
    assert (bound / "file").exists()


def test_a_tree_deeper_than_any_stack_goes(tmp_path: Path, volumes: Path) -> None:
    dig(volumes / "kubernetes.io~empty-dir" / "data", 1500)
    try:
        assert remove_empty_dirs(tmp_path, "uid-1") == 1
    finally:  # pytest's own way to tidy up is no match for it
        subprocess.run(["rm", "-rf", volumes], check=True)
