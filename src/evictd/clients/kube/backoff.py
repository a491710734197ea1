"""How long to wait before asking again: doubling, with full jitter so that five thousand nodes do not come back together.

Randomness is handed in: `random() -> [0, 1)`.
"""

from collections.abc import Callable

from evictd.core.duration import MILLISECOND, SECOND


class Backoff:
    """Delays in nanoseconds, between half and one and a half times a doubling step."""

    def __init__(self, random: Callable[[], float], *, first: int = 500 * MILLISECOND, last: int = 30 * SECOND) -> None:
        self._random = random
        self._first = first
        self._last = last
        self._step = 0

    def next(self, retry_after_seconds: int | None = None) -> int:
        """Give the next delay; at least what the server asked for, if it asked."""
        base = min(self._first << min(self._step, 30), self._last)
        self._step += 1
        delay = int(base * (0.5 + self._random()))
        if retry_after_seconds is None:
            return delay
        return max(delay, retry_after_seconds * SECOND + int(SECOND * self._random()))

    def reset(self) -> None:
        """Start again from the first step: it worked."""
        self._step = 0
