"""Walks one directory tree, a few dozen entries at a time, and counts the bytes and inodes that it takes on its filesystem.

Allocated blocks and inodes are counted as GNU `du -x` does: a file with several links once, nothing on another device (cAdvisor
`fs.GetDirUsage`). A hostile pod may change the tree during the walk. Therefore:

* every step opens a name below an open directory with O_NOFOLLOW, so no symlink is ever followed;
* no file is ever opened, only `lstat`ed, so no FIFO or device can block the walk;
* the number of open descriptors and the memory are bounded whatever the tree.

Theory of operation: the walk is depth first, each directory read to its end before the first of its children is entered. Its
memory is bounded whatever the tree (`levels`, `InodeSet`), and a bound changes how the walk goes on, not what it counts:

* Where the path is full, the directory below is kept open and walked later, as a top of its own, with an empty path.
* Where the set of hard-linked files is full, each link of a further file counts for its share of the file.
* Only a tree that has more than `_MAX_LATER` directories to be walked later is not walked to its end.

A subvolume of btrfs, which any process can make in its volume, has a device number of its own and is no mount. It is counted.

An entry that the kernel refuses to show is left out, such as a mount point whose program or server is gone, or a damaged inode:
else one of them would hide the whole volume. In both cases `fault` says why the amounts are lower bounds.

Moving back up is the difficult part, because only `_OPEN_LEVELS` ancestors are open and the pod may rename directories meanwhile.
`..` is accepted only if it has the device and inode of the level above (`_is_level`). Otherwise the walk goes down again from the
top by the names of the path, and drops the levels that it does not find under their names: they were moved away, and count as
deleted.
"""

import errno
import os
import stat
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TypeGuard

from evictd.core.model.stats import DiskUsage
from evictd.errors import NodeError
from evictd.observe.disk_usage.inode_set import InodeSet
from evictd.observe.disk_usage.levels import Batch, Levels
from evictd.observe.disk_usage.rate_limiter import RateLimiter
from evictd.observe.filesystems.mounts import mount_number
from evictd.observe.untrusted_paths import OPEN_DIRECTORY

BLOCK = 512
"""Bytes; the unit of `st_blocks`, independent of the filesystem's block size."""

SLICE = 64
"""Entries between two checks of the rate limiter: 0.2 ms if the directory is in the page cache."""
_READ_AGAIN = 8
"""Number of entries read again that cost as much as one counted entry."""
_DIRECTORY_COST = 4
"""Cost of opening a directory, in entries."""
_KIND, _DIRECTORY = 0o170000, stat.S_IFDIR
"""The file type bits of a mode (`stat.S_IFMT`), and the type of a directory."""
_OPEN_LEVELS = 64
"""The number of ancestors of the current directory that stay open; higher ones are opened again through `..`."""
_MAX_LATER = 16
"""Directories that are open to be walked later, at most; and at most four times as many in one walk, against bind mounts."""
_DEVICE_SHIFT = 64
_SHARE = 1 << 20
"""The unit in which shares of hard-linked files are added up."""
TOO_LARGE = "too large to be counted to its end in bounded memory"
_GONE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ESTALE}
"""Errors of an entry that was deleted or replaced since its name was read."""


class TreeWalk:
    """One walk of the tree at a directory; `counted` grows with each step."""

    def __init__(self, directory: int, limiter: RateLimiter) -> None:
        """`directory` is open and stays open until the walk has ended; raises `NodeError` if it cannot be read."""
        with as_node_errors():
            top = os.fstat(directory)
        self.fault = ""
        """Why `counted` is a lower bound also at the end; empty where everything was counted so far."""
        self._blocks = top.st_blocks
        self._inodes = 1
        self._shared_blocks = self._shared_inodes = 0
        self._directory = directory
        self._devices: list[int] = []
        """The device number of each level: a subvolume of btrfs has its own."""
        self._mount = ""
        self._limiter = limiter
        self._levels = Levels()
        self._open: dict[int, int] = {}
        """Descriptors by level: the top, and at most `_OPEN_LEVELS` levels above the current one."""
        self._above = InodeSet()
        self._linked = InodeSet()
        self._later: list[int] = []
        self._later_left = 4 * _MAX_LATER

    @property
    def counted(self) -> DiskUsage:
        """The usage counted so far."""
        blocks = self._blocks + self._shared_blocks // _SHARE
        return DiskUsage(blocks * BLOCK, self._inodes + self._shared_inodes // _SHARE)

    def steps(self) -> Generator[None, None, None]:
        """Walk the tree; yields every few dozen entries. Raises `NodeError` for what cannot be read."""
        try:
            with as_node_errors():
                self._later.append(os.open(".", OPEN_DIRECTORY, dir_fd=self._directory))
                while self._later:
                    yield from self._walk(self._later.pop())
        finally:
            for fd in (*self._open.values(), *self._later):
                os.close(fd)
            self._open, self._later = {}, []

    def _walk(self, top: int) -> Iterator[None]:
        self._open[0] = top
        self._levels, self._above = Levels(), InodeSet()
        self._devices, self._mount = [], mount_number(top)
        yield from self._enter(b".", top, os.fstat(top))
        while self._levels.depth >= 0:
            name = self._levels.pop()
            if name is not None:
                yield from self._descend(name)
            elif (after := self._levels.unread_after()) is not None:
                yield from self._read_again(after)
            else:
                self._leave()

    def _descend(self, name: bytes) -> Iterator[None]:
        try:
            fd = _open_below(self._open[self._levels.depth], name)
        except OSError as error:
            self._leave_out(error)
            return
        if fd is None:
            return
        with _closed_on_error(fd):
            status = os.fstat(fd)
            # Mounted over since its name was read, or a bind mount of an ancestor, which would make the walk endless.
            mounted = status.st_dev != self._devices[-1] and mount_number(fd) != self._mount
        if mounted or _numbered(status) in self._above:
            os.close(fd)
        elif self._levels.full or self._above.full:
            self._walk_later(fd)
        else:
            self._limiter.spent(_DIRECTORY_COST)
            yield from self._enter(name, fd, status)

    def _walk_later(self, fd: int) -> None:
        if len(self._later) < _MAX_LATER and self._later_left > 0:
            self._later_left -= 1
            self._later.append(fd)
        else:
            self.fault = TOO_LARGE
            os.close(fd)

    def _enter(self, name: bytes, fd: int, status: os.stat_result) -> Iterator[None]:
        levels = self._levels
        levels.enter(name, status.st_ino)
        self._devices.append(status.st_dev)
        self._open[levels.depth] = fd
        self._above.add(_numbered(status))
        # Level 0 stays open: `_reopen_from_top` starts there.
        far = self._open.pop(levels.depth - _OPEN_LEVELS, None) if levels.depth > _OPEN_LEVELS else None
        if far is not None:  # it is closed already if the walk came back up through `..`
            os.close(far)
        yield from self._scan(fd)

    def _leave(self) -> None:
        fd = self._open.pop(self._levels.depth)
        self._above.discard(self._devices.pop() << _DEVICE_SHIFT | self._levels.leave())
        try:
            if self._levels.depth >= 0 and self._levels.depth not in self._open:
                self._reopen_parent(fd)
        finally:
            os.close(fd)

    def _reopen_parent(self, child: int) -> None:
        """Open the parent again: through `..`, or from the top by names if the child was moved elsewhere."""
        fd = _open_below(child, b"..")
        if self._is_level(fd, self._levels.depth):
            self._open[self._levels.depth] = fd
        else:
            self._reopen_from_top()

    def _reopen_from_top(self) -> None:
        """Open the levels again from the top by name; drop levels that were moved away."""
        reached, fd = 0, os.dup(self._open[0])
        for name in self._levels.names_below_top():
            with _closed_on_error(fd):
                below = _open_below(fd, name)
                if not self._is_level(below, reached + 1):
                    break
            os.close(fd)
            reached, fd = reached + 1, below
        for device, lost in zip(self._devices[reached + 1 :], self._levels.inodes[reached + 1 :], strict=True):
            self._above.discard(device << _DEVICE_SHIFT | lost)
        del self._devices[reached + 1 :]
        self._levels.cut(reached)
        if reached:
            self._open[reached] = fd
        else:
            os.close(fd)

    def _is_level(self, fd: int | None, level: int) -> TypeGuard[int]:
        """Whether a descriptor is the directory of a level, by device and inode; it is closed if not."""
        if fd is None:
            return False
        with _closed_on_error(fd):
            status = os.fstat(fd)
        if (status.st_dev, status.st_ino) == (self._devices[level], self._levels.inodes[level]):
            return True
        os.close(fd)
        return False

    def _scan(self, directory: int) -> Iterator[None]:
        """Count every entry of one directory, and push its subdirectories."""
        batch = Batch()
        with os.scandir(directory) as entries:
            while seen := self._count(directory, islice(entries, SLICE), batch):
                self._limiter.spent(seen)
                yield
        self._levels.push(batch)

    def _read_again(self, after: int) -> Iterator[None]:
        """Push the next subdirectories of the current directory, whose entries were counted before."""
        batch = Batch(after)
        with os.scandir(self._open[self._levels.depth]) as entries:
            while slice_ := list(islice(entries, SLICE)):
                if self._limiter.due:
                    self._limiter.pause()
                batch.rows += [
                    (entry.inode(), entry.name)
                    for entry in slice_
                    if entry.inode() > after and entry.is_dir(follow_symlinks=False)
                ]
                batch.cut()
                self._limiter.spent(-(-len(slice_) // _READ_AGAIN))
                yield
        self._levels.push(batch)

    def _count(self, directory: int, entries: Iterable[os.DirEntry[str]], batch: Batch) -> int:
        """Count one slice of entries and return its length. This is the hot loop: one system call per entry."""
        if self._limiter.due:
            self._limiter.pause()
        lstat, device = os.lstat, self._devices[-1]
        seen = blocks = inodes = 0
        for seen, entry in enumerate(entries, start=1):  # noqa: B007 - the last value is returned
            try:
                status = lstat(entry.name, dir_fd=directory)
            except FileNotFoundError:
                continue
            except OSError as error:
                self._leave_out(error)
                continue
            if status.st_dev != device and not self._is_subvolume(directory, entry.name, status):
                continue
            if status.st_mode & _KIND == _DIRECTORY:
                batch.rows.append((entry.inode(), entry.name))
            elif status.st_nlink > 1 and not self._counts_whole(status):
                continue
            blocks += status.st_blocks
            inodes += 1
        self._blocks += blocks
        self._inodes += inodes
        batch.cut()
        return seen

    def _is_subvolume(self, directory: int, name: str, status: os.stat_result) -> bool:
        """Whether an entry with another device number is no mount; asks nothing of what may be mounted there."""
        if status.st_mode & _KIND != _DIRECTORY:
            return False
        self._limiter.spent(_DIRECTORY_COST)
        try:
            fd = os.open(name, OPEN_DIRECTORY | os.O_PATH, dir_fd=directory)
        except OSError:
            return False  # removed or replaced since
        try:
            return mount_number(fd) == self._mount
        finally:
            os.close(fd)

    def _counts_whole(self, file: os.stat_result) -> bool:
        """Whether a file with several links counts at this one; where that cannot be remembered, a share of it counts at each."""
        try:
            return self._linked.add(_numbered(file))
        except NodeError:
            self._shared_blocks += file.st_blocks * _SHARE // file.st_nlink
            self._shared_inodes += _SHARE // file.st_nlink
            self.fault = TOO_LARGE  # its other links may be outside
            return False

    def _leave_out(self, error: OSError) -> None:
        self.fault = self.fault or f"without what cannot be read ({os.strerror(error.errno or 0)})"


@contextmanager
def as_node_errors() -> Iterator[None]:
    """Raise what the operating system refuses as `NodeError`."""
    try:
        yield
    except OSError as error:
        raise NodeError(f"disk usage: {os.strerror(error.errno or 0)}") from error


@contextmanager
def _closed_on_error(fd: int) -> Iterator[None]:
    """Close a descriptor if the block raises: a walk that fails for want of descriptors must not keep one."""
    try:
        yield
    except OSError:
        os.close(fd)
        raise


def _numbered(file: os.stat_result) -> int:
    """Return a number that only this file has: each filesystem and subvolume numbers its own inodes."""
    return file.st_dev << _DEVICE_SHIFT | file.st_ino


def _open_below(directory: int, name: bytes) -> int | None:
    try:
        return os.open(name, OPEN_DIRECTORY, dir_fd=directory)
    except OSError as error:
        if error.errno in _GONE:
            return None
        raise
