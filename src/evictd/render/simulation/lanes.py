"""Assigns the marks of a picture to lanes in which their labels do not touch."""

from collections.abc import Sequence

from evictd.core.units.duration import SECOND
from evictd.render.simulation.chart import Mark

Extent = tuple[float, float]
"""Begin and end of a mark with its label, in seconds."""
_MAX_LANES = 8


def assign_lanes(marks: Sequence[Mark], extents: Sequence[Extent]) -> list[int]:
    """Return a lane for each mark in which its label touches no other and no mark's line; -1 where every lane is taken.

    A mark's line goes down from its lane, so a label is above the lanes of the marks that it spans. So marks with a label to
    the left come first, from the first to the last, and then those with one to the right, from the last to the first.
    """
    lefts = [index for index, mark in enumerate(marks) if extents[index][0] < mark.at / SECOND]
    taken: list[list[Extent]] = []
    lanes = [-1] * len(marks)
    for index in (*lefts, *reversed([each for each in range(len(marks)) if each not in lefts])):
        start, end = extents[index]
        spanned = (lanes[k] for k, mark in enumerate(marks) if k != index and start <= mark.at / SECOND <= end)
        lane = max(spanned, default=-1) + 1
        while lane < len(taken) and any(start <= to and begin <= end for begin, to in taken[lane]):
            lane += 1
        if lane >= _MAX_LANES:
            continue
        taken += [[] for _ in range(lane + 1 - len(taken))]
        taken[lane].append((start, end))
        lanes[index] = lane
    return lanes
