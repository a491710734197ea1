"""Removal of the emptyDir volumes of an evicted pod and nothing else."""

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from evictd.act.trees import Budget, UnfinishedError, remove_tree
from evictd.act.volumes import remove_empty_dirs
from evictd.errors import NodeError
from tests.act.test_trees import dig
from tests.mounted import tmpfs


@pytest.fixture
def volumes(tmp_path: Path) -> Path:
    folder = tmp_path / "pods" / "uid-1" / "volumes"
    (folder / "kubernetes.io~empty-dir" / "data" / "deep").mkdir(parents=True)
    (folder / "kubernetes.io~empty-dir" / "data" / "deep" / "file").write_text("x")
    (folder / "kubernetes.io~configmap" / "settings").mkdir(parents=True)
    return folder


def test_every_empty_dir_is_removed_and_other_volumes_stay(tmp_path: Path, volumes: Path) -> None:
    (volumes / "kubernetes.io~empty-dir" / "cache").mkdir()
    assert remove_empty_dirs(tmp_path, "uid-1") == 2
    assert list((volumes / "kubernetes.io~empty-dir").iterdir()) == []
    assert (volumes / "kubernetes.io~configmap" / "settings").exists()


def test_other_pods_are_not_touched(tmp_path: Path, volumes: Path) -> None:
    assert remove_empty_dirs(tmp_path, "uid-2") == 0
    assert (volumes / "kubernetes.io~empty-dir" / "data" / "deep" / "file").exists()


def test_a_link_in_a_volume_is_removed_and_its_target_stays(tmp_path: Path, volumes: Path) -> None:
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
def test_an_invalid_uid_removes_nothing(tmp_path: Path, volumes: Path, uid: str) -> None:
    with pytest.raises(NodeError, match="is not a uid"):
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
def test_a_volume_in_memory_is_emptied_and_stays_mounted(tmp_path: Path, in_memory: Path) -> None:
    """Its memory comes back only so."""
    (in_memory / "deep/er").mkdir(parents=True)
    (in_memory / "deep/er/file").write_bytes(bytes(32 << 10))
    assert remove_empty_dirs(tmp_path, "uid-1") == 1
    assert list(in_memory.iterdir()) == []
    assert in_memory.is_mount()
    assert os.statvfs(in_memory).f_bfree == os.statvfs(in_memory).f_blocks


@pytest.mark.root
def test_a_volume_in_memory_that_evictd_sees_twice_at_its_place_is_emptied(tmp_path: Path, in_memory: Path) -> None:
    """`ReadWritePaths=` of the unit mounts the directory of the pods onto itself, with all that is mounted below it."""
    pods = tmp_path / "pods"
    subprocess.run(["mount", "--rbind", pods, pods], check=True)
    try:
        (in_memory / "file").write_bytes(bytes(32 << 10))
        assert remove_empty_dirs(tmp_path, "uid-1") == 1
        assert list(in_memory.iterdir()) == []
    finally:
        subprocess.run(["umount", "-l", pods], check=True)


@pytest.mark.root
def test_a_volume_in_memory_of_which_a_container_has_a_part_is_emptied(tmp_path: Path, in_memory: Path) -> None:
    """A kubelet mounts the `subPath` of a container below the pod's own directory, where it stays while no kubelet runs."""
    part = tmp_path / "pods/uid-1/volume-subpaths/shm/main/0"
    part.mkdir(parents=True)
    (in_memory / "part").mkdir()
    subprocess.run(["mount", "--bind", in_memory / "part", part], check=True)
    try:
        (part / "file").write_bytes(bytes(32 << 10))
        remove_empty_dirs(tmp_path, "uid-1")
        assert list(part.iterdir()) == []
    finally:
        subprocess.run(["umount", part], check=True)


@pytest.mark.root
def test_a_volume_in_memory_that_another_pod_has_too_is_not_touched(tmp_path: Path, in_memory: Path) -> None:
    other = tmp_path / "pods/uid-11/volumes/kubernetes.io~empty-dir/shm"
    other.mkdir(parents=True)
    subprocess.run(["mount", "--bind", in_memory, other], check=True)
    try:
        (in_memory / "file").write_text("x")
        remove_empty_dirs(tmp_path, "uid-1")
        assert (other / "file").exists()
    finally:
        subprocess.run(["umount", other], check=True)


@pytest.mark.root
@pytest.mark.parametrize("name", [b"a\xe2\x80\xa8\xe2\x80\xa8b", b"a\r\rb", b"\xff"])
def test_no_name_in_the_mount_table_keeps_a_volume_from_being_emptied(
    tmp_path: Path, in_memory: Path, name: bytes
) -> None:
    """A pod's author names what is mounted (`subPath`); the kernel escapes spaces and line feeds only."""
    (in_memory / "file").write_text("x")
    source, target = tmp_path / os.fsdecode(name), tmp_path / "target"
    source.mkdir()
    target.mkdir()
    subprocess.run(["mount", "--bind", source, target], check=True)
    try:
        assert remove_empty_dirs(tmp_path, "uid-1") == 1
        assert list(in_memory.iterdir()) == []
    finally:
        subprocess.run(["umount", target], check=True)


@pytest.mark.root
@pytest.mark.parametrize("part", ["", "folder"])
def test_a_tmpfs_of_the_node_that_a_pod_mounted_over_its_volume_is_not_touched(
    tmp_path: Path, volumes: Path, part: str
) -> None:
    volume = volumes / "kubernetes.io~empty-dir/data"
    with tmpfs(tmp_path / "run") as run:
        (run / "folder").mkdir()
        (run / "folder/precious").write_text("x")
        subprocess.run(["mount", "--bind", str(run / part), str(volume)], check=True)
        try:
            remove_empty_dirs(tmp_path, "uid-1")
            assert (run / "folder/precious").exists()
        finally:
            subprocess.run(["umount", "-l", str(volume)], check=True)


@pytest.fixture(params=["data/bound", "data"])
def bound(request: pytest.FixtureRequest, tmp_path: Path, volumes: Path) -> Iterator[Path]:
    """A bind mount of the same device that a privileged pod made in or over its volume."""
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
def test_a_mount_of_the_same_disk_is_an_error_and_stays(tmp_path: Path, bound: Path) -> None:
    with pytest.raises(NodeError, match="busy"):
        remove_empty_dirs(tmp_path, "uid-1")
    assert (bound / "file").exists()


def test_a_volume_that_cannot_be_removed_does_not_stop_the_others(
    tmp_path: Path, volumes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In any position; the volume is named, and a later attempt removes it."""
    empty_dirs = volumes / "kubernetes.io~empty-dir"
    for name in ("a", "z", "stuck-1", "stuck-2"):
        (empty_dirs / name).mkdir()

    def busy(parent: int, name: str, budget: Budget | None) -> None:
        if name.startswith("stuck"):
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        remove_tree(parent, name, budget)

    monkeypatch.setattr("evictd.act.volumes.remove_tree", busy)
    with pytest.raises(NodeError, match=r"uid-1: 2 of 5 volumes .*'stuck-[12]': Device or resource busy; 'stuck-"):
        remove_empty_dirs(tmp_path, "uid-1")
    assert sorted(entry.name for entry in empty_dirs.iterdir()) == ["stuck-1", "stuck-2"]
    monkeypatch.undo()
    assert remove_empty_dirs(tmp_path, "uid-1") == 2


@pytest.mark.root
def test_a_mounted_over_volume_does_not_stop_the_others(tmp_path: Path, volumes: Path, bound: Path) -> None:
    """The same with EBUSY from the kernel."""
    (volumes / "kubernetes.io~empty-dir" / "other").mkdir()
    (volumes / "kubernetes.io~empty-dir" / "0-other").mkdir()
    with pytest.raises(NodeError, match="busy"):
        remove_empty_dirs(tmp_path, "uid-1")
    assert [entry.name for entry in (volumes / "kubernetes.io~empty-dir").iterdir()] == ["data"]
    assert (bound / "file").exists()


def test_a_tree_deeper_than_any_stack_is_removed(tmp_path: Path, volumes: Path) -> None:
    dig(volumes / "kubernetes.io~empty-dir" / "data", 1500)
    try:
        assert remove_empty_dirs(tmp_path, "uid-1") == 1
    finally:  # pytest's own way to tidy up is no match for it
        subprocess.run(["rm", "-rf", volumes], check=True)


def test_volumes_are_removed_in_parts_by_a_budget_of_all(tmp_path: Path, volumes: Path) -> None:
    for name in ("data", "cache"):
        (volumes / "kubernetes.io~empty-dir" / name).mkdir(exist_ok=True)
        for number in range(10):
            (volumes / "kubernetes.io~empty-dir" / name / f"{number}").touch()
    with pytest.raises(UnfinishedError):
        remove_empty_dirs(tmp_path, "uid-1", Budget(15))
    left = [path for path in (volumes / "kubernetes.io~empty-dir").rglob("*") if path.is_file()]
    assert 0 < len(left) < 10
    assert remove_empty_dirs(tmp_path, "uid-1", Budget(15)) >= 1
    assert list((volumes / "kubernetes.io~empty-dir").iterdir()) == []
