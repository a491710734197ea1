"""What a walk does where it cannot remember everything."""

import os
import random
import re
import subprocess
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evictd.act.trees import remove_tree
from evictd.core.model.stats import DiskUsage
from evictd.errors import NodeError
from evictd.observe.disk_usage import inode_set, levels, tree_walk
from evictd.observe.disk_usage.rate_limiter import RateLimiter
from evictd.observe.disk_usage.tree_walk import TreeWalk
from tests import mounted
from tests.act.test_trees import dig
from tests.tree_usage import PartlyCountedError, measure
from tests.trees import HOSTILE_NAMES, Device, Fifo, Hard, Link, Socket, Sparse, Tree, plant


def test_hard_links_that_are_not_remembered_count_for_a_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inode_set, "_MAX_ROWS", 1)
    top = plant(tmp_path / "top", {"a": "x" * 5000, "b": Hard("a"), "c": "y" * 5000, "d": Hard("c"), "e": Hard("c")})
    os.link(top / "e", tmp_path / "outside")
    whole = du(top)
    assert whole.used_bytes is not None
    assert whole.inodes_used is not None
    with opened(top) as folder:
        walk = TreeWalk(folder, RateLimiter())
        walk._linked.add(1 << 60)
        assert [*walk.steps()]
    assert (walk.fault, walk.counted) == (
        tree_walk.TOO_LARGE,
        DiskUsage(whole.used_bytes - 2048, whole.inodes_used - 1),
    )


def test_a_walk_that_is_given_up_closes_what_it_had_opened(tmp_path: Path) -> None:
    top = plant(tmp_path / "top", {"a": {"b": {"c": {"file": "x"}}}})
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    with opened(top) as folder:
        walk = TreeWalk(folder, RateLimiter())
        steps = walk.steps()
        for _ in range(3):
            next(steps)
        assert walk.counted.inodes_used == 4, "what was counted so far"
        steps.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors


ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@contextmanager
def opened(path: Path) -> Iterator[int]:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield fd
    finally:
        os.close(fd)


def usage(path: Path) -> DiskUsage:
    with opened(path) as folder:
        return measure(folder)


def du(path: Path) -> DiskUsage:
    def ask(*options: str) -> int:
        told = subprocess.run(["du", "-sx", *options, "--", str(path)], check=True, stdout=subprocess.PIPE).stdout
        return int(told.split()[0])

    return DiskUsage(ask("--block-size=1"), ask("--inodes"))


TREES: dict[str, Tree] = {
    "empty": {},
    "files and folders": {"a": "x" * 10_000, "b": {"c": "y", "d": {"e": b"\0" * 100_000}}},
    "hard links": {"a": "x" * 5000, "b": Hard("a"), "c": {"d": Hard("a"), "e": "z"}},
    "sparse files": {"hole": Sparse(1 << 30), "part": "x"},
    "links": {"loop": Link("."), "out": Link("/usr"), "none": Link("nowhere"), "long": Link("x" * 200)},
    "names": {name: {name: "x"} for name in HOSTILE_NAMES},
    "pipes and sockets": {"fifo": Fifo(), "socket": Socket(), "file": "x"},
    "wide": {str(number): "" for number in range(1200)},
}


@pytest.mark.parametrize("name", TREES)
def test_a_tree_is_counted_as_du_counts_it(tmp_path: Path, name: str) -> None:
    top = plant(tmp_path / "top", TREES[name])
    assert usage(top) == du(top)


leaves: st.SearchStrategy[object] = st.sampled_from(["", "x" * 5000, Link("/"), Fifo(), Sparse(1 << 20)])
trees = st.recursive(leaves, lambda inner: st.dictionaries(st.sampled_from("abcdef"), inner, max_size=4), max_leaves=25)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tree=st.dictionaries(st.sampled_from("abcdef"), trees), most=st.sampled_from([1, 2, 64]))
def test_any_tree_is_counted_as_du_counts_it(tmp_path_factory: pytest.TempPathFactory, tree: Tree, most: int) -> None:
    """Also where few levels stay open, so that the way back is through `..` and down again."""
    top = plant(tmp_path_factory.mktemp("tree") / "top", tree)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree_walk, "_OPEN_LEVELS", most)
        assert usage(top) == du(top)


def test_a_deep_tree_with_siblings_at_every_level_is_counted(tmp_path: Path) -> None:
    """The way down after the way back up: what is closed already is not closed again."""
    top = tmp_path / "top"
    with deep_chain(top, 300, sibling=True):
        assert usage(top) == du(top)


def test_a_tree_deeper_than_any_path_may_be_long(tmp_path: Path) -> None:
    top, depth = tmp_path / "top", 1000
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    with deep_chain(top, depth), opened(top) as folder:
        most = 0

        class Counting(RateLimiter):
            def spent(self, entries: int) -> None:
                nonlocal most
                most = max(most, len(list(Path("/proc/self/fd").iterdir())))

        found = measure(folder, Counting())
        assert found == du(top)
        assert found.inodes_used == 2 * depth + 1
        assert most - descriptors < 70, "descriptors must not grow with the depth"


@contextmanager
def deep_chain(top: Path, depth: int, *, sibling: bool = False) -> Iterator[None]:
    """Make folders within folders, each with a long name and a file or folder beside it; removed by descriptors too."""
    name = "d" * 50
    top.mkdir()
    current = os.open(top, os.O_RDONLY)
    for _ in range(depth):
        if sibling:
            os.mkdir("file", dir_fd=current)
        else:
            os.close(os.open("file", os.O_CREAT, dir_fd=current))
        os.mkdir(name, dir_fd=current)
        current, above = os.open(name, os.O_RDONLY, dir_fd=current), current
        os.close(above)
    try:
        yield
    finally:
        for _ in range(depth):
            above = os.open("..", os.O_RDONLY, dir_fd=current)
            os.close(current)
            current = above
            os.rmdir(name, dir_fd=current)
            (os.rmdir if sibling else os.unlink)("file", dir_fd=current)
        os.close(current)


@pytest.mark.root
@ROOT_ONLY
def test_another_filesystem_is_not_counted(tmp_path: Path) -> None:
    top = plant(tmp_path / "top", {"a": "x", "mount": {}, "file": "y"})
    with mounted.tmpfs(top / "mount"):
        plant(top / "mount", {"b": "x" * 5000, "c": {"d": "x"}})
        assert usage(top) == du(top)
        assert usage(top).inodes_used == 3
        assert usage(top / "mount") == du(top / "mount"), "what is asked for itself is measured"


@pytest.mark.root
@ROOT_ONLY
def test_a_device_node_is_counted_and_not_opened(tmp_path: Path) -> None:
    # A device that does not exist: opening it would fail with ENXIO.
    top = plant(tmp_path / "top", {"disk": Device(240, 99), "fifo": Fifo()})
    assert usage(top) == du(top)


@pytest.mark.parametrize("nested", [False, True])
def test_a_subvolume_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nested: bool) -> None:
    """On btrfs a pod can make one in its volume, with a device number of its own; what it held was hidden."""
    top = plant(tmp_path / "top", {"a": "x" * 5000, "sub": {"b": "y" * 5000, "c": {"d": {"e": "z" * 5000}}}, "f": {}})
    whole, inside = du(top), list[Path](((top / "sub"), *(top / "sub").rglob("*")))
    devices = {each.stat().st_ino: 1 for each in inside}
    devices |= {each.stat().st_ino: 2 for each in inside if nested and "d" in each.parts}
    lstat, fstat = os.lstat, os.fstat

    def seen(status: os.stat_result) -> os.stat_result:
        mode, inode, device, *others = status
        other = (mode, inode, device + devices.get(inode, 0), *others)
        return os.stat_result(other, {"st_blocks": status.st_blocks})

    monkeypatch.setattr(os, "lstat", lambda name, *, dir_fd: seen(lstat(name, dir_fd=dir_fd)))
    monkeypatch.setattr(os, "fstat", lambda fd: seen(fstat(fd)))
    monkeypatch.setattr(tree_walk, "_OPEN_LEVELS", 1)
    assert usage(top) == whole


@pytest.mark.root
@ROOT_ONLY
def test_a_folder_mounted_below_itself_is_not_walked_twice(tmp_path: Path) -> None:
    with mounted.tmpfs(tmp_path / "disk") as disk:
        top = plant(disk / "top", {"a": {"b": {}}, "c": "x"})
        subprocess.run(["mount", "--bind", str(top), str(top / "a/b")], check=True)
        assert usage(top).inodes_used == 3 + 1


# --- errors and races -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [5, 13, 107, 116])  # EIO, EACCES, ENOTCONN, ESTALE
def test_an_entry_that_cannot_be_read_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """107: a FUSE filesystem that was mounted into the volume, and whose program has ended."""
    top = plant(tmp_path / "top", {"a": "x", "b": {"c": "y", "d": "z" * 5000}})
    real = os.lstat

    def lstat(name: str, *, dir_fd: int) -> os.stat_result:
        if name == "c":
            raise OSError(number, os.strerror(number))
        return real(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "lstat", lstat)
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(PartlyCountedError, match=re.escape(os.strerror(number))) as raised:
        usage(top)
    assert raised.value.counted.inodes_used == 4
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors


def test_a_directory_that_may_not_be_opened_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = plant(tmp_path / "top", {"a": {"b": "x"}, "c": {"d": "y"}})
    real = os.open

    def refuse(name: str | bytes, flags: int, *, dir_fd: int | None = None) -> int:
        if name == b"a":
            raise PermissionError(13, "Permission denied")
        return real(name, flags, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(PartlyCountedError, match="Permission denied") as raised:
        usage(top)
    assert raised.value.counted.inodes_used == 4


def test_what_is_deleted_while_it_is_read_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = plant(tmp_path / "top", {"a": "x", "b": "y", "c": {"d": "z"}})
    real = os.lstat

    def lstat(name: str, *, dir_fd: int) -> os.stat_result:
        if name == "a":
            raise FileNotFoundError
        return real(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "lstat", lstat)
    assert usage(top).inodes_used == 4


def test_a_folder_swapped_for_a_symlink_between_reading_and_opening_is_not_entered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = plant(tmp_path / "outside", {str(number): "x" for number in range(50)})
    top = plant(tmp_path / "top", {"a": {"b": "x"}})
    real = os.lstat

    def lstat(name: str, *, dir_fd: int) -> os.stat_result:
        status = real(name, dir_fd=dir_fd)
        if name == "a":
            (top / "a").rename(tmp_path / "moved")
            (top / "a").symlink_to(outside)
        return status

    monkeypatch.setattr(os, "lstat", lstat)
    assert usage(top).inodes_used == 2


def test_a_race_of_symlinks_never_leads_out_of_the_tree(tmp_path: Path) -> None:
    outside = plant(tmp_path / "outside", {str(number): "x" * 5000 for number in range(200)})
    inside: Tree = {f"d{number}": {"deep": {"file": "x"}, "file": "x"} for number in range(8)}
    top = plant(tmp_path / "top", inside)
    long_ago = (1_000_000_000, 1_000_000_000)
    os.utime(outside, long_ago)  # reading the folder would touch this, relatime or not
    complete, done, swaps = usage(top), threading.Event(), 0

    def swap() -> None:
        nonlocal swaps
        choose = random.Random(1)
        while not done.is_set():
            victim = top / f"d{choose.randrange(8)}" / choose.choice(["", "deep"])
            hidden = tmp_path / "hidden"
            victim.rename(hidden)
            victim.symlink_to(outside)
            victim.unlink()
            hidden.rename(victim)
            swaps += 1

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        assert complete.used_bytes is not None
        assert complete.inodes_used is not None
        for _ in range(20_000):
            found = usage(top)
            assert found.inodes_used is not None
            assert found.used_bytes is not None
            assert found.inodes_used <= complete.inodes_used
            assert found.used_bytes <= complete.used_bytes
            if swaps > 1000:
                break
    finally:
        done.set()
        thread.join(30)
    assert usage(top) == complete
    assert outside.stat().st_atime == long_ago[0], "the folder outside was not read"


def test_a_branch_moved_away_under_the_walk_is_lost_and_the_rest_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two levels stay open, so that the way back from the third is through `..`.
    monkeypatch.setattr(tree_walk, "_OPEN_LEVELS", 1)
    top = plant(tmp_path / "top", {"a": {"b": {"c": {"d": {"file": "x"}}, "z": {"y": "x"}}}, "e": {"f": "x"}})
    (tmp_path / "elsewhere").mkdir()
    real, moved = os.lstat, list[str]()

    def lstat(name: str, *, dir_fd: int) -> os.stat_result:
        if name == "file" and not moved:
            (top / "a/b/c").rename(tmp_path / "elsewhere/c")
            moved.append(name)
        return real(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "lstat", lstat)
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    # top, a, b, c, d, file, z, y, e, f: the way back to `b` is found again from the top.
    assert usage(top).inodes_used == 10
    assert moved
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors


@pytest.mark.parametrize("call", ["open", "fstat", "dup", "mount_number"])
def test_a_walk_that_fails_at_any_call_closes_what_it_had_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """As without a free descriptor: each failed walk kept one more, so there was never a free one again."""
    monkeypatch.setattr(tree_walk, "_OPEN_LEVELS", 1)
    where = tree_walk if call == "mount_number" else os
    made, real, left = getattr(where, call), os.lstat, [0]

    def fail(*args: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise OSError(24, "Too many open files")
        return made(*args, **options)

    def lstat(name: str, *, dir_fd: int) -> os.stat_result:
        if name == "file":
            with suppress(FileNotFoundError):  # moved before
                (tmp_path / "top/a/b/c").rename(tmp_path / "elsewhere")
        return real(name, dir_fd=dir_fd)

    number, failed = 0, True
    while failed:
        number, failed = number + 1, False
        top = plant(tmp_path / "top", {"a": {"b": {"c": {"d": {"file": "x"}}, "z": {}}}, "e": {}})
        descriptors = len(list(Path("/proc/self/fd").iterdir()))
        with opened(top) as folder:
            walk, left[0] = TreeWalk(folder, RateLimiter()), number
            with monkeypatch.context() as patched:
                patched.setattr(os, "lstat", lstat)
                patched.setattr(where, call, fail)
                try:
                    for _ in walk.steps():
                        pass
                    failed = bool(walk.fault)  # the entry was left out
                except NodeError:
                    failed = True
        assert len(list(Path("/proc/self/fd").iterdir())) == descriptors, number
        for each in tmp_path.iterdir():
            rmtree(each)
    assert number > 1


NAMES = 131_500


@pytest.mark.root
@ROOT_ONLY
def test_files_beside_many_empty_folders_are_counted(tmp_path: Path) -> None:
    """The longest names of that many folders exceeded the walk's bound, which then counted 0 bytes on tmpfs."""
    with mounted.tmpfs(tmp_path / "disk", size="128m") as disk:
        top = plant(disk / "top", {"empty": {}, "z": {"data": b"x" * (4 << 20)}})
        with opened(top / "empty") as folder:
            for number in range(NAMES):
                os.mkdir(f"{number:0255}", dir_fd=folder)
        (top / "empty" / f"{7:0255}" / "below").mkdir()
        (top / "empty" / f"{NAMES - 1:0255}" / "data").write_bytes(b"x" * (4 << 20))
        found = usage(top)
    assert found == DiskUsage(8 << 20, NAMES + 6)


@pytest.mark.parametrize(
    "bounds", [{"_BATCH": 1, "_SURPLUS": 0}, {"_BATCH": 7, "_SURPLUS": 3}, {"_MAX_PENDING_BYTES": 40}]
)
def test_folders_that_are_not_all_remembered_at_once_are_all_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bounds: dict[str, int]
) -> None:
    for name, value in bounds.items():
        monkeypatch.setattr(levels, name, value)
    wide: Tree = {str(number): {"a": {"file": "x", "b": {}}, "c": {}} for number in range(70)}
    top = plant(tmp_path / "top", {"wide": wide, "other": {**wide, "deep": {"wide": wide}}, "file": "x" * 5000})
    assert usage(top) == du(top)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tree=st.dictionaries(st.sampled_from("abcdef"), trees), path=st.sampled_from([1, 60, 16 << 20]))
def test_any_tree_is_counted_in_any_memory(tmp_path_factory: pytest.TempPathFactory, tree: Tree, path: int) -> None:
    top = plant(tmp_path_factory.mktemp("tree") / "top", tree)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_BATCH", "_MAX_PENDING_BYTES"):
            patch.setattr(levels, name, 1)
        patch.setattr(levels, "_SURPLUS", 0)
        patch.setattr(levels, "_MAX_PATH_BYTES", path)
        patch.setattr(tree_walk, "_MAX_LATER", 1000)
        assert usage(top) == du(top)


def test_what_lies_below_a_full_path_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "_MAX_PATH_BYTES", 10 * (levels._LEVEL_BYTES + 51))
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    with deep_chain(tmp_path / "top", 100):
        assert usage(tmp_path / "top") == du(tmp_path / "top")
        assert len(list(Path("/proc/self/fd").iterdir())) == descriptors + 1


def test_a_tree_with_too_many_full_paths_is_not_counted_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error holds what was counted, a lower bound."""
    monkeypatch.setattr(levels, "_MAX_PATH_BYTES", levels._LEVEL_BYTES)
    top = plant(tmp_path / "top", {f"{number:03}": {"inside": "x"} for number in range(100)})
    with pytest.raises(PartlyCountedError, match=tree_walk.TOO_LARGE) as raised:
        usage(top)
    assert raised.value.counted.inodes_used == 1 + 100 + tree_walk._MAX_LATER


LEVELS = 15_000


@pytest.mark.root
@ROOT_ONLY
def test_a_tree_of_any_depth_is_measured_and_removed_in_little_memory(tmp_path: Path) -> None:
    """600,000 levels took 250 bytes each, more than the memory limit. On a disk that goes with a killed run."""
    with mounted.tmpfs(tmp_path / "disk", size="64m") as disk:
        (disk / "top").mkdir()
        dig(disk / "top", LEVELS)
        tracemalloc.start()
        try:
            found = usage(disk / "top")
            _, walked = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            with opened(disk) as parent:
                remove_tree(parent, "top")
            _, removed = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert found.inodes_used == LEVELS + 1
        assert list(disk.iterdir()) == []
    assert walked < 40 * LEVELS
    assert removed < 1 << 18


def test_a_walk_pauses_before_its_first_entry_and_every_few_dozen_entries(tmp_path: Path) -> None:
    class Due(RateLimiter):
        def __init__(self) -> None:
            super().__init__()
            self.paused_at: list[int] = []

        def pause(self) -> None:
            self.paused_at.append(self.entries)

    top, limiter = plant(tmp_path / "top", {f"{number:03}": "" for number in range(200)}), Due()
    with opened(top) as folder, limiter:
        assert measure(folder, limiter) == du(top)
    assert limiter.paused_at == [0, 64, 128, 192, 200]


def test_a_directory_that_cannot_be_opened_is_a_node_error() -> None:
    """The thread that measures must outlive a stale handle."""
    with pytest.raises(NodeError):
        measure(-1)
