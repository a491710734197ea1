"""Replaces the content of a file whose blocks are reserved.

Two files take turns, the file and a spare, both with reserved blocks: a filesystem that is full, which is when the content
matters most, cannot refuse the next write. A reader sees the old content or the new, which trailing spaces fill to the length.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from evictd.daemon.store.own_file import open_own


class ReservedFile:
    """A file of a multiple of `reserved` bytes. A write that is not possible raises OSError and leaves the old content."""

    def __init__(self, path: Path, reserved: int) -> None:
        self.path = path
        self._reserved = reserved
        self._spare = path.with_name(f".{path.name}.spare")
        self._old = path.with_name(f".{path.name}.old")

    def write(self, content: bytes) -> None:
        """Replace the content. It goes into the spare file, and the two exchange their names: the old file is the next spare."""
        self._recover()
        fd = _open_own(self._spare)
        try:
            overwrite(fd, content, self._reserved)
        finally:
            os.close(fd)
        self._exchange()

    def reserve(self) -> None:
        """Reserve the blocks of all later writes; raises OSError if there are none.

        Without the file yet, the file that becomes the second spare is reserved as well.
        """
        self._recover()
        for path in (self._spare,) if self.path.exists() else (self._spare, self._old):
            fd = _open_own(path)
            try:
                os.posix_fallocate(fd, 0, self._reserved)
            finally:
                os.close(fd)

    def _exchange(self) -> None:
        """Make the spare file the file and the old file the spare; a reader always finds one of the two."""
        if self.path.exists():
            self._old.unlink(missing_ok=True)
            self._old.hardlink_to(self.path)
        self._spare.rename(self.path)
        with contextlib.suppress(FileNotFoundError):
            self._old.rename(self._spare)

    def _recover(self) -> None:
        """Finish an exchange that a crash interrupted, and remove a spare that is a link or no plain file."""
        if self._old.exists() and not self._spare.exists():
            self._old.rename(self._spare)
        with contextlib.suppress(FileNotFoundError):
            found = self._spare.lstat()
            if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
                self._spare.unlink()


def _open_own(path: Path) -> int:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # it may have been removed meanwhile
    return open_own(path, os.O_RDWR | os.O_CREAT)


def overwrite(fd: int, content: bytes, at_least: int) -> None:
    """Write a file from its start, filled with spaces up to a multiple of `at_least` bytes, or to its length if that is more.

    The file never shrinks, so no other file can take its blocks between two writes. Raises OSError.
    """
    length = max(at_least, os.fstat(fd).st_size, -(-len(content) // at_least) * at_least)
    os.posix_fallocate(fd, 0, length)
    left = memoryview(content.ljust(length))
    done = 0
    while done < length:
        done += os.pwrite(fd, left[done:], done)


SIZE = 1 << 20
AT_LEAST = 8
"""The file is made again when this many times its size, and this many inodes, are free, so that it is not given up at once."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class EmergencyFile:
    """A file that is given up when the disk has no byte or no inode left for the daemon's own records.

    The blocks of the journal's next records, of the state file and of `conditions.json` are reserved in these files themselves,
    so that no other process can take them. A new journal file, and an exchange of names on a filesystem that counts links as
    inodes (tmpfs), need more than that: then the blocks and the inode of this file are free for a moment. They are given up as
    well once a victim was killed on a disk of 0 bytes: a runtime that can write nothing removes no container.

    Used by one thread only.
    """

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
