"""Pauses and slows down walks over directory trees.

A walk pauses while an observation is taken, because both need the interpreter lock, and it keeps to a budget of directory
entries per second. The walk checks one attribute, `RateLimiter.due`, every few dozen entries, so the check costs little.
"""

from collections.abc import Callable
from threading import Event
from types import TracebackType

from evictd.core.units.duration import SECOND

_MAX_PAUSE = 1.0
"""Seconds after which a walk continues although the observation has not ended: a hanging observation must not stop it."""

_MIN_SLEEP = 5 * 10**6
"""Nanoseconds. A shorter delay is carried over, so that a walk does not wake up a thousand times a second."""


class RateLimiter:
    """Pauses walks for the duration of a `with limiter:` block, and otherwise does not slow them down."""

    __slots__ = ("_clear", "due", "entries")

    def __init__(self) -> None:
        self.entries = 0
        """The number of entries walked so far; while it grows, the walk does not hang."""
        self.due = False
        """Whether the walk must call `pause` before its next entry."""
        self._clear = Event()
        self._clear.set()

    def __enter__(self) -> None:
        self._clear.clear()
        self.due = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.due = False
        self._clear.set()

    def pause(self) -> None:
        """Block until the `with` block has ended, at most `_MAX_PAUSE` seconds."""
        self._clear.wait(_MAX_PAUSE)

    def spent(self, entries: int) -> None:
        """Count entries that were walked."""
        self.entries += entries


class BudgetedRateLimiter(RateLimiter):
    """Limits walks to `entries_per_second` as well, averaged over one second; `stopped` ends a sleep at once."""

    __slots__ = ("_clock", "_rate", "_slice_entries", "_slice_start", "_stopped")

    def __init__(self, *, entries_per_second: int, clock: Callable[[], int], stopped: Event) -> None:
        super().__init__()
        self._rate = entries_per_second
        self._clock = clock
        self._stopped = stopped
        self._slice_entries = 0
        self._slice_start = clock()

    def spent(self, entries: int) -> None:
        """Count entries, and sleep for as long as the walk is ahead of its budget."""
        self.entries += entries
        self._slice_entries += entries
        budgeted = self._slice_entries * SECOND // self._rate
        elapsed = self._clock() - self._slice_start
        if budgeted - elapsed >= _MIN_SLEEP:
            self._stopped.wait((budgeted - elapsed) / SECOND)
        if elapsed > SECOND:
            # A new slice, so that unused budget is not saved up for a burst.
            self._slice_entries, self._slice_start = 0, self._clock()
