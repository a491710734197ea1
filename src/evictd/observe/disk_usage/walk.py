"""Measures the bytes and inodes that a directory tree takes on its filesystem.

Allocated blocks and inodes are counted as GNU `du -x` does: a file with several links once, nothing on another device (cAdvisor
`fs.GetDirUsage`). A hostile pod may change the tree during the walk. Therefore:

* every step opens a name below an open directory with O_NOFOLLOW, so no symlink is ever followed;
* no file is ever opened, only `lstat`ed, so no FIFO or device can block the walk;
* the number of open descriptors and the memory are bounded whatever the tree (`tree_walk`).
"""

import os
import stat
from collections.abc import Generator
from itertools import islice

from evictd.core.model.stats import DiskUsage
from evictd.errors import NodeError
from evictd.observe.disk_usage.rate_limiter import RateLimiter
from evictd.observe.disk_usage.tree_walk import BLOCK, SLICE, TreeWalk, as_node_errors


class TooLargeError(NodeError):
    """The tree cannot be counted to its end in bounded memory."""

    def __init__(self, counted: DiskUsage) -> None:
        super().__init__(
            "disk usage: too large to be counted to its end in bounded memory: "
            f"at least {counted.used_bytes} bytes and {counted.inodes_used} inodes"
        )
        self.counted = counted
        """A lower bound of the tree's usage."""


def measure(directory: int, limiter: RateLimiter | None = None) -> DiskUsage:
    """Measure the tree at an open directory, the directory included.

    Raises `NodeError` if any part of it cannot be read, and `TooLargeError` if a part of it was not counted.
    """
    walk = TreeWalk(directory, limiter or RateLimiter())
    for _ in walk.steps():
        pass
    if not walk.complete:
        raise TooLargeError(walk.counted)
    return walk.counted


class FilesWalk:
    """Counts the regular files directly in an open directory; subdirectories and the directory itself do not count."""

    complete = True

    def __init__(self, directory: int, limiter: RateLimiter) -> None:
        self._directory = directory
        self._limiter = limiter
        self._blocks = self._inodes = 0

    @property
    def counted(self) -> DiskUsage:
        """The usage counted so far."""
        return DiskUsage(self._blocks * BLOCK, self._inodes)

    def steps(self) -> Generator[None, None, None]:
        """Count; yields every few dozen entries. Raises `NodeError` for what cannot be read."""
        with as_node_errors(), os.scandir(self._directory) as entries:
            while names := [entry.name for entry in islice(entries, SLICE)]:
                if self._limiter.due:
                    self._limiter.pause()
                for name in names:
                    status = _lstat(name, self._directory)
                    if status is not None and stat.S_ISREG(status.st_mode):
                        self._blocks += status.st_blocks
                        self._inodes += 1
                self._limiter.spent(len(names))
                yield


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
