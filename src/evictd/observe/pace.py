"""How does a walk over millions of files stay out of everybody's way?

It stands aside while an observation is taken, since both want the interpreter, and it keeps to a budget of directory entries
per second. Only `Pace.due` is looked at every few dozen entries, so being polite costs the walk next to nothing.
"""

from collections.abc import Callable
from threading import Event
from types import TracebackType

from evictd.core.duration import SECOND

_LONGEST_STAND = 1.0
"""Seconds after which a walk goes on although the observation it made room for has not ended: one that hangs stops nobody."""


_LEAST_SLEEP = 5 * 10**6
"""Nanoseconds; a smaller debt is carried on, so that a walk does not wake up a thousand times a second."""


class Pace:
    """Walk as fast as you can, unless someone asks for room: `with pace: ...` is the time for which walks stand aside."""

    __slots__ = ("_clear", "due", "entries")

    def __init__(self) -> None:
        self.entries = 0
        """How many entries were looked at in all: as long as it grows, nothing hangs."""
        self.due = False
        """Whether the walk has to call `pause` before its next entry."""
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
        """Stand aside until there is room again."""
        self._clear.wait(_LONGEST_STAND)

    def spent(self, entries: int) -> None:
        """Account for entries that were looked at."""
        self.entries += entries


class BudgetedPace(Pace):
    """A pace of at most so many entries per second, on average over any stretch longer than a slice."""

    __slots__ = ("_clock", "_rate", "_slice_began", "_slice_entries", "_stopped")

    def __init__(self, *, entries_per_second: int, clock: Callable[[], int], stopped: Event) -> None:
        super().__init__()
        self._rate = entries_per_second
        self._clock = clock
        self._stopped = stopped
        self._slice_entries = 0
        self._slice_began = clock()

    def spent(self, entries: int) -> None:
        """Sleep off what was looked at too soon; wakes at once when the walk is to stop."""
        self.entries += entries
        self._slice_entries += entries
        earned = self._slice_entries * SECOND // self._rate
        elapsed = self._clock() - self._slice_began
        if earned - elapsed >= _LEAST_SLEEP:
            self._stopped.wait((earned - elapsed) / SECOND)
        if elapsed > SECOND:
            # Time in which nothing was walked is not saved up for a burst.
            self._slice_entries, self._slice_began = 0, self._clock()
