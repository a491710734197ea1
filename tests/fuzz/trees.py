"""Makes a pod's volume of an input, measures it as evictd does, and compares with what was made.

Three bytes are one step: what is made, how much of it, and where. So an input makes trees of empty directories with long names,
hard links, sparse files, links and pipes, thousands of entries, and files that are removed while this process has them open.
"""

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

from evictd.core.model.stats import DiskUsage
from evictd.observe.disk_usage.deleted_files import DeletedFiles
from evictd.observe.disk_usage.rate_limiter import RateLimiter
from evictd.observe.disk_usage.tree_walk import BLOCK
from evictd.observe.untrusted_paths import OPEN_DIRECTORY
from tests.tree_usage import measure

FAST = "/dev/shm"
"""Memory, where a disk would take most of the time."""
_MOST_OPEN = 64
_MOST_STEPS = 512
_DEEPEST = 12
"""Levels below the volume: `os.walk`, with which the result is compared, takes whole paths."""


class _Volume:
    """A folder that grows step by step."""

    def __init__(self, top: Path) -> None:
        self.here = top
        self._top = top
        self._depth = 0
        self._made = 0
        self._file: Path | None = None
        self.deleted: list[int] = []
        """Descriptors of files that were removed."""

    def take(self, kind: int, size: int, where: int) -> None:
        """Make one thing; what cannot be made is left out."""
        self._made += 1
        name = self.here / (f"{self._made:x}-".ljust(1 + where % 250, "\udcff" if where % 3 else "n"))
        match kind % 8:
            case 0 | 1:
                name.mkdir()
                self._enter(name if size % 2 and self._depth < _DEEPEST else None)
            case 2 | 3:
                name.write_bytes(bytes(size * 64))
                self._file = name
            case 4 if self._file is not None:
                os.link(self._file, name)
            case 5:
                with name.open("wb") as file:
                    file.truncate(size << (where % 40))
            case 6:
                name.symlink_to("/usr" if size % 2 else ".")
            case 7 if len(self.deleted) < _MOST_OPEN:
                fd = os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
                self.deleted.append(fd)
                os.write(fd, bytes(size * 64))
                name.unlink()
            case _:
                self._enter(None)

    def _enter(self, folder: Path | None) -> None:
        """Go into a folder, or back to the top."""
        self.here, self._depth = (self._top, 0) if folder is None else (folder, self._depth + 1)


@contextmanager
def _planted(data: bytes) -> Iterator[tuple[Path, list[int]]]:
    top = Path(mkdtemp(prefix="evictd-fuzz-", dir=FAST if os.access(FAST, os.W_OK) else None))
    volume = _Volume(top)
    try:
        for at in range(0, min(len(data) - 2, 3 * _MOST_STEPS), 3):
            volume.take(*data[at : at + 3])
        yield top, volume.deleted
    finally:
        for fd in volume.deleted:
            os.close(fd)
        shutil.rmtree(top)


def tree(data: bytes) -> None:
    """A walk counts each inode once with its blocks, and of deleted files what is held open."""
    with _planted(b"") as (folder, _):
        (folder / "cgroup.procs").write_text(f"{os.getpid()}\n")
        before = _deleted(folder)
        with _planted(data) as (top, held):
            fd = os.open(top, OPEN_DIRECTORY)
            try:
                found = measure(fd)
            finally:
                os.close(fd)
            assert found == _expected(top), (found, _expected(top))
            after = _deleted(folder)
            blocks = sum(os.fstat(each).st_blocks * BLOCK for each in held)
            assert after - before == blocks, (after - before, blocks)


def _expected(top: Path) -> DiskUsage:
    seen: dict[int, int] = {}
    for folder, folders, files in os.walk(top):
        for name in (".", *folders, *files):
            status = os.lstat(os.path.join(folder, name))  # noqa: PTH118 - names that are not UTF-8
            if not stat.S_ISDIR(status.st_mode) or name == ".":
                seen[status.st_ino] = status.st_blocks * BLOCK
    return DiskUsage(sum(seen.values()), len(seen))


def _deleted(cgroup: Path) -> int:
    counted = DeletedFiles(Path("/proc"), (cgroup,), frozenset({cgroup.stat().st_dev}), RateLimiter())
    for _ in counted.steps():
        pass
    return counted.local.used_bytes or 0
