"""Reads through cached descriptors equal reads through new ones, and never come from a removed cgroup."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from evictd.errors import NodeError
from evictd.observe.cgroups import file_descriptor_cache
from evictd.observe.cgroups.file_descriptor_cache import (
    FileDescriptorCache,
    VanishedError,
    default_limit,
    read_whole_lines,
)
from evictd_testnode.cgroups import group
from tests import real_cgroups


@pytest.fixture
def files() -> Iterator[FileDescriptorCache]:
    kept = FileDescriptorCache(8)
    yield kept
    kept.close()


def test_a_file_is_read_afresh_each_time(tmp_path: Path, files: FileDescriptorCache) -> None:
    path = tmp_path / "f"
    for text in (b"1\n", b"22\n", b"3\n"):
        path.write_bytes(text)
        assert files.read(str(path)) == text
    assert len(files) == 1


def test_files_of_proc_are_read_afresh_too(files: FileDescriptorCache) -> None:
    read = [files.read("/proc/self/stat") for _ in range(2)]
    assert all(text.startswith(b"%d " % os.getpid()) for text in read)


def test_what_is_missing_has_vanished_and_what_is_refused_has_not(tmp_path: Path, files: FileDescriptorCache) -> None:
    with pytest.raises(VanishedError, match="No such file"):
        files.read(str(tmp_path / "none"))
    with pytest.raises(NodeError, match="Is a directory") as caught:
        files.read(str(tmp_path))
    assert not isinstance(caught.value, VanishedError)


def test_no_more_stay_open_than_allowed(tmp_path: Path, files: FileDescriptorCache) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for number in range(20):
        (tmp_path / str(number)).write_text("1\n")
    for _ in range(3):
        for number in range(20):
            assert files.read(str(tmp_path / str(number))) == b"1\n"
        assert len(files) == 8
        assert len(list(Path("/proc/self/fd").iterdir())) == before + 8
        files.end_cycle()


def test_what_was_not_read_for_a_cycle_is_closed(tmp_path: Path, files: FileDescriptorCache) -> None:
    for name in "ab":
        (tmp_path / name).write_text("1\n")
        files.read(str(tmp_path / name))
    files.end_cycle()
    files.read(str(tmp_path / "a"))
    assert len(files) == 2
    files.end_cycle()
    assert len(files) == 1
    files.close()
    assert len(files) == 0


def test_the_limit_is_half_of_the_processs_descriptors() -> None:
    assert default_limit() > 0


@pytest.mark.root
@pytest.mark.skipif(bool(real_cgroups.reason_against()), reason=real_cgroups.reason_against() or "possible")
def test_a_cgroup_made_anew_under_the_same_name_is_read_anew(files: FileDescriptorCache) -> None:
    with real_cgroups.branch() as branch:
        folder = group("pids", f"{branch}/pod")
        folder.mkdir()
        maximum = folder / "pids.max"
        maximum.write_text("7")
        assert files.read(str(maximum)) == b"7\n"
        folder.rmdir()
        with pytest.raises(VanishedError):
            files.read(str(maximum))
        folder.mkdir()
        assert files.read(str(maximum)) == b"max\n"
        maximum.write_text("8")
        assert files.read(str(maximum)) == b"8\n"
        folder.rmdir()
        folder.mkdir()
        assert files.read(str(maximum)) == b"max\n", "a cached descriptor must not read the removed cgroup"


@pytest.mark.parametrize("number", [5, 13, 22])  # EIO, EACCES, EINVAL
def test_an_error_while_reading_is_raised_and_leaves_nothing_open(
    tmp_path: Path, files: FileDescriptorCache, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    (tmp_path / "f").write_text("1\n")
    files.read(str(tmp_path / "f"))

    def pread(fd: int, size: int, at: int) -> bytes:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "pread", pread)
    with pytest.raises(NodeError, match=os.strerror(number)) as caught:
        files.read(str(tmp_path / "f"))
    assert not isinstance(caught.value, VanishedError)
    assert len(files) == 0


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (b"", b""),
        (b"ab\ncd", b"ab\ncd"),
        (b"ab\ncd\n", b"ab\ncd\n"),
        (b"ab\ncdefgh\n", b"ab\n"),
        (b"abcdefghij\n", b""),
    ],
    ids=["nothing", "short", "whole lines", "a line cut short", "one long line"],
)
def test_whole_lines_of_the_beginning_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes, read: bytes
) -> None:
    monkeypatch.setattr(file_descriptor_cache, "_MAX_BYTES", 8)
    (tmp_path / "maps").write_bytes(text)
    assert read_whole_lines(str(tmp_path / "maps")) == read
