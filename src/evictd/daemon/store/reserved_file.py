"""Replaces the content of a file whose blocks are reserved.

Two files take turns, the file and a spare, both with reserved blocks: a filesystem that is full, which is when the content
matters most, cannot refuse the next write. A reader sees the old content or the new, which trailing spaces fill to the length.
"""

import contextlib
import os
import stat
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
