"""What does systemd want to hear (sd_notify(3))?

Datagrams to `$NOTIFY_SOCKET`, and nothing at all where that is not set. No clock here: the microseconds of RELOADING,
and when the watchdog is due, are the caller's.
"""

import os
import socket
from collections.abc import Mapping
from typing import Self

_MICROSECOND = 1_000


class Notifier:
    """The service manager's ear, or nobody's. A manager that cannot be reached is no reason to fail."""

    def __init__(self, address: str = "", watchdog_interval: int | None = None) -> None:
        self.watchdog_interval = watchdog_interval
        """Nanoseconds within which the manager wants a sign of life; `None` where it does not watch."""
        self._socket: socket.socket | None = None
        # "@name" is systemd's spelling of an abstract socket, whose first byte is zero.
        self._address = "\0" + address[1:] if address.startswith("@") else address
        if address:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], pid: int | None = None) -> Self:
        """Read `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID` as sd_watchdog_enabled(3) does."""
        address = environment.get("NOTIFY_SOCKET", "")
        meant = environment.get("WATCHDOG_PID", "")
        text = environment.get("WATCHDOG_USEC", "")
        ours = not meant or meant == str(os.getpid() if pid is None else pid)
        interval = int(text) * _MICROSECOND if text.isascii() and text.isdigit() and ours else None
        return cls(address if address[:1] in {"/", "@"} else "", interval or None)

    def ready(self, status: str = "") -> None:
        """Say that the service is up, or that a reload is over."""
        self._send("READY=1", *_status(status))

    def reloading(self, monotonic: int) -> None:
        """Say that a reload begins; `Type=notify-reload` wants CLOCK_MONOTONIC with it (nanoseconds here)."""
        self._send("RELOADING=1", f"MONOTONIC_USEC={monotonic // _MICROSECOND}")

    def stopping(self) -> None:
        """Say that the service is on its way down."""
        self._send("STOPPING=1")

    def alive(self, status: str = "") -> None:
        """Feed the watchdog."""
        self._send("WATCHDOG=1", *_status(status))

    def status(self, status: str) -> None:
        """Change the line that `systemctl status` shows."""
        self._send(*_status(status))

    def close(self) -> None:
        """Give the socket back."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, *lines: str) -> None:
        if self._socket is None or not lines:
            return
        try:
            self._socket.sendto("\n".join(lines).encode(), self._address)
        except OSError:
            # The manager itself is gone or busy; its own watchdog deals with that, and evicting goes on.
            return


def _status(status: str) -> tuple[str, ...]:
    # A line of its own would be another message to the manager.
    line = " ".join(status.split())
    return (f"STATUS={line}",) if line else ()
