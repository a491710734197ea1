"""Tell me when a cgroup v1 uses more memory than this (kubelet `threshold_notifier_linux.go`, spec section 10).

An eventfd, registered through `cgroup.event_control` at a level of `memory.usage_in_bytes`. The kernel fires it on
both directions of crossing, so an event only means 'look now'. A registration costs an RCU grace period (5 to 30 ms),
hence levels are moved rarely: only when they moved by more than a tolerance.
"""

import os
import select
from pathlib import Path
from typing import Self

from evictd.errors import NodeError


class MemcgNotifier:
    """One armed level of one memory cgroup; `aim` moves it."""

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
            raise NodeError(f"{directory}: memory notifications are not to be had: {error.strerror}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def level(self) -> int | None:
        """The usage in bytes that is armed, `None` before the first `aim`."""
        return self._level

    def fileno(self) -> int:
        """The eventfd; it changes when the level moves."""
        return self._event

    def aim(self, level: int, *, tolerance: int = 0) -> bool:
        """Arm this usage in bytes unless the armed one is close enough; whether it moved."""
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
        # The old level goes after the new one is in place, so that no crossing falls between them.
        os.close(self._event)
        self._event, self._level = fresh, level
        return True

    def drain(self) -> None:
        """Take the event, so that the next poll waits for the next one."""
        try:
            os.eventfd_read(self._event)
        except BlockingIOError:
            return

    def close(self) -> None:
        """Give the descriptors back; the kernel forgets the level with the eventfd."""
        for fd in (self._event, self._control, self._usage):
            if fd >= 0:
                os.close(fd)
        self._event = self._control = self._usage = -1


def _eventfd() -> int:
    return os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
