"""Watches one kernel file such as `memory.events` for modifications.

Calls inotify(7) of the C library through ctypes, since the standard library has no binding. The content of an event is not
used: any event only makes the next reading of memory due.
"""

import contextlib
import ctypes
import os
import select
from pathlib import Path

from evictd.errors import NodeError

_IN_MODIFY = 0x2
_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC  # IN_NONBLOCK and IN_CLOEXEC are the same numbers by definition


class FileWatch:
    """Implements `KernelNotifier` for modifications of one file; raises `NodeError` if it cannot be watched."""

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

    def fileno(self) -> int:
        """The inotify descriptor, to poll for POLLIN."""
        return self._fd

    def drain(self) -> None:
        """Read and discard all queued events."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self._fd, 4096):
                pass

    def close(self) -> None:
        """Close the descriptor."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1
