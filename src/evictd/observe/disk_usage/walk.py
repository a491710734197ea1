"""Measures the bytes and inodes that a directory tree takes on its filesystem.

Allocated blocks and inodes are counted as GNU `du -x` does: a file with several links once, nothing on another device (cAdvisor
`fs.GetDirUsage`, spec 3.7). A hostile pod may change the tree during the walk. Therefore:

* every step opens a name below an open directory with O_NOFOLLOW, so no symlink is ever followed;
* no file is ever opened, only `lstat`ed, so no FIFO or device can block the walk;
* at most `_OPEN_LEVELS` + 1 descriptors are open, whatever the depth;
* memory is bounded (`_MAX_BYTES`, `InodeSet`) whatever the tree: names of directories still to be visited, 16 bytes and a name
  for each level of the path to the current directory, and a bit for each file with several links.
"""

import errno
import os
import stat
from array import array
from collections.abc import Callable, Iterable
from itertools import islice
from typing import TypeGuard

from evictd.core.model.stats import DiskUsage
from evictd.errors import NodeError
from evictd.observe.disk_usage.inode_set import InodeSet
from evictd.observe.disk_usage.rate_limiter import RateLimiter

BLOCK = 512
"""Bytes; the unit of `st_blocks`, independent of the filesystem's block size."""

OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_SLICE = 64
"""Entries between two checks of the rate limiter: 0.2 ms if the directory is in the page cache."""
_KIND, _DIRECTORY = 0o170000, stat.S_IFDIR
"""The file type bits of a mode (`stat.S_IFMT`), and the type of a directory."""
_OPEN_LEVELS = 64
"""The number of ancestors of the current directory that stay open; higher ones are opened again through `..`."""
_LEVEL_BYTES = 16
"""Bytes of a level beside its name: two numbers of 64 bits."""
_MAX_BYTES = 32 << 20
"""Bytes for the names of directories still to be visited and for the current path: 1.8 million levels with names of one letter,
or 130,000 sibling directories with the longest names. A tree that needs more is hostile, and only its lower bound is counted."""
_GONE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ESTALE}
"""Errors of an entry that was deleted or replaced since its name was read."""


class TooLargeError(NodeError):
    """The tree cannot be walked to its end in bounded memory."""

    def __init__(self, reason: str, counted: DiskUsage) -> None:
        super().__init__(f"disk usage: {reason}: at least {counted.used_bytes} bytes and {counted.inodes_used} inodes")
        self.counted = counted
        """What was counted before the bound was reached: a lower bound of the tree's usage."""


def measure(directory: int, limiter: RateLimiter | None = None) -> DiskUsage:
    """Measure the tree at an open directory, the directory included.

    Raises `NodeError` if any part of it cannot be read, and `TooLargeError` if the walk exceeds its bounds.
    """
    try:
        walk = _Walk(os.fstat(directory), limiter or RateLimiter())
        try:
            walk.run(directory)
        except _FullError as error:
            raise TooLargeError(str(error), walk.counted) from error
        finally:
            walk.close()
    except OSError as error:
        raise NodeError(f"disk usage: {os.strerror(error.errno or 0)}") from error
    return walk.counted


def measure_files(directory: int, limiter: RateLimiter | None = None) -> DiskUsage:
    """Measure the regular files directly in an open directory; subdirectories and the directory itself do not count."""
    limiter = limiter or RateLimiter()
    blocks = inodes = 0
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if limiter.due:
                    limiter.pause()
                status = _lstat(entry.name, directory)
                if status is not None and stat.S_ISREG(status.st_mode):
                    blocks += status.st_blocks
                    inodes += 1
    except OSError as error:
        raise NodeError(f"disk usage: {os.strerror(error.errno or 0)}") from error
    limiter.spent(inodes)
    return DiskUsage(blocks * BLOCK, inodes)


def measure_file(directory: int, name: str) -> DiskUsage | None:
    """Measure one regular file in an open directory; `None` if there is no regular file of that name."""
    try:
        status = _lstat(name, directory)
    except OSError as error:
        raise NodeError(f"disk usage of {name}: {os.strerror(error.errno or 0)}") from error
    if status is None or not stat.S_ISREG(status.st_mode):
        return None
    return DiskUsage(status.st_blocks * BLOCK, 1)


def _lstat(name: str, directory: int) -> os.stat_result | None:
    try:
        return os.lstat(name, dir_fd=directory)
    except FileNotFoundError:
        return None


class _FullError(Exception):
    """The walk has reached a bound of its memory."""


class _Walk:
    """One walk: depth first, each directory read to its end before the first of its children is entered.

    The path from the top to the current directory is stored in flat arrays, because a pod can make it arbitrarily long: one
    Python object per level took 250 bytes, so that 600,000 levels used up the memory limit (issue 14). Since the walk is depth
    first, the names still to be visited form a stack, with those of the current directory on top.

    Moving back up is the difficult part, because only `_OPEN_LEVELS` ancestors are open and the pod may rename directories
    meanwhile. `..` is accepted only if it has the device and inode of the level above (`_is_level`). Otherwise the walk goes
    down again from the top by the names of the path, and drops the levels that it does not find under their names: they were
    moved away, and count as deleted.
    """

    def __init__(self, top: os.stat_result, limiter: RateLimiter) -> None:
        self.blocks = top.st_blocks
        self.inodes = 1
        self._top = top
        self._limiter = limiter
        self._names = bytearray()
        """The name of each level, each after a slash."""
        self._inodes = array("Q")
        """The inode of each level."""
        self._starts = array("Q")
        """The offset in `_pending` at which the subdirectories of each level begin."""
        self._pending = bytearray()
        """Names of subdirectories not visited yet, each after a NUL."""
        self._open: dict[int, int] = {}
        """Descriptors by level: the top, and at most `_OPEN_LEVELS` levels above the current one."""
        self._above = InodeSet()
        self._linked = InodeSet()

    @property
    def counted(self) -> DiskUsage:
        """The usage counted so far."""
        return DiskUsage(self.blocks * BLOCK, self.inodes)

    @property
    def _depth(self) -> int:
        return len(self._inodes) - 1

    def run(self, directory: int) -> None:
        self._enter(b".", os.open(".", OPEN_DIRECTORY, dir_fd=directory), self._top.st_ino)
        while self._inodes:
            if len(self._pending) > self._starts[-1]:
                self._descend()
            else:
                self._leave()

    def close(self) -> None:
        for fd in self._open.values():
            os.close(fd)

    def _descend(self) -> None:
        start = self._pending.rindex(0)
        name = bytes(self._pending[start + 1 :])
        del self._pending[start:]
        fd = _open_below(self._open[self._depth], name)
        if fd is None:
            return
        status = os.fstat(fd)
        # Mounted over since its name was read, or a bind mount of an ancestor, which would make the walk endless.
        if status.st_dev != self._top.st_dev or status.st_ino in self._above:
            os.close(fd)
            return
        self._enter(name, fd, status.st_ino)

    def _enter(self, name: bytes, fd: int, inode: int) -> None:
        self._names += b"/" + name
        self._inodes.append(inode)
        self._starts.append(len(self._pending))
        self._open[self._depth] = fd
        self._bounded(self._above.add, inode)
        # Level 0 stays open: `_reopen_from_top` starts there.
        far = self._open.pop(self._depth - _OPEN_LEVELS, None) if self._depth > _OPEN_LEVELS else None
        if far is not None:  # it is closed already if the walk came back up through `..`
            os.close(far)
        self._scan(fd)

    def _leave(self) -> None:
        fd = self._open.pop(self._depth)
        self._above.discard(self._inodes.pop())
        self._starts.pop()
        del self._names[self._names.rindex(b"/") :]
        try:
            if self._inodes and self._depth not in self._open:
                self._reopen_parent(fd)
        finally:
            os.close(fd)

    def _reopen_parent(self, child: int) -> None:
        """Open the parent again: through `..`, or from the top by names if the child was moved elsewhere."""
        fd = _open_below(child, b"..")
        if self._is_level(fd, self._inodes[-1]):
            self._open[self._depth] = fd
        else:
            self._reopen_from_top()

    def _reopen_from_top(self) -> None:
        """Open the levels again from the top by their names; drop those that are not found, which were moved away."""
        reached, fd, end = 0, os.dup(self._open[0]), self._end_of_name(0)
        while reached < self._depth:
            below_end = self._end_of_name(end)
            below = _open_below(fd, bytes(self._names[end + 1 : below_end]))
            if not self._is_level(below, self._inodes[reached + 1]):
                break
            os.close(fd)
            reached, fd, end = reached + 1, below, below_end
        self._drop_levels(reached, end)
        if reached:
            self._open[reached] = fd
        else:
            os.close(fd)

    def _end_of_name(self, start: int) -> int:
        """Return the offset at which the name after the slash at `start` ends."""
        end = self._names.find(b"/", start + 1)
        return len(self._names) if end < 0 else end

    def _drop_levels(self, reached: int, end: int) -> None:
        """Remove the levels below `reached`, none of which is open; `end` is where the name of `reached` ends."""
        for lost in self._inodes[reached + 1 :]:
            self._above.discard(lost)
        if reached < self._depth:
            del self._pending[self._starts[reached + 1] :]
        del self._inodes[reached + 1 :], self._starts[reached + 1 :], self._names[end:]

    def _is_level(self, fd: int | None, inode: int) -> TypeGuard[int]:
        """Whether a descriptor is the directory of a level, by device and inode; it is closed if not."""
        if fd is None:
            return False
        status = os.fstat(fd)
        if (status.st_dev, status.st_ino) == (self._top.st_dev, inode):
            return True
        os.close(fd)
        return False

    def _scan(self, directory: int) -> None:
        """Count every entry of one directory, and push its subdirectories."""
        with os.scandir(directory) as entries:
            while seen := self._count(directory, islice(entries, _SLICE)):
                self._limiter.spent(seen)

    def _count(self, directory: int, entries: Iterable[os.DirEntry[str]]) -> int:
        """Count one slice of entries and return its length. This is the hot loop: one system call per entry."""
        if self._limiter.due:
            self._limiter.pause()
        lstat, device, linked = os.lstat, self._top.st_dev, self._linked
        seen = blocks = inodes = 0
        for seen, entry in enumerate(entries, start=1):  # noqa: B007 - the last value is returned
            try:
                status = lstat(entry.name, dir_fd=directory)
            except FileNotFoundError:
                continue
            if status.st_dev != device:
                continue
            if status.st_mode & _KIND == _DIRECTORY:
                self._push(entry.name)
            elif status.st_nlink > 1 and not self._bounded(linked.add, status.st_ino):
                continue
            blocks += status.st_blocks
            inodes += 1
        self.blocks += blocks
        self.inodes += inodes
        return seen

    def _push(self, name: str) -> None:
        self._pending += b"\0" + os.fsencode(name)
        if len(self._pending) + len(self._names) + _LEVEL_BYTES * len(self._inodes) > _MAX_BYTES:
            raise _FullError("too many directories at once")

    def _bounded(self, add: Callable[[int], bool], inode: int) -> bool:
        try:
            return add(inode)
        except NodeError as error:
            raise _FullError(str(error)) from error


def _open_below(directory: int, name: bytes) -> int | None:
    try:
        return os.open(name, OPEN_DIRECTORY, dir_fd=directory)
    except OSError as error:
        if error.errno in _GONE:
            return None
        raise
