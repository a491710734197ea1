"""Usage from project quotas instead of a walk."""

import fcntl
import os
import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evictd.core.model.stats import DiskUsage
from evictd.observe.disk_usage import quota
from evictd.observe.disk_usage.quota import parse_dqblk, project_of, quota_usage
from tests import mounted

DQBLK = struct.Struct("=8QI4x")


def dqblk(space: int, inodes: int, valid: int) -> bytes:
    return DQBLK.pack(0, 0, space, 0, 0, inodes, 0, 0, valid)


def test_space_is_bytes_and_both_numbers_must_be_valid() -> None:
    assert parse_dqblk(dqblk(4096, 3, 0x3F)) == DiskUsage(4096, 3)
    assert parse_dqblk(dqblk(4096, 3, 0x2)) is None
    assert parse_dqblk(dqblk(4096, 3, 0x8)) is None


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "volume").mkdir()
    fd = os.open(tmp_path / "volume", os.O_RDONLY)
    yield fd
    os.close(fd)


def answers(projects: list[tuple[int, int]]) -> Callable[[int, int, bytearray], None]:
    def ioctl(fd: int, request: int, room: bytearray) -> None:
        flags, project = projects.pop(0)
        room[:] = struct.pack("=IIIII8x", flags, 0, 0, project, 0)

    return ioctl


def test_a_projects_quota_is_the_usage_of_its_tree(folder: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def quotactl(directory: int, project: int, room: bytearray) -> None:
        assert (directory, project) == (folder, 9)
        room[:] = dqblk(8192, 4, 0x3F)

    monkeypatch.setattr(fcntl, "ioctl", answers([(0x200, 9), (0, 0)]))
    assert quota_usage(folder, quotactl=quotactl) == DiskUsage(8192, 4)


@pytest.mark.parametrize(
    "projects",
    [[(0, 0)], [(0x200, 0)], [(0, 9)], [(0x200, 9), (0x200, 9)]],
    ids=["no project", "project 0", "not handed on", "the parent's too"],
)
def test_without_a_project_of_its_own_a_tree_is_walked(
    folder: int, monkeypatch: pytest.MonkeyPatch, projects: list[tuple[int, int]]
) -> None:
    monkeypatch.setattr(fcntl, "ioctl", answers(projects))
    assert quota_usage(folder, quotactl=lambda *_: pytest.fail("asked")) is None


def test_a_project_without_quota_accounting_is_walked(folder: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(directory: int, project: int, room: bytearray) -> None:
        raise OSError(3, "ESRCH")

    monkeypatch.setattr(fcntl, "ioctl", answers([(0x200, 9), (0, 0)]))
    assert quota_usage(folder, quotactl=refuse) is None


def test_the_kernel_is_really_asked_and_its_refusal_is_an_error() -> None:
    fd = os.open("/proc", os.O_RDONLY)
    try:
        assert project_of(fd) == 0
        with pytest.raises(OSError, match=r"."):
            quota.quotactl_fd(fd, 9, bytearray(DQBLK.size))
    finally:
        os.close(fd)


@pytest.fixture
def quota_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted.tmpfs(tmp_path / "room", size="80m") as room:
        image, point = room / "disk", room / "mount"
        image.touch()
        os.truncate(image, 64 << 20)
        point.mkdir()
        subprocess.run(["mkfs.ext4", "-q", "-F", "-O", "quota,project", "-E", "quotatype=prjquota", image], check=True)
        found = subprocess.run(
            ["mount", "-o", "loop,prjquota", image, point], check=False, capture_output=True, text=True
        )
        if found.returncode != 0:
            pytest.skip("this kernel mounts no ext4 with project quotas (CONFIG_QFMT_V2)")
        yield point


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_ext4_counts_a_project_as_a_walk_does(quota_disk: Path) -> None:
    volume = quota_disk / "volume"
    volume.mkdir()
    fd = os.open(volume, os.O_RDONLY)
    try:
        fcntl.ioctl(fd, 0x401C5820, struct.pack("=IIIII8x", 0x200, 0, 0, 9, 0))  # FS_IOC_FSSETXATTR
        (volume / "file").write_bytes(b"x" * 100_000)
        os.sync()
        told = subprocess.run(
            ["du", "-sx", "--block-size=1", volume], check=True, capture_output=True, text=True
        ).stdout
        assert project_of(fd) == 9
        assert quota_usage(fd) == DiskUsage(int(told.split()[0]), 2)
    finally:
        os.close(fd)


def test_a_folder_that_went_away_meanwhile_is_left_to_the_walk(folder: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that measures must outlive it."""

    def stale(path: str, flags: int, *, dir_fd: int) -> int:
        raise OSError(116, "Stale file handle")

    monkeypatch.setattr(fcntl, "ioctl", answers([(0x200, 9)]))
    monkeypatch.setattr(os, "open", stale)
    assert quota_usage(folder) is None
