"""Reads small kernel files through descriptors that stay open between cycles.

A `pread` on an open descriptor of a cgroup's file costs half of open, read and close, and a node with hundreds of pods has
thousands of them. A descriptor of a removed cgroup returns ENODEV, even if a new cgroup has the same path, so a cached
descriptor never returns another cgroup's numbers. The number of descriptors is bounded; one that no cycle reads is closed.
"""

import errno
import os
import resource

from evictd.errors import NodeError

_SIZE = 1 << 16
"""Bytes per read, more than any memory.stat: one `pread` reads the whole file, so that its lines are of one moment."""
_GONE = {errno.ENOENT, errno.ENODEV, errno.ENOTDIR}


class VanishedError(NodeError):
    """The file, or the cgroup or process behind it, does not exist (any more)."""


class FileDescriptorCache:
    """Caches at most `limit` open descriptors by path. Not thread-safe.

    A descriptor is in `_used` if this cycle has read it, and in `_unused` if only the cycle before has.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._limit = default_limit() if limit is None else limit
        self._used: dict[str, int] = {}
        self._unused: dict[str, int] = {}

    def read(self, path: str) -> bytes:
        """Return the file's content; raises `NodeError`, and `VanishedError` if it does not exist."""
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

    def end_cycle(self) -> None:
        """Close the descriptors that were not read since the last call."""
        for fd in self._unused.values():
            os.close(fd)
        self._used, self._unused = {}, self._used

    def close(self) -> None:
        """Close all descriptors."""
        self.end_cycle()
        self.end_cycle()

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
    """Return half of the process's soft limit of descriptors (RLIMIT_NOFILE)."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2


def unreadable(path: str, error: OSError) -> NodeError:
    """Map an `OSError` about a path to `VanishedError` (ENOENT, ENODEV, ENOTDIR) or `NodeError`."""
    kind = VanishedError if error.errno in _GONE else NodeError
    return kind(f"{path}: {os.strerror(error.errno or 0)}")


def child_names(directory: str) -> tuple[str, ...]:
    """Return the names of the directories in a directory, sorted; empty if it cannot be listed."""
    try:
        with os.scandir(directory) as entries:
            return tuple(sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False)))
    except OSError:
        return ()


_MAX_BYTES = 1 << 20
"""10,000 lines of a `mountinfo` or `maps`."""


def read_whole_lines(path: str) -> bytes:
    """Return the whole lines among the first `_MAX_BYTES` bytes of a file whose length a pod can choose; raises `OSError`."""
    with open(path, "rb") as file:  # noqa: PTH123 - in the hot loop
        found = file.read(_MAX_BYTES)
    return found if len(found) < _MAX_BYTES else found[: found.rfind(b"\n") + 1]
