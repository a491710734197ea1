"""How much of its filesystem does a tree take?

Allocated blocks and inodes, as GNU `du -x` counts them: a file with several links once, nothing on another device (kubelet
`fs.GetDirUsage`, spec 3.7). The tree may be written by a pod that wishes us ill while we walk it, so every step goes from an
open directory to a name in it and never through a symlink; no file is ever opened; the number of open descriptors does not
grow with the depth; and what is held in memory is the names of directories still to be visited and a bit for each file with
several links.
"""

import errno
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeGuard

from evictd.core.stats import DiskUsage
from evictd.errors import NodeError
from evictd.observe.inode_set import InodeSet
from evictd.observe.pace import Pace

BLOCK = 512
"""The unit of `st_blocks`, whatever the filesystem's own block size."""

OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_SLICE = 64
"""Entries between two looks at the budget, and at whether someone wants room: 0.2 ms where the directory is in memory."""
_KIND, _DIRECTORY = 0o170000, stat.S_IFDIR
"""The bits of a mode that say what it is the mode of."""
_OPEN_LEVELS = 64
"""Directories above the current one that stay open; older ones are found again through `..`."""
_PENDING_BYTES = 64 << 20
"""Names of directories still to be visited; a tree that needs more is there to exhaust us, and is not measured."""
_GONE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ESTALE}
"""Deleted, or swapped for something else, since its name was read."""


def measure(directory: int, pace: Pace | None = None) -> DiskUsage:
    """Walk the tree below an open directory, itself included; raises `NodeError` if any part of it cannot be read."""
    try:
        walk = _Walk(os.fstat(directory), pace or Pace())
        try:
            walk.run(directory)
        finally:
            walk.close()
    except OSError as error:
        raise NodeError(f"disk usage: {os.strerror(error.errno or 0)}") from error
    return DiskUsage(walk.blocks * BLOCK, walk.inodes)


def measure_files(directory: int, pace: Pace | None = None) -> DiskUsage:
    """Add up the regular files directly in an open directory; what else is in it, and itself, does not count."""
    pace = pace or Pace()
    blocks = inodes = 0
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if pace.due:
                    pace.pause()
                status = _lstat(entry.name, directory)
                if status is not None and stat.S_ISREG(status.st_mode):
                    blocks += status.st_blocks
                    inodes += 1
    except OSError as error:
        raise NodeError(f"disk usage: {os.strerror(error.errno or 0)}") from error
    pace.spent(inodes)
    return DiskUsage(blocks * BLOCK, inodes)


def measure_file(directory: int, name: str) -> DiskUsage | None:
    """Measure one regular file in an open directory; `None` where there is none of that name."""
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


@dataclass(slots=True, kw_only=True)
class _Level:
    """A directory on the way from the top to where the walk is."""

    name: bytes
    inode: int
    fd: int
    """-1 while it is closed to save descriptors."""
    pending: bytearray = field(default_factory=bytearray)
    """Names of sub-directories not visited yet, a NUL before each: one byte more than the name, not an object apiece."""

    def take(self) -> bytes:
        start = self.pending.rindex(0)
        name = bytes(self.pending[start + 1 :])
        del self.pending[start:]
        return name


class _Walk:
    """One walk: depth first, each directory read to its end before the first of its children is entered."""

    def __init__(self, top: os.stat_result, pace: Pace) -> None:
        self.blocks = top.st_blocks
        self.inodes = 1
        self._top = top
        self._pace = pace
        self._levels: list[_Level] = []
        self._inodes_above: set[int] = set()
        self._linked = InodeSet()
        self._pending_bytes = 0

    def run(self, directory: int) -> None:
        self._enter(b".", os.open(".", OPEN_DIRECTORY, dir_fd=directory), self._top.st_ino)
        while self._levels:
            level = self._levels[-1]
            if level.pending:
                self._descend(level)
            else:
                self._leave()

    def close(self) -> None:
        for level in self._levels:
            if level.fd >= 0:
                os.close(level.fd)

    def _descend(self, level: _Level) -> None:
        name = level.take()
        self._pending_bytes -= len(name) + 1
        fd = _open_below(level.fd, name)
        if fd is None:
            return
        status = os.fstat(fd)
        # A mount made since the name was read, or a directory mounted below itself.
        if status.st_dev != self._top.st_dev or status.st_ino in self._inodes_above:
            os.close(fd)
            return
        self._enter(name, fd, status.st_ino)

    def _enter(self, name: bytes, fd: int, inode: int) -> None:
        level = _Level(name=name, inode=inode, fd=fd)
        self._levels.append(level)
        self._inodes_above.add(inode)
        if len(self._levels) > _OPEN_LEVELS + 1:
            # The top itself stays open: a way that is lost is found again from there.
            far = self._levels[-_OPEN_LEVELS - 1]
            os.close(far.fd)
            far.fd = -1
        self._scan(level)

    def _leave(self) -> None:
        level = self._levels.pop()
        self._inodes_above.discard(level.inode)
        try:
            if self._levels and self._levels[-1].fd < 0:
                self._regain(level.fd)
        finally:
            os.close(level.fd)

    def _regain(self, child: int) -> None:
        """Open the parent again: through `..`, or from the top by the names where the child was moved elsewhere."""
        parent = self._levels[-1]
        fd = _open_below(child, b"..")
        if self._is_level(fd, parent):
            parent.fd = fd
        else:
            self._from_the_top()

    def _from_the_top(self) -> None:
        """Go down again as far as the way still leads; what lies below was moved away, and counts as deleted."""
        reached, fd = 0, os.dup(self._levels[0].fd)
        for depth, level in enumerate(self._levels[1:], start=1):
            below = _open_below(fd, level.name)
            if not self._is_level(below, level):
                break
            os.close(fd)
            reached, fd = depth, below
        for lost in self._levels[reached + 1 :]:
            self._pending_bytes -= len(lost.pending)
            self._inodes_above.discard(lost.inode)
        del self._levels[reached + 1 :]
        if reached:
            self._levels[reached].fd = fd
        else:
            os.close(fd)

    def _is_level(self, fd: int | None, level: _Level) -> TypeGuard[int]:
        """Whether this is the directory that the level stands for; it is closed if not."""
        if fd is None:
            return False
        status = os.fstat(fd)
        if (status.st_dev, status.st_ino) == (self._top.st_dev, level.inode):
            return True
        os.close(fd)
        return False

    def _scan(self, level: _Level) -> None:
        """Count every entry of one directory, and note its sub-directories."""
        with os.scandir(level.fd) as entries:
            while seen := self._count(level, islice(entries, _SLICE)):
                self._pace.spent(seen)

    def _count(self, level: _Level, entries: Iterable[os.DirEntry[str]]) -> int:
        """Count some entries, and say how many there were. The hot loop: one system call per entry and hardly more."""
        if self._pace.due:
            self._pace.pause()
        lstat, directory, device, linked = os.lstat, level.fd, self._top.st_dev, self._linked
        seen = blocks = inodes = 0
        for seen, entry in enumerate(entries, start=1):  # noqa: B007 - how far it came is the answer
            try:
                status = lstat(entry.name, dir_fd=directory)
            except FileNotFoundError:
                continue
            if status.st_dev != device:
                continue
            if status.st_mode & _KIND == _DIRECTORY:
                self._note(level, entry.name)
            elif status.st_nlink > 1 and not linked.add(status.st_ino):
                continue
            blocks += status.st_blocks
            inodes += 1
        self.blocks += blocks
        self.inodes += inodes
        return seen

    def _note(self, level: _Level, name: str) -> None:
        encoded = os.fsencode(name)
        level.pending += b"\0" + encoded
        self._pending_bytes += len(encoded) + 1
        if self._pending_bytes > _PENDING_BYTES:
            raise NodeError("disk usage: too many directories at once")


def _open_below(directory: int, name: bytes) -> int | None:
    try:
        return os.open(name, OPEN_DIRECTORY, dir_fd=directory)
    except OSError as error:
        if error.errno in _GONE:
            return None
        raise
