"""Removal of a directory with its content and nothing else."""

import errno
import os
import shutil
import subprocess
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from evictd.act import trees
from evictd.act.trees import Budget, UnfinishedError, remove_tree
from evictd.observe.untrusted_paths import opened
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
    """Files that must survive every test."""
    made = tmp_path / "precious"
    made.mkdir()
    (made / "file").write_text("x")
    return made


def test_a_directory_is_removed_with_its_content_and_its_siblings_stay(folder: Path, precious: Path) -> None:
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


def test_a_directory_that_is_a_link_is_refused(tmp_path: Path, precious: Path) -> None:
    (tmp_path / "link").symlink_to(precious)
    with pytest.raises(NotADirectoryError):
        remove(tmp_path / "link")
    with pytest.raises(NotADirectoryError), opened(tmp_path / "link"):
        raise AssertionError("a link was opened")
    assert (precious / "file").exists()


def test_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        remove(tmp_path / "gone")


def test_entries_that_vanish_during_removal_are_no_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unlink = os.unlink

    def twice(name: str, *, dir_fd: int) -> None:
        unlink(name, dir_fd=dir_fd)
        unlink(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", twice)
    remove(folder)
    assert not folder.exists()


@pytest.fixture
def own_disk(tmp_path: Path) -> Iterator[Path]:
    """A filesystem of the test's own; mounts on it end with it, also when the test is killed."""
    if os.geteuid() != 0:
        pytest.skip("needs root to mount")
    with tmpfs(tmp_path / "disk") as disk:
        yield disk


@pytest.mark.root
@pytest.mark.parametrize("point", ["folder/deep/bound", "folder/bound", "folder"])
def test_a_mount_of_the_same_disk_is_an_error_and_stays(own_disk: Path, point: str) -> None:
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


def test_a_tree_deeper_than_any_stack_is_removed(folder: Path) -> None:
    dig(folder, 2000)
    try:
        remove(folder)
        assert not folder.exists()
    finally:  # pytest's own way to tidy up is no match for it
        subprocess.run(["rm", "-rf", folder], check=True)


@pytest.fixture
def immutable(own_disk: Path) -> Iterator[Callable[[Path], None]]:
    """Set the immutable attribute, which CAP_LINUX_IMMUTABLE allows a pod to do; it is taken back afterwards."""
    made: list[Path] = []

    def set_attribute(path: Path) -> None:
        if subprocess.run(["chattr", "+i", path], check=False, capture_output=True).returncode:
            pytest.skip("needs a filesystem with attributes")
        made.append(path)

    (own_disk / "probe").write_text("")
    yield set_attribute
    for path in made:
        if path.exists():
            subprocess.run(["chattr", "-i", path], check=True)
    for path in own_disk.rglob("*"):
        subprocess.run(["chattr", "-i", path], check=False, capture_output=True)


def files_in(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.rglob("*") if each.is_file())


@pytest.mark.root
def test_one_immutable_file_does_not_keep_the_others(own_disk: Path, immutable: Callable[[Path], None]) -> None:
    """As Go's RemoveAll, by which the kubelet removes volumes; what is left is named."""
    folder = own_disk / "folder"
    for place in (folder, folder / "a", folder / "b/c"):
        place.mkdir(parents=True)
        for number in range(20):
            (place / f"file-{number}").write_text("x")
    immutable(folder / "a/file-7")
    with pytest.raises(OSError, match=r"Operation not permitted: 'file-7' \(2 entries stay\)") as refused:
        remove(folder)
    assert refused.value.errno == errno.EPERM
    assert files_in(folder) == ["file-7"]
    with pytest.raises(OSError, match="file-7"):
        remove(folder)


@pytest.mark.root
def test_what_lies_below_an_immutable_directory_is_removed_as_far_as_it_allows(
    own_disk: Path, immutable: Callable[[Path], None], precious: Path
) -> None:
    folder = own_disk / "folder"
    (folder / "fixed/free/deep").mkdir(parents=True)
    for place in ("fixed/kept", "fixed/free/gone", "fixed/free/deep/gone"):
        (folder / place).write_text("x")
    (folder / "fixed/way-out").symlink_to(precious)
    immutable(folder / "fixed")
    with pytest.raises(OSError, match="Operation not permitted"):
        remove(folder)
    assert files_in(folder) == ["kept"]
    assert (precious / "file").exists()


@pytest.mark.root
def test_a_mount_below_an_immutable_directory_is_not_entered(own_disk: Path, immutable: Callable[[Path], None]) -> None:
    kept = own_disk / "precious"
    kept.mkdir()
    (kept / "file").write_text("x")
    (own_disk / "folder/fixed/bound").mkdir(parents=True)
    if subprocess.run(
        ["mount", "--bind", kept, own_disk / "folder/fixed/bound"], check=False, capture_output=True
    ).returncode:
        pytest.skip("needs the right to mount")
    immutable(own_disk / "folder/fixed")
    with pytest.raises(OSError, match="entries stay"):
        remove(own_disk / "folder")
    assert (kept / "file").exists()


def test_directories_of_another_project_are_removed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root of a pod can set projects. `rename` is that of a kernel with project quotas, which few test machines have."""
    for project in (folder, folder / "deep"):
        if subprocess.run(["chattr", "+P", project], check=False, capture_output=True).returncode:
            pytest.skip("needs a filesystem with attributes")

    def inherits(directory: int) -> bool:
        named = Path(f"/proc/self/fd/{directory}").readlink()
        return b"P" in subprocess.run(["lsattr", "-d", named], check=True, capture_output=True).stdout.split()[0]

    def rename(name: str, to: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        if inherits(dst_dir_fd):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        move(name, to, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    move = os.rename
    monkeypatch.setattr(os, "rename", rename)
    remove(folder)
    assert not folder.exists()


def test_a_subvolume_is_removed_of_any_depth(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod can make one on btrfs; directories in it cannot be moved out of it."""
    subvolume = folder / "subvolume"
    deepest = subvolume.joinpath(*(["d"] * 100))
    deepest.mkdir(parents=True)
    (deepest / "file").write_text("x")
    inside = {Path(path).stat().st_ino for path, _, _ in os.walk(subvolume)}

    def rename(name: str, to: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        if (os.fstat(src_dir_fd).st_ino in inside) != (os.fstat(dst_dir_fd).st_ino in inside):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        move(name, to, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    move = os.rename
    monkeypatch.setattr(os, "rename", rename)
    remove(folder)
    assert not folder.exists()


@pytest.mark.parametrize("stubborn", [5, 100])
def test_a_removal_in_parts_ends_also_where_entries_stay(
    folder: Path, monkeypatch: pytest.MonkeyPatch, stubborn: int
) -> None:
    """Else a pod with many of them would keep the thread that removes volumes busy for ever."""
    unlink = os.unlink

    def refusing(name: str, *, dir_fd: int) -> None:
        if name.startswith("fixed"):
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        unlink(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", refusing)
    monkeypatch.setattr(trees, "_MOST_LEFT", 50)
    monkeypatch.setattr(trees, "_AT_ONCE", 8)
    for number in range(stubborn):
        (folder / f"{number}").mkdir()
        (folder / f"{number}/fixed").write_text("x")
        (folder / f"{number}/free").write_text("x")
    with pytest.raises(OSError, match="entries stay"):
        in_parts(folder, 16)
    assert stubborn > 10 or files_in(folder) == ["fixed"] * stubborn


def dig(folder: Path, levels: int) -> None:
    """Nest directories deeper than the longest path."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_files(folder: Path) -> None:
    """A pod can create millions of files in one directory."""
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


def test_more_directories_than_names_are_held_are_removed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "_AT_ONCE", 3)
    for top in (folder, folder / "deep"):
        for number in range(20):
            (top / f"{number}/a/b").mkdir(parents=True)
            (top / f"{number}/a/file").write_text("x")
    remove(folder)
    assert not folder.exists()


def test_the_other_name_of_a_hard_link_stays_with_its_content(folder: Path, precious: Path) -> None:
    """A pod may have linked a file of another pod on the same filesystem into its volume."""
    (folder / "deep/linked").hardlink_to(precious / "file")
    remove(folder)
    assert ((precious / "file").read_text(), (precious / "file").stat().st_nlink) == ("x", 1)


@pytest.mark.slow
def test_a_race_of_symlinks_while_a_tree_is_removed_removes_nothing_outside(tmp_path: Path, precious: Path) -> None:
    """A pod that still runs puts links in the place of its directories between reading and opening."""
    (precious / "deep").mkdir()
    (precious / "deep/file").write_text("x")
    done, swaps = threading.Event(), 0

    def swap() -> None:
        nonlocal swaps
        hidden = tmp_path / "hidden"
        while not done.is_set():
            with suppress(OSError):  # it is removed meanwhile
                (tmp_path / "folder/deep").rename(hidden)
                (tmp_path / "folder/deep").symlink_to(precious)
                (tmp_path / "folder/deep").unlink()
                hidden.rename(tmp_path / "folder/deep")
                swaps += 1
            shutil.rmtree(hidden, ignore_errors=True)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(2_000):
            for number in range(5):
                with suppress(OSError):
                    (tmp_path / f"folder/deep/{number}").mkdir(parents=True)
                    (tmp_path / f"folder/deep/{number}/file").write_text("x")
            with suppress(OSError):  # refused: a link, or not empty any more; the next attempt is the next cycle's
                remove(tmp_path / "folder")
            assert (precious / "deep/file").exists()
            assert (precious / "file").exists()
            if swaps > 50:
                break
    finally:
        done.set()
        thread.join()
    assert swaps > 0


def in_parts(folder: Path, entries: int) -> int:
    """Remove a directory with a budget; returns the number of parts."""
    for part in range(1, 1000):
        try:
            with opened(folder.parent) as parent:
                remove_tree(parent, folder.name, Budget(entries))
        except UnfinishedError:
            continue
        return part
    raise AssertionError("it does not come to an end")


def test_a_budget_removes_a_directory_in_parts(folder: Path, precious: Path) -> None:
    for number in range(95):
        os.mknod(folder / f"{number}")
    (folder / "deep/linked").symlink_to(precious)
    assert 5 <= in_parts(folder, 20) <= 7
    assert list(folder.parent.iterdir()) == [precious]
    assert (precious / "file").exists()


def test_each_part_removes_something_whatever_the_tree(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a part moves as many directories as it holds before it enters the first."""
    monkeypatch.setattr(trees, "_AT_ONCE", 8)
    for top in (folder, folder / "deep"):
        for number in range(40):
            (top / f"{number}/a/b/c").mkdir(parents=True)
            (top / f"{number}/a/file").write_text("x")
    dig(folder, 100)
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    assert 1 < in_parts(folder, 2 * 8) < 300
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors
    assert not folder.exists()
