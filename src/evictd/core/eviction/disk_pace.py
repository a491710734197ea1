"""Says when a disk is read again between two cycles: when it could be short at a given rate, within bounds.

The daemon's watch of disks (`observe.threshold_watch.disk_watch`) and that of a world (`world.watch`) obey it.
"""

from collections.abc import Mapping

from evictd.core.model.signal import Resource
from evictd.core.units.duration import MILLISECOND, SECOND

SHORTEST = 100 * MILLISECOND
"""Nanoseconds; the least time between two readings."""
LEAST_RATE: Mapping[Resource, int] = {Resource.EPHEMERAL_STORAGE: 200 << 20, Resource.INODES: 20_000}
"""The least rate that is assumed, in units per second: the bytes that an ordinary disk takes, the inodes that one core
creates."""


def until_next_reading(distance: int, rate: int, longest: int) -> int:
    """Return the nanoseconds until the next reading; `distance` is what is left to the limit, in the units of the rate."""
    return max(SHORTEST, min(longest, max(distance, 0) * SECOND // rate))
