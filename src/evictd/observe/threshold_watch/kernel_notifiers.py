"""Implements `KernelNotifier` for each of the kernel's notifications about memory. An event only makes the next reading due."""

import contextlib
import ctypes
import os
import select
from pathlib import Path

from evictd.errors import NodeError

_IN_MODIFY = 0x2
_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC  # IN_NONBLOCK and IN_CLOEXEC are the same numbers by definition


class FileWatch:
    """Notifies of modifications of one kernel file such as `memory.events`; raises `NodeError` if it cannot be watched.

    Calls inotify(7) of the C library through ctypes, since the standard library has no binding.
    """

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


STALL_US = 50_000
WINDOW_US = 1_000_000
UNPRIVILEGED_WINDOW_US = 2_000_000
"""Without CAP_SYS_RESOURCE the kernel accepts only multiples of two seconds."""


class PressureTrigger:
    """Notifies when tasks stall for memory, through a PSI trigger (Documentation/accounting/psi.rst).

    `some <stall us> <window us>` is written to a pressure file that stays open, with the shortest window that the kernel allows;
    poll then reports POLLPRI, at most once per window. This works for /proc/pressure/memory and for `memory.pressure` of a cgroup
    v2. The kubelet has no counterpart.
    Raises `NodeError` if the kernel refuses the trigger.
    """

    name = "psi"
    events = select.POLLPRI

    def __init__(self, path: Path, *, stall_us: int = STALL_US) -> None:
        self.window_us = 0
        self._fd = -1
        problem = ""
        for window in (WINDOW_US, UNPRIVILEGED_WINDOW_US):
            try:
                # A refused trigger may leave its open file unusable, so each attempt opens the file again.
                self._fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
                os.write(self._fd, f"some {stall_us} {window}".encode() + b"\0")
            except OSError as error:
                problem = error.strerror or str(error)
                self.close()
            else:
                self.window_us = window
                return
        raise NodeError(f"{path}: pressure triggers are unavailable: {problem}")

    def fileno(self) -> int:
        """The pressure file's descriptor, to poll for POLLPRI."""
        return self._fd

    def drain(self) -> None:
        """Do nothing: the kernel clears the event when poll reports it."""

    def close(self) -> None:
        """Close the file, which removes the trigger."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1


class MemcgNotifier:
    """Notifies when the memory usage of a cgroup v1 crosses a level (kubelet `threshold_notifier_linux.go`).

    An eventfd is registered through `cgroup.event_control` at a level of `memory.usage_in_bytes`, which `set_level` arms and
    moves. The kernel signals it on crossings in both directions. A registration costs an RCU grace period (5 to 30 ms), so the
    level is moved only when it is off by more than a tolerance.
    Raises `NodeError` if the cgroup's files cannot be opened.
    """

    name = "memcg"
    events = select.POLLIN

    def __init__(self, directory: Path) -> None:
        self._level: int | None = None
        self._control = self._usage = self._event = -1
        try:
            self._usage = os.open(directory / "memory.usage_in_bytes", os.O_RDONLY | os.O_CLOEXEC)
            self._control = os.open(directory / "cgroup.event_control", os.O_WRONLY | os.O_CLOEXEC)
            self._event = _eventfd()
        except OSError as error:
            self.close()
            raise NodeError(f"{directory}: memory notifications are unavailable: {error.strerror}") from error

    @property
    def level(self) -> int | None:
        """The armed usage in bytes; `None` before the first `set_level`."""
        return self._level

    def fileno(self) -> int:
        """The eventfd, to poll for POLLIN; another one after each change of the level."""
        return self._event

    def set_level(self, level: int, *, tolerance: int = 0) -> bool:
        """Arm a usage in bytes unless the armed one is within `tolerance`; returns whether it changed.

        Raises `NodeError` if the kernel refuses the level; the old one then stays armed.
        """
        if self._level is not None and abs(level - self._level) <= tolerance:
            return False
        fresh = -1
        try:
            fresh = _eventfd()
            os.write(self._control, f"{fresh} {self._usage} {max(level, 0)}".encode())
        except OSError as error:
            if fresh >= 0:
                os.close(fresh)
            raise NodeError(f"cgroup.event_control refused level {level}: {error.strerror}") from error
        # The old eventfd is closed after the new one is registered, so that no crossing is missed in between.
        os.close(self._event)
        self._event, self._level = fresh, level
        return True

    def drain(self) -> None:
        """Reset the eventfd, so that the next poll waits for the next event."""
        try:
            os.eventfd_read(self._event)
        except BlockingIOError:
            return

    def close(self) -> None:
        """Close the descriptors; the kernel removes the level with its eventfd."""
        for fd in (self._event, self._control, self._usage):
            if fd >= 0:
                os.close(fd)
        self._event = self._control = self._usage = -1


def _eventfd() -> int:
    return os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
