"""Remembers what the kernel killed lately for want of memory of the node, for `evictd status` and the page."""

from collections.abc import Iterable
from dataclasses import replace

from evictd.core.frozen import frozen
from evictd.core.units.duration import HOUR
from evictd.observe.cgroups.kernel_kills import KernelKill

REMEMBERED_FOR = HOUR
_MOST = 50


@frozen
class Killed:
    """How many processes of one pod, or of a cgroup outside pods, the kernel killed lately."""

    where: str
    """`namespace/name` of the pod, or the name of the cgroup directly below the root."""
    uid: str
    """Of the pod; empty for a cgroup outside pods."""
    count: int
    wall: int
    """The time at which the last one was seen, on the wall clock in nanoseconds."""


class RecentKills:
    """The kills of the last hour by pod, bounded. Used by one thread."""

    def __init__(self) -> None:
        self._killed: dict[tuple[str, str], Killed] = {}

    def add(self, kills: Iterable[KernelKill], wall: int) -> None:
        """Count kills that were seen at a time on the wall clock."""
        for each in kills:
            key = each.where, each.uid
            before = self._killed.pop(key, None) or Killed(where=each.where, uid=each.uid, count=0, wall=wall)
            self._killed[key] = replace(before, count=before.count + each.count, wall=wall)
            if len(self._killed) > _MOST:
                del self._killed[next(iter(self._killed))]

    def lately(self, wall: int) -> tuple[Killed, ...]:
        """Return those of which the last was seen within the hour before `wall`, the last one at the end; forget the others."""
        self._killed = {key: each for key, each in self._killed.items() if wall - each.wall < REMEMBERED_FOR}
        return tuple(self._killed.values())
