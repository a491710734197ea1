"""Finds an eviction in which a threshold would have evicted another pod, or one more.

One that acts earlier acts when the pod used less; one above what an eviction left is met after it still.
"""

from collections.abc import Iterable

from evictd.advice.episode import Episode
from evictd.core.units.duration import SECOND


def other_first(episodes: Iterable[Episode], threshold: int, grace: int = 0) -> Episode | None:
    """Return the one that the most speaks for; `None` without one. `grace` is that of a soft threshold, in nanoseconds."""
    found = [each for each in episodes if each.overtaken[1] and _less_use(each, threshold, grace) > each.overtaken[0]]
    return max(found, key=lambda each: _less_use(each, threshold, grace) - each.overtaken[0], default=None)


def still_met(episodes: Iterable[Episode], threshold: int) -> Episode | None:
    """Return the eviction with the least available after it, if this threshold is met then: one more pod goes; else `None`."""
    found = [each for each in episodes if each.recovered is not None and each.limit <= each.recovered < threshold]
    return min(found, key=lambda each: each.recovered or 0, default=None)


def _less_use(each: Episode, threshold: int, grace: int) -> int:
    """Return by how much less would have been used at the decision; 0 where it is not known."""
    falls = each.rate * grace // SECOND if grace else each.fell
    return 0 if grace and not each.rate else threshold - falls - each.available
