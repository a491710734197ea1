"""Finds the readings that a rate is taken from: those since the last jump, as when a reclaim or the end of a pod freed bytes.

A rate over a jump is the mean of two things: after a reclaim a disk that fills on seemed to rise.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

_P = TypeVar("_P", bound=tuple[float, int])

_LARGER = 2
"""By how many times a jump is larger than each other change between two readings."""
_STEEPER = 10
"""By how many times a jump is steeper than each other change, where it is larger but not by so much."""
_LEAST_PART = 100
"""A jump is at least this part of what is available: a few KiB on a disk that stands still are none."""


def since_jump(points: Sequence[_P]) -> Sequence[_P]:
    """Return the readings from the end of the largest rise on, and all of them where no rise stands out.

    `points` are times and available amounts, oldest first. A rise may take several readings: containers go before images.
    """
    changes = [later[1] - earlier[1] for earlier, later in pairwise(points)]
    rises, begin = [], 0
    for index, change in enumerate([*changes, 0]):
        if change <= 0:
            rises.append((sum(changes[begin:index]), begin, index))
            begin = index + 1
    height, first, last = max(rises)
    others = [abs(change) for change in (*changes[:first], *changes[last:])]
    if not others:  # a rise that goes on is no jump
        return points
    larger = height > max(others) * _LARGER or (height > max(others) and _is_steep(points, first, last))
    jumps = larger and height * _LEAST_PART >= points[last][1] > 0
    return points[last:] if jumps else points


def _is_steep(points: Sequence[_P], first: int, last: int) -> bool:
    """Whether the rise from the first to the last of these readings is much steeper than each other change.

    An eviction is followed by a reading within a second, a calm node is read each ten.
    """
    slopes = [abs(later[1] - earlier[1]) / max(abs(later[0] - earlier[0]), 0.1) for earlier, later in pairwise(points)]
    others = (*slopes[:first], *slopes[last:])
    return min(slopes[first:last], default=0) > max(others) * _STEEPER
