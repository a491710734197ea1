"""Tell me when tasks stall for memory (PSI triggers, Documentation/accounting/psi.rst).

`some <stall us> <window us>` is written to a pressure file that stays open; poll then reports POLLPRI, at most once a
window. Works for /proc/pressure/memory and for the `memory.pressure` of a cgroup v2. The kubelet has no counterpart.
"""

import os
import select
from pathlib import Path
from typing import Self

from evictd.errors import NodeError

STALL_US = 50_000
WINDOW_US = 1_000_000
UNPRIVILEGED_WINDOW_US = 2_000_000
"""Without CAP_SYS_RESOURCE the kernel takes only multiples of two seconds."""


class PressureTrigger:
    """One trigger on one pressure file; with the shortest window that the kernel allows us."""

    name = "psi"
    events = select.POLLPRI

    def __init__(self, path: Path, *, stall_us: int = STALL_US) -> None:
        self.window_us = 0
        self._fd = -1
        problem = ""
        for window in (WINDOW_US, UNPRIVILEGED_WINDOW_US):
            try:
                # A refused trigger may leave its file unusable, so each try opens its own.
                self._fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
                os.write(self._fd, f"some {stall_us} {window}".encode() + b"\0")
            except OSError as error:
                problem = error.strerror or str(error)
                self.close()
            else:
                self.window_us = window
                return
        raise NodeError(f"{path}: no pressure trigger is to be had: {problem}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fileno(self) -> int:
        """What to poll for POLLPRI."""
        return self._fd

    def drain(self) -> None:
        """Nothing to take: the kernel clears the event as poll reports it."""

    def close(self) -> None:
        """Give the trigger up."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1
