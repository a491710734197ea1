"""Determines when a disk is read again between two cycles: when it could be short at a given rate, within bounds.

The daemon's watch of disks (`observe.threshold_watch.disk_watch`) and that of a world (`world.watch`) obey it.
"""

from collections.abc import Mapping

from evictd.core.model.signal import Resource
from evictd.core.units.duration import MILLISECOND, SECOND

SHORTEST = 100 * MILLISECOND
"""Nanoseconds; the least time between two readings."""
LEAST_RATE: Mapping[Resource, int] = {Resource.EPHEMERAL_STORAGE: 1 << 30, Resource.INODES: 100_000}
"""The least rate that is assumed, in units per second: more than most disks take, and the inodes that two cores create. The first
fill of a disk that was calm is noticed late if it is faster."""


def until_next_reading(distance: int, rate: int, longest: int) -> int:
    """Return the nanoseconds until the next reading; `distance` is what is left to the limit, in the units of the rate."""
    return max(SHORTEST, min(longest, max(distance, 0) * SECOND // rate))
