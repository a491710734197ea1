"""Notifies when tasks stall for memory, through PSI triggers (Documentation/accounting/psi.rst).

`some <stall us> <window us>` is written to a pressure file that stays open; poll then reports POLLPRI, at most once per
window. This works for /proc/pressure/memory and for `memory.pressure` of a cgroup v2. The kubelet has no counterpart.
"""

import os
import select
from pathlib import Path

from evictd.errors import NodeError

STALL_US = 50_000
WINDOW_US = 1_000_000
UNPRIVILEGED_WINDOW_US = 2_000_000
"""Without CAP_SYS_RESOURCE the kernel accepts only multiples of two seconds."""


class PressureTrigger:
    """Implements `KernelNotifier` for one trigger on one pressure file, with the shortest window the kernel allows.

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
