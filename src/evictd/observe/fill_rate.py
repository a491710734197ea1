"""When must memory be read again, so that a threshold is not crossed unseen?

A pure rule: the time the fastest filler yet seen would need for the distance to the nearest threshold, kept between
50 ms and the housekeeping interval. Far away costs next to nothing, near by is close attention. The kubelet has
nothing like it: it looks every 10 s.
"""

from dataclasses import dataclass

from evictd.core.duration import MILLISECOND, SECOND

SHORTEST = 50 * MILLISECOND
"""No two cheap readings are closer than this, in nanoseconds."""

ASSUMED_RATE = 4 << 30
"""Bytes a second that a filler is trusted with before any was seen: what one busy core can touch for the first time."""


def next_reading(distance: int, fastest_rate: int, *, longest: int, shortest: int = SHORTEST) -> int:
    """Nanoseconds until memory should be read again.

    `distance` is in bytes to the nearest threshold, `fastest_rate` in bytes a second; the result lies in [shortest,
    longest].
    """
    if fastest_rate <= 0:
        return longest
    return max(shortest, min(longest, distance * SECOND // fastest_rate))


@dataclass(frozen=True, slots=True, kw_only=True)
class FillRate:
    """The fastest fill seen so far, and the reading the next one is compared with."""

    fastest: int = ASSUMED_RATE
    available: int | None = None
    at: int = 0

    def seen(self, available: int, at: int) -> "FillRate":
        """Take in a reading; the rate only ever rises, since what happened once can happen again."""
        fastest = self.fastest
        if self.available is not None and at - self.at >= MILLISECOND:
            fastest = max(fastest, (self.available - available) * SECOND // (at - self.at))
        return FillRate(fastest=fastest, available=available, at=at)
