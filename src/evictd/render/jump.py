"""Finds the readings that a rate is taken from: those since the last jump, as when a reclaim or the end of a pod freed bytes.

A rate over a jump is the mean of two things: after a reclaim a disk that fills on seemed to rise.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

_P = TypeVar("_P", bound=tuple[float, int])

_LARGER = 2
"""By how many times a jump is larger than each other change between two readings."""
_STEEPER = 5
"""By how many times a jump is steeper than each fall, where it is higher but not by so much."""
_LEAST_PART = 100
"""A jump is at least this part of what is available: a few KiB on a disk that stands still are none."""


def since_jump(points: Sequence[_P]) -> Sequence[_P]:
    """Return the readings from the end of the last rise that stands out on, and all of them where none does.

    `points` are times and available amounts, oldest first. A rise may take several readings: containers go before images.
    """
    changes = [later[1] - earlier[1] for earlier, later in pairwise(points)]
    rises, begin = [], 0
    for index, change in enumerate([*changes, 0]):
        if change <= 0:
            rises.append((begin, index))
            begin = index + 1
    found = [last for first, last in rises if _is_jump(points, changes, first, last)]
    return points[found[-1] :] if found else points


def _is_jump(points: Sequence[_P], changes: Sequence[int], first: int, last: int) -> bool:
    """Whether the rise from the first to the last of these readings is larger than each other change, or steeper than each fall.

    A rise that goes on is no jump.
    """
    height = sum(changes[first:last])
    others = [abs(change) for change in (*changes[:first], *changes[last:])]
    if not others or not height * _LEAST_PART >= points[last][1] > 0:
        return False
    return height > max(others) * _LARGER or _is_steep(points, changes, first, last)


def _is_steep(points: Sequence[_P], changes: Sequence[int], first: int, last: int) -> bool:
    """Whether a rise is higher and much steeper than each fall, of which there is one: each of two evictions makes a rise.

    An eviction is followed by a reading within a second, a calm node is read each ten.
    """
    times = [max(abs(later[0] - earlier[0]), 0.1) for earlier, later in pairwise(points)]
    falls = [(-change, time) for change, time in zip(changes, times, strict=True) if change < 0]
    if not falls or sum(changes[first:last]) <= max(fall for fall, _ in falls):
        return False
    slope = min((changes[each] / times[each] for each in range(first, last)), default=0.0)
    return slope > max(fall / time for fall, time in falls) * _STEEPER
