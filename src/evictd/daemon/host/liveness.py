"""Shows that the loop runs: to the service manager's watchdog and to `/healthz`.

The daemon is ready after its first cycle, whatever that cycle could read. It does not wait for a runtime that does not answer:
the runtime may need evictd to free space first, and the manager would end a start that takes forever. The status line names what
is missing.
"""

from evictd.clock import boot_clock, monotonic_clock
from evictd.daemon.host.sd_notify import SdNotifier
from evictd.daemon.telemetry.snapshot import LatestSnapshot

SIGNS_OF_LIFE = 4
"""Number of notifications within the manager's watchdog interval."""


class Liveness:
    """Notifies the service manager, and keeps the time of the last sign of life in the snapshot."""

    def __init__(self, notifier: SdNotifier, board: LatestSnapshot) -> None:
        self._notifier = notifier
        self._board = board
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
        now = self._board.alive_at = boot_clock()
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
