"""Walks a whole directory tree at once, as the daemon's thread does by turns."""

from evictd.core.model.stats import DiskUsage
from evictd.errors import NodeError
from evictd.observe.disk_usage.rate_limiter import RateLimiter
from evictd.observe.disk_usage.tree_walk import TreeWalk


class PartlyCountedError(NodeError):
    """The tree was not counted to its end, for the reason `fault`."""

    def __init__(self, counted: DiskUsage, fault: str) -> None:
        super().__init__(fault)
        self.counted = counted
        """A lower bound of the tree's usage."""


def measure(directory: int, limiter: RateLimiter | None = None) -> DiskUsage:
    """Measure the tree at an open directory, the directory included.

    Raises `NodeError` if it cannot be read, and `PartlyCountedError` if a part of it was not counted.
    """
    walk = TreeWalk(directory, limiter or RateLimiter())
    for _ in walk.steps():
        pass
    if walk.fault:
        raise PartlyCountedError(walk.counted, walk.fault)
    return walk.counted
