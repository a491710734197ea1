"""Notifies the service manager of state changes (sd_notify(3)).

Sends datagrams to `$NOTIFY_SOCKET`, and nothing if that is not set. Reads no clock: the caller gives the time of RELOADING
and knows when the watchdog is due.
"""

import os
import socket
from collections.abc import Mapping
from typing import Self

_MICROSECOND = 1_000


class SdNotifier:
    """The notification socket of the service manager, if there is one. A manager that cannot be reached is not an error."""

    def __init__(self, address: str = "", watchdog_interval: int | None = None) -> None:
        self.watchdog_interval = watchdog_interval
        """Nanoseconds within which the manager expects a notification; `None` without a watchdog."""
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
        """Notify that the service is up, or that a reload is over."""
        self._send("READY=1", *_status(status))

    def reloading(self, monotonic: int) -> None:
        """Notify that a reload begins; `Type=notify-reload` requires CLOCK_MONOTONIC with it (`monotonic` in nanoseconds)."""
        self._send("RELOADING=1", f"MONOTONIC_USEC={monotonic // _MICROSECOND}")

    def stopping(self) -> None:
        """Notify that the service stops."""
        self._send("STOPPING=1")

    def alive(self, status: str = "") -> None:
        """Notify the watchdog."""
        self._send("WATCHDOG=1", *_status(status))

    def status(self, status: str) -> None:
        """Replace the line that `systemctl status` shows."""
        self._send(*_status(status))

    def close(self) -> None:
        """Close the socket."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, *lines: str) -> None:
        if self._socket is None or not lines:
            return
        try:
            self._socket.sendto("\n".join(lines).encode(), self._address)
        except OSError:
            # The manager is gone or busy; the daemon does not depend on it.
            return


def _status(status: str) -> tuple[str, ...]:
    # A line break would begin another assignment of the message.
    line = " ".join(status.split())
    return (f"STATUS={line}",) if line else ()
