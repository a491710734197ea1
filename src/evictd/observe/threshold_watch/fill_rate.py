"""Computes when memory must be read again, so that a threshold is noticed soon after it is crossed.

The delay is the distance to the nearest threshold divided by the fastest fill rate that this node has shown, at least 50 ms and
at most the housekeeping interval: a calm node is read rarely, a node near its threshold often. Against a fill faster than any
before, memory is also read once a second where `CONCEIVABLE_RATE` could cross sooner; that reading shows the new rate. The
kubelet has no such rule; it reads every 10 s.
"""

from evictd.core.frozen import frozen
from evictd.core.units.duration import MILLISECOND, SECOND

SHORTEST = 50 * MILLISECOND
"""Nanoseconds; the least time between two cheap readings, and between two that notifications ask for."""

LEAST_RATE = 256 << 20
"""The least rate that is assumed, in bytes per second: that of an ordinary process that fills memory."""

CONCEIVABLE_RATE = 4 << 30
"""Bytes per second; what one core can touch for the first time."""

UNSEEN_INTERVAL = 1 * SECOND
"""Nanoseconds; the greatest time between two readings where a fill at the conceivable rate could cross sooner."""

ASSUMED_PIDS_RATE = 20_000
"""PIDs per second assumed before any was taken: what one core can fork."""


def next_reading(distance: int, fastest_rate: int, *, longest: int) -> int:
    """Return the nanoseconds until memory must be read again, in [SHORTEST, longest].

    `distance` is in bytes to the nearest threshold, `fastest_rate` in bytes per second, at least 1.
    """
    unseen = max(UNSEEN_INTERVAL, distance * SECOND // CONCEIVABLE_RATE)
    return max(SHORTEST, min(longest, unseen, distance * SECOND // fastest_rate))


@frozen
class FillRate:
    """The fastest fill seen so far in bytes per second, and the last reading: available bytes at a time in nanoseconds."""

    fastest: int = LEAST_RATE
    available: int | None = None
    at: int = 0

    def updated(self, available: int, at: int) -> "FillRate":
        """Return the rate after another reading. It never decreases: a fill that happened once can happen again."""
        fastest = self.fastest
        if self.available is not None and at - self.at >= MILLISECOND:
            fastest = max(fastest, (self.available - available) * SECOND // (at - self.at))
        return FillRate(fastest=fastest, available=available, at=at)
