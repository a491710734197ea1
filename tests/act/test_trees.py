"""A folder goes with all that is in it, and nothing else goes with it."""

import errno
import os
import subprocess
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from evictd.act import trees
from evictd.act.trees import opened, remove_tree
from tests.mounted import tmpfs


def remove(folder: Path) -> None:
    with opened(folder.parent) as parent:
        remove_tree(parent, folder.name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    (made / "deep/deeper").mkdir(parents=True)
    (made / "deep/deeper/file").write_text("x")
    (made / "deep/.hidden").write_text("x")
    return made


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """What must survive everything."""
    made = tmp_path / "precious"
    made.mkdir()
    (made / "file").write_text("x")
    return made


def test_a_folder_goes_with_all_that_is_in_it_and_its_neighbours_stay(folder: Path, precious: Path) -> None:
    (folder / "deep" / os.fsdecode(b"\xff\n")).write_text("x")
    os.mkfifo(folder / "pipe")
    remove(folder)
    assert list(folder.parent.iterdir()) == [precious]
    assert (precious / "file").exists()


def test_a_link_is_unlinked_and_not_followed(folder: Path, precious: Path) -> None:
    (folder / "deep/way-out").symlink_to(precious)
    (folder / "file").symlink_to(precious / "file")
    remove(folder)
    assert not folder.exists()
    assert (precious / "file").exists()


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path, precious: Path) -> None:
    (tmp_path / "link").symlink_to(precious)
    with pytest.raises(NotADirectoryError):
        remove(tmp_path / "link")
    with pytest.raises(NotADirectoryError), opened(tmp_path / "link"):
        raise AssertionError("a link was opened")
    assert (precious / "file").exists()


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        remove(tmp_path / "gone")


def test_what_goes_by_itself_meanwhile_is_no_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unlink = os.unlink

    def twice(name: str, *, dir_fd: int) -> None:
        unlink(name, dir_fd=dir_fd)
        unlink(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", twice)
    remove(folder)
    assert not folder.exists()


@pytest.fixture
def own_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of our own, so that whatever is mounted there goes with it, also when the test is killed."""
    if os.geteuid() != 0:
        pytest.skip("needs root to mount")
    with tmpfs(tmp_path / "disk") as disk:
        yield disk


@pytest.mark.root
@pytest.mark.parametrize("point", ["folder/deep/bound", "folder/bound", "folder"])
def test_what_is_mounted_below_from_the_same_disk_is_told_and_stays(own_disk: Path, point: str) -> None:
    kept = own_disk / "precious"
    kept.mkdir()
    (kept / "file").write_text("x")
    (own_disk / point).mkdir(parents=True)
    if subprocess.run(["mount", "--bind", kept, own_disk / point], check=False, capture_output=True).returncode:
        pytest.skip("needs the right to mount")
    with pytest.raises(OSError, match="busy") as refused:
        remove(own_disk / "folder")
    assert refused.value.errno == errno.EBUSY
    assert (kept / "file").exists()


def test_a_tree_deeper_than_any_stack_goes(folder: Path) -> None:
    dig(folder, 2000)
    try:
        remove(folder)
        assert not folder.exists()
    finally:  # pytest's own way to tidy up is no match for it
        subprocess.run(["rm", "-rf", folder], check=True)


def dig(folder: Path, levels: int) -> None:
    """Make a folder in a folder in a folder; no path is long enough for it."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def test_what_is_held_does_not_grow_with_the_number_of_files(folder: Path) -> None:
    """A pod may make millions in one directory, and has been evicted for it."""
    for number in range(20_000):
        os.mknod(folder / "deep" / f"{number:0200}")
    tracemalloc.start()
    try:
        remove(folder)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert not folder.exists()
    assert most < 2**20


def test_more_directories_than_are_held_at_once_go_as_well(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "_AT_ONCE", 3)
    for top in (folder, folder / "deep"):
        for number in range(20):
            (top / f"{number}/a/b").mkdir(parents=True)
            (top / f"{number}/a/file").write_text("x")
    remove(folder)
    assert not folder.exists()
