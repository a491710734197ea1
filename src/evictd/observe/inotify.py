"""Tell me when a kernel file such as `memory.events` changes (inotify(7); the standard library has no binding).

The only file that calls the C library. An event means 'look now' and carries nothing that anybody reads.
"""

import contextlib
import ctypes
import os
import select
from pathlib import Path
from typing import Self

from evictd.errors import NodeError

_IN_MODIFY = 0x2
_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC  # IN_NONBLOCK and IN_CLOEXEC are the same numbers by definition


class FileWatch:
    """Modifications of one file, as a descriptor to poll."""

    name = "memory.events"
    events = select.POLLIN

    def __init__(self, path: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._fd: int = libc.inotify_init1(_FLAGS)
        if self._fd < 0:
            raise NodeError(f"inotify: {os.strerror(ctypes.get_errno())}")
        if libc.inotify_add_watch(self._fd, os.fsencode(path), ctypes.c_uint32(_IN_MODIFY)) < 0:
            problem = os.strerror(ctypes.get_errno())
            self.close()
            raise NodeError(f"{path}: cannot be watched: {problem}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fileno(self) -> int:
        """What to poll for POLLIN."""
        return self._fd

    def drain(self) -> None:
        """Take whatever events have gathered."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self._fd, 4096):
                pass

    def close(self) -> None:
        """Give the watch up."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1
