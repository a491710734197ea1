"""Counts files directly in a directory, without the directories below it: the logs of a container, and single files.

No file is opened, so that no FIFO or device can block; a name that vanishes meanwhile does not count.
"""

import os
import stat
from collections.abc import Generator
from itertools import islice

from evictd.core.model.stats import DiskUsage
from evictd.errors import NodeError
from evictd.observe.disk_usage.rate_limiter import RateLimiter
from evictd.observe.disk_usage.tree_walk import BLOCK, SLICE, as_node_errors


class FilesWalk:
    """Counts the regular files directly in an open directory; subdirectories and the directory itself do not count."""

    fault = ""

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
