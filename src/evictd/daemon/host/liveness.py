"""Shows that the loop runs: to the service manager's watchdog and to `/healthz`.

The daemon is ready after its first cycle, whatever that cycle could read. It does not wait for a runtime that does not answer:
the runtime may need evictd to free space first, and the manager would end a start that takes forever. The status line names what
is missing.
"""

import os
import socket
from collections.abc import Mapping
from typing import Self

from evictd.clock import boot_clock, monotonic_clock
from evictd.daemon.telemetry.snapshot import LatestSnapshot

_MICROSECOND = 1_000
SIGNS_OF_LIFE = 4
"""Number of notifications within the manager's watchdog interval."""


class SdNotifier:
    """The service manager's `$NOTIFY_SOCKET` (sd_notify(3)), if there is one. A manager that cannot be reached is not an error.

    Reads no clock: the caller gives the time of RELOADING and knows when the watchdog is due.
    """

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


class Liveness:
    """Notifies the service manager, and keeps the time of the last sign of life in the snapshot."""

    def __init__(self, notifier: SdNotifier, published: LatestSnapshot) -> None:
        self._notifier = notifier
        self._published = published
        self._status: str | None = None
        self._due = 0

    def show(self, status: str) -> None:
        """Replace the status line; the first call notifies that the daemon is ready."""
        if self._status is None:
            self._notifier.ready(status)
        elif status != self._status:
            self._notifier.status(status)
        self._status = status

    def sign_of_life(self) -> None:
        """Note that the loop runs; called also between the steps of an observation.

        A runtime that needs its whole timeout for each call makes one observation longer than the watchdog interval, and a
        restart would only begin it again.
        """
        now = self._published.alive_at = boot_clock()
        interval = self._notifier.watchdog_interval
        if interval is not None and now >= self._due:
            self._due = now + interval // SIGNS_OF_LIFE
            self._notifier.alive(self._status or "")

    def deadline(self, until: int) -> int:
        """Return `until`, or the earlier time at which the next sign of life is due."""
        return until if self._notifier.watchdog_interval is None else min(until, self._due)

    def reloading(self) -> None:
        """Notify that a reload begins."""
        self._notifier.reloading(monotonic_clock())

    def reloaded(self, status: str) -> None:
        """Notify that the reload is over."""
        self._notifier.ready(status)
        self._status = status

    def stopping(self) -> None:
        """Notify that the daemon stops."""
        self._notifier.stopping()
