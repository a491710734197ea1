"""Small filesystems: size, inodes, and removal."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from evictd.errors import NodeError
from evictd_testnode.binaries import Tool
from evictd_testnode.disks import DiskKind, DiskRecipe, loops_of, mount_disk, mounts_below, unmount_below
from evictd_testnode.tool import wait_for

pytestmark = pytest.mark.root


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    yield tmp_path
    unmount_below(tmp_path)
    assert wait_for(lambda: not loops_of(tmp_path))


@pytest.mark.parametrize("kind", [DiskKind.TMPFS, DiskKind.EXT4])
def test_a_disk_of_a_size_and_a_number_of_inodes(folder: Path, kind: DiskKind) -> None:
    recipe = DiskRecipe(kind=kind, size_bytes=32 << 20, inodes=2000)
    mount_disk(recipe, folder / "disk", image=folder / "disk.img")
    found = os.statvfs(folder / "disk")
    assert found.f_blocks * found.f_frsize <= recipe.size_bytes
    assert found.f_bavail * found.f_frsize > recipe.size_bytes * 0.9
    assert 1900 <= found.f_files <= 2100
    assert mounts_below(folder) == [folder / "disk"]
    assert len(loops_of(folder)) == (kind is DiskKind.EXT4)


def test_the_inodes_of_xfs_depend_on_its_free_space(folder: Path, mkfs_xfs: Tool) -> None:
    recipe = DiskRecipe(kind=DiskKind.XFS, size_bytes=320 << 20)
    mount_disk(recipe, folder / "disk", image=folder / "disk.img", mkfs_xfs=mkfs_xfs)
    before = os.statvfs(folder / "disk").f_files
    (folder / "disk/file").write_bytes(b"x" * (200 << 20))
    assert os.statvfs(folder / "disk").f_files < before / 2


def test_xfs_without_mkfs_is_an_error(folder: Path) -> None:
    with pytest.raises(NodeError, match=r"mkfs\.xfs"):
        mount_disk(DiskRecipe(kind=DiskKind.XFS), folder / "disk", image=folder / "disk.img")


def test_unmounting_takes_the_innermost_first(folder: Path) -> None:
    outer, inner = folder / "a b", folder / "a b/inner"
    for path in (outer, inner):
        mount_disk(DiskRecipe(size_bytes=1 << 20, inodes=100), path, image=folder / "unused")
    assert mounts_below(folder) == [inner, outer]
    assert mounts_below(outer) == [inner, outer]
    assert mounts_below(folder / "a") == []
    unmount_below(folder)
    assert mounts_below(folder) == []
