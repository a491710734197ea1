"""Deleted files that processes keep open or mapped."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evictd.core.model.stats import DiskUsage
from evictd.observe.disk_usage import deleted_files
from evictd.observe.disk_usage.deleted_files import DeletedFiles
from evictd.observe.disk_usage.rate_limiter import RateLimiter
from tests import mounted

MIB = 1 << 20
PROC = Path("/proc")

HOLD = """
import mmap, os, sys
folder, what = sys.argv[1:]
held = []
def deleted(name, size, mode="wb+"):
    path = os.path.join(folder, name)
    file = open(path, mode)
    file.write(b"x" * size)
    file.flush()
    os.unlink(path)
    return file
if what == "open":
    held.append(deleted("gone", 1 << 20))
    held += [os.dup(held[0].fileno()) for _ in range(200)]
    held.append(open(os.path.join(folder, "kept"), "wb"))
    held[-1].write(b"y" * 5000)
    held[-1].flush()
    held.append(open(os.path.join(folder, "looks (deleted)"), "wb"))
    os.mkdir(os.path.join(folder, "d"))
    held.append(os.open(os.path.join(folder, "d"), os.O_RDONLY))
    os.rmdir(os.path.join(folder, "d"))
    held.append(os.memfd_create("memory"))
    os.write(held[-1], b"z" * 5000)
if what == "chroot":
    held.append(deleted("gone", 1 << 20))
    os.chroot(folder)
if what.startswith("deep"):
    top, folder = folder, "."
    os.chdir(top)
    for _ in range(20):
        os.mkdir("d" * 250)
        os.chdir("d" * 250)
    held += [deleted("far", 1 << 20), deleted(os.path.join(top, "gone"), 1 << 20)]
    if what == "deep root":
        os.chroot(".")
if what == "mapped":
    file = deleted("gone", 1 << 20)
    held.append(mmap.mmap(file.fileno(), 4096))
    file.close()
if what.startswith("mapped as "):
    name = what.removeprefix("mapped as ")
    os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
    files = [deleted(name, 1 << 20), deleted("other", 1 << 20)]
    held += [mmap.mmap(file.fileno(), 4096) for file in files]
    os.closerange(3, 256)  # also those that mmap keeps
if what == "many mappings":
    file = deleted("gone", 1 << 20)
    held.append(mmap.mmap(file.fileno(), 4096))
    kinds = mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_WRITE  # neighbours of one kind would be one mapping
    held += [mmap.mmap(-1, 4096, mmap.MAP_PRIVATE, kinds[i % 2]) for i in range(30_000)]
    os.closerange(3, 256)
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def holder(folder: Path, what: str) -> Iterator[int]:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder), what],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process.pid
        finally:
            process.communicate(timeout=30)


def count(tmp_path: Path, *pids: int, disk: Path, proc: Path = PROC, logs: Path | None = None) -> DeletedFiles:
    cgroup = tmp_path / "cgroup/container"
    cgroup.mkdir(parents=True, exist_ok=True)
    (cgroup / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in pids))
    disks = frozenset({disk.stat().st_dev, (logs or disk).stat().st_dev})
    found = DeletedFiles(proc, (tmp_path / "cgroup",), disks, RateLimiter())
    assert [*found.steps()] or not pids
    return found


def total(found: DeletedFiles) -> DiskUsage:
    parts = (found.layer, found.local)
    return DiskUsage(sum(p.used_bytes or 0 for p in parts), sum(p.inodes_used or 0 for p in parts))


def test_a_deleted_file_that_is_open_counts_once_and_nothing_else_does(tmp_path: Path) -> None:
    folder = tmp_path / "volume"
    folder.mkdir()
    with holder(folder, "open") as pid, holder(folder, "none") as other:
        found = count(tmp_path, pid, other, 4_000_000, disk=folder)
    assert total(found) == DiskUsage(MIB, 1)
    assert (found.complete, found.refused) == (True, False)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("what", ["open", "mapped"])
def test_only_files_on_the_disk_of_the_volumes_count(tmp_path: Path, what: str) -> None:
    with mounted.tmpfs(tmp_path / "disk") as disk, mounted.tmpfs(tmp_path / "other") as other:
        with holder(disk, what) as here, holder(other, what) as elsewhere:
            found = count(tmp_path, here, elsewhere, disk=disk)
            assert (found.local, found.layer) == (DiskUsage(MIB, 1), DiskUsage(0, 0))
        assert total(count(tmp_path, here, disk=disk)) == DiskUsage(0, 0), "it has ended"


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("end", ["\v", "\f", "\r", "\x1c", "\x85", "\u2028"])
@pytest.mark.parametrize("name", ["a{}b", "a{}/path/asked r-- 0 {} 0"])
def test_no_name_of_a_file_hides_others_or_has_a_path_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, name: str
) -> None:
    """The kernel escapes only line feeds. A path of the pod's choice may lie on a filesystem that never answers."""
    asked, stat = list[str](), os.stat

    def noted(path: str, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> os.stat_result:
        asked.append(str(path))
        return stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)

    with mounted.tmpfs(tmp_path / "disk") as disk:
        number = disk.stat().st_dev
        device = f"{os.major(number):02x}:{os.minor(number):02x}"
        with holder(disk, "mapped as " + name.format(end, device)) as pid:
            monkeypatch.setattr(os, "stat", noted)
            assert total(count(tmp_path, pid, disk=disk)) == DiskUsage(2 * MIB, 2)
    assert "/path/asked" not in asked


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_file_is_not_hidden_behind_many_mappings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with mounted.tmpfs(tmp_path / "disk") as disk, holder(disk, "many mappings") as pid:
        assert len((PROC / str(pid) / "maps").read_bytes()) > MIB
        assert total(count(tmp_path, pid, disk=disk)) == DiskUsage(MIB, 1)
        monkeypatch.setattr(deleted_files, "_MAX_MAPPINGS", 1000)
        assert not count(tmp_path, pid, disk=disk).complete


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_files_of_one_inode_number_on_two_disks_are_two(tmp_path: Path) -> None:
    """Filesystems number their inodes from the same numbers on."""
    with (
        mounted.tmpfs(tmp_path / "disk") as disk,
        mounted.tmpfs(tmp_path / "logs") as logs,
        holder(disk, "open") as first,
        holder(logs, "open") as second,
    ):
        assert total(count(tmp_path, first, second, disk=disk, logs=logs)) == DiskUsage(2 * MIB, 2)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_process_in_a_chroot_hides_no_file_of_the_next(tmp_path: Path) -> None:
    """Its mountinfo lists only what is mounted below its root."""
    with mounted.tmpfs(tmp_path / "disk") as disk:
        (disk / "below").mkdir()
        with holder(disk / "below", "chroot") as first, holder(disk, "open") as second:
            assert total(count(tmp_path, first, second, disk=disk)) == DiskUsage(MIB, 1)
            assert total(count(tmp_path, second, first, disk=disk)) == DiskUsage(2 * MIB, 2)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_file_whose_path_is_too_long_to_be_read_counts_and_hides_no_other(tmp_path: Path) -> None:
    with mounted.tmpfs(tmp_path / "disk") as disk, holder(disk, "deep") as pid:
        found = count(tmp_path, pid, disk=disk)
    assert (total(found), found.complete) == (DiskUsage(2 * MIB, 2), True)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_root_whose_path_is_too_long_to_be_read_hides_no_file(tmp_path: Path) -> None:
    with mounted.tmpfs(tmp_path / "disk") as disk, holder(disk, "deep root") as first, holder(disk, "open") as second:
        assert total(count(tmp_path, second, first, disk=disk)) == DiskUsage(3 * MIB, 3)
        assert total(count(tmp_path, first, second, disk=disk)) == DiskUsage(MIB, 1)


def test_a_process_that_may_not_be_looked_into_is_named_and_the_next_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "volume"
    folder.mkdir()
    real = os.scandir
    with holder(folder, "open") as pid, holder(folder, "none") as other:

        def scandir(path: Path) -> object:
            if str(path) == f"/proc/{other}/fd":
                raise PermissionError(13, "Permission denied")
            return real(path)

        monkeypatch.setattr(os, "scandir", scandir)
        found = count(tmp_path, other, pid, disk=folder)
    assert (total(found), found.refused) == (DiskUsage(MIB, 1), True)


def test_descriptors_are_counted_as_entries_in_small_steps(tmp_path: Path) -> None:
    folder = tmp_path / "volume"
    folder.mkdir()
    (tmp_path / "cgroup").mkdir()
    limiter = RateLimiter()
    with holder(folder, "open") as pid:
        (tmp_path / "cgroup/cgroup.procs").write_text(f"{pid}\n" * 50)
        found = DeletedFiles(PROC, (tmp_path / "cgroup",), frozenset({folder.stat().st_dev}), limiter)
        last, most = 0, 0
        for _ in found.steps():
            last, most = limiter.entries, max(most, limiter.entries - last)
    assert limiter.entries > 50 * 200 * 16, "a deleted file costs more than a descriptor"
    assert most < 300


def test_a_tree_of_cgroups_of_any_depth_hides_no_process(tmp_path: Path) -> None:
    folder = tmp_path / "volume"
    folder.mkdir()
    deep = tmp_path / "cgroup" / Path(*["a"] * 1500)
    for each in (*reversed(deep.parents), deep):
        each.mkdir(exist_ok=True)
    with holder(folder, "open") as pid:
        (deep / "cgroup.procs").write_text(f"{pid}\n")
        found = DeletedFiles(PROC, (tmp_path / "cgroup",), frozenset({folder.stat().st_dev}), RateLimiter())
        steps = len([*found.steps()])
    subprocess.run(["rm", "-r", str(tmp_path / "cgroup")], check=True)  # deeper than pytest can remove
    assert steps > 1500
    assert (total(found), found.complete) == (DiskUsage(MIB, 1), True)


def test_of_too_many_cgroups_only_some_are_gone_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deleted_files, "_MAX_CGROUPS", 10)
    for number in range(20):
        (tmp_path / f"cgroup/{number}").mkdir(parents=True)
    found = DeletedFiles(PROC, (tmp_path / "cgroup",), frozenset(), RateLimiter())
    assert (len([*found.steps()]), found.complete) == (10, False)
