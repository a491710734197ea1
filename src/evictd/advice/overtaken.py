"""Finds an eviction in which a threshold that acts earlier, when the pod used less, would have evicted another pod."""

from collections.abc import Iterable

from evictd.advice.episode import Episode
from evictd.core.units.duration import SECOND


def other_first(episodes: Iterable[Episode], threshold: int, grace: int = 0) -> Episode | None:
    """Return the one that the most speaks for; `None` without one. `grace` is that of a soft threshold, in nanoseconds."""
    found = [each for each in episodes if each.overtaken[1] and _less_use(each, threshold, grace) > each.overtaken[0]]
    return max(found, key=lambda each: _less_use(each, threshold, grace) - each.overtaken[0], default=None)


def _less_use(each: Episode, threshold: int, grace: int) -> int:
    """Return by how much less would have been used at the decision; 0 where it is not known."""
    falls = each.rate * grace // SECOND if grace else each.fell
    return 0 if grace and not each.rate else threshold - falls - each.available
