"""Measurements of a pod's disk usage that are made up: at once, or of a number of entries."""

from collections.abc import Callable, Generator

from evictd.core.model.stats import DiskUsage
from evictd.observe.disk_usage.pod_disk import DiskRequest, PodDisk
from evictd.observe.disk_usage.rate_limiter import RateLimiter


class AtOnce:
    """A measurement whose only step is a function."""

    def __init__(self, measure: Callable[[], PodDisk]) -> None:
        self.found = PodDisk(time=None)
        self._measure = measure

    def steps(self) -> Generator[None, None, None]:
        yield from ()
        self.found = self._measure()


def at_once(measure: Callable[[DiskRequest], PodDisk]) -> Callable[[DiskRequest], AtOnce]:
    """Return what begins measurements for a `DiskUsageCache`."""
    return lambda request: AtOnce(lambda: measure(request))


class Entries:
    """A measurement of a number of entries, each with a byte and an inode, counted with a limiter as a walk does."""

    def __init__(self, entries: int, limiter: RateLimiter, clock: Callable[[], int]) -> None:
        self._left, self._limiter, self._time = entries, limiter, clock()
        self._counted = 0
        self.closed = False

    @property
    def found(self) -> PodDisk:
        usage = DiskUsage(self._counted, self._counted)
        return PodDisk(time=None if self._left else self._time, volumes={"data": usage}, at_least=self._left > 0)

    def steps(self) -> Generator[None, None, None]:
        try:
            while self._left:
                step = min(self._left, 64)
                self._left -= step
                self._counted += step
                self._limiter.spent(step)
                yield
        finally:
            self.closed = True
