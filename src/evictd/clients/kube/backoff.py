"""Computes the delays between retries: doubling, with jitter so that thousands of nodes do not retry at the same time.

The source of randomness is a parameter: `random() -> [0, 1)`.
"""

from collections.abc import Callable

from evictd.core.units.duration import MILLISECOND, SECOND


class RetryBackoff:
    """Returns delays in nanoseconds, between 0.5 and 1.5 times a step that doubles from `first` to `last`."""

    def __init__(self, random: Callable[[], float], *, first: int = 500 * MILLISECOND, last: int = 30 * SECOND) -> None:
        self._random = random
        self._first = first
        self._last = last
        self._step = 0

    def next(self, retry_after_seconds: int | None = None) -> int:
        """Return the next delay, at least the server's Retry-After plus up to a second of jitter."""
        base = min(self._first << min(self._step, 30), self._last)
        self._step += 1
        delay = int(base * (0.5 + self._random()))
        if retry_after_seconds is None:
            return delay
        return max(delay, retry_after_seconds * SECOND + int(SECOND * self._random()))

    def reset(self) -> None:
        """Return to the first step, after a success."""
        self._step = 0
