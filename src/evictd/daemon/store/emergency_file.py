"""Keeps a file that is given up when the disk has no byte or no inode left for the daemon's own records.

The blocks of the journal's next records, of the state file and of `conditions.json` are reserved in these files themselves
(`journal`, `reserved_file`), so that no other process can take them. A new journal file, and an exchange of names on a filesystem
that counts links as inodes (tmpfs), need more than that: then the blocks and the inode of this file are free for a moment. They
are given up as well once a victim was killed on a disk of 0 bytes: a runtime that can write nothing removes no container.
"""

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from evictd.daemon.store.own_file import open_own

SIZE = 1 << 20
AT_LEAST = 8
"""The file is made again when this many times its size, and this many inodes, are free, so that it is not given up at once."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class EmergencyFile:
    """The file. Used by one thread only."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def make(self) -> None:
        """Make the file unless it is there, or its disk is nearly full; raises OSError where the disk refuses."""
        if self._path.exists() or not self._has_space():
            return
        fd = open_own(self._path, os.O_RDWR | os.O_CREAT)
        try:
            os.posix_fallocate(fd, 0, SIZE)
        except OSError:
            self._path.unlink(missing_ok=True)
            raise
        finally:
            os.close(fd)

    def write(self, job: Callable[[], None]) -> None:
        """Run a job that writes; on a full disk delete the file and run the job again. Raises the job's errors."""
        try:
            job()
        except OSError as error:
            if error.errno not in _FULL or not self._path.exists():
                raise
            self.give_up()
            job()
        else:
            with suppress(OSError):  # the next job tries again
                self.make()

    def give_up(self) -> None:
        """Remove the file."""
        with suppress(OSError):
            self._path.unlink()

    def _has_space(self) -> bool:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = os.statvfs(self._path.parent)
        inodes = found.f_favail >= AT_LEAST or found.f_files == 0
        return inodes and found.f_bavail * found.f_frsize >= AT_LEAST * SIZE
