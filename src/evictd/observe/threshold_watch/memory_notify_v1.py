"""Notifies when the memory usage of a cgroup v1 crosses a level (kubelet `threshold_notifier_linux.go`).

An eventfd is registered through `cgroup.event_control` at a level of `memory.usage_in_bytes`. The kernel signals it on crossings
in both directions, so an event only makes the next reading of memory due. A registration costs an RCU grace period (5 to
30 ms), so the level is moved only when it is off by more than a tolerance.
"""

import os
import select
from pathlib import Path

from evictd.errors import NodeError


class MemcgNotifier:
    """Implements `KernelNotifier` for one level of one memory cgroup, which `set_level` arms and moves.

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
