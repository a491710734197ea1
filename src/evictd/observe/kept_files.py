"""How are thousands of small kernel files read in a few milliseconds?

Through descriptors that stay open: a `pread` on a cgroup's file costs half of opening, reading and closing it. A cgroup that
was removed answers ENODEV, also when another took its name meanwhile, so a kept descriptor never tells of the wrong cgroup.
The number of descriptors is bounded, and one that was not read for a whole cycle is closed.
"""

import errno
import os
import resource

from evictd.errors import NodeError

_SIZE = 1 << 16
"""More than any memory.stat; a file of the kernel is read whole or not at all."""
_GONE = {errno.ENOENT, errno.ENODEV, errno.ENOTDIR}


class VanishedError(NodeError):
    """What was to be read is not there, or not there any more."""


class KeptFiles:
    """Descriptors by path. Not for more than one thread."""

    def __init__(self, limit: int | None = None) -> None:
        self._limit = default_limit() if limit is None else limit
        self._used: dict[str, int] = {}
        self._unused: dict[str, int] = {}

    def read(self, path: str) -> bytes:
        """Give the file's text; raises `NodeError`, and `VanishedError` where there is none."""
        fd = self._used.get(path)
        if fd is None:
            fd = self._unused.pop(path, None)
            if fd is None:
                return self._read_first(path)
            self._used[path] = fd
        try:
            return os.pread(fd, _SIZE, 0)
        except OSError:
            os.close(self._used.pop(path))
            return self._read_first(path)

    def turn(self) -> None:
        """End a cycle: close what was not read in it."""
        for fd in self._unused.values():
            os.close(fd)
        self._used, self._unused = {}, self._used

    def close(self) -> None:
        """Close everything."""
        self.turn()
        self.turn()

    def __len__(self) -> int:
        return len(self._used) + len(self._unused)

    def _read_first(self, path: str) -> bytes:
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise unreadable(path, error) from error
        keep = False
        try:
            text = os.pread(fd, _SIZE, 0)
            keep = len(self) < self._limit
        except OSError as error:
            raise unreadable(path, error) from error
        finally:
            if keep:
                self._used[path] = fd
            else:
                os.close(fd)
        return text


def default_limit() -> int:
    """Give half of the descriptors that this process may have."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2


def unreadable(path: str, error: OSError) -> NodeError:
    """Say in our own words what the system said about a path."""
    kind = VanishedError if error.errno in _GONE else NodeError
    return kind(f"{path}: {os.strerror(error.errno or 0)}")
