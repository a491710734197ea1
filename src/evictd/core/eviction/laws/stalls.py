"""Recognises stalls that no eviction would end, because the host, or a pod at its own memory limit, causes them.

The kernel reports for a cgroup how long its tasks stall for memory (PSI). A pod that works at its own memory limit stalls too:
the kernel reclaims within its cgroup, whatever the node has left. On a node with little else to do all tasks of all pods then
stall together, and a threshold on them is met. A tenant could so have its neighbours evicted, one after another, and the end of
none of them would have ended the stall. So no other pod is evicted for what a pod stalls at its own limit. If that pod uses more
than it requests and stalls enough to be the cause, it goes itself, and the others stay.
"""

from collections.abc import Iterable, Mapping

from evictd.core.eviction.laws.shortage import Shortage
from evictd.core.model.finding import RankedPod, Standing
from evictd.core.model.pod import Pod
from evictd.core.model.resources import MEMORY
from evictd.core.model.signal import STALLS, StalledResource, StallType
from evictd.core.model.stats import PodStats

_AT_LIMIT = (9, 10)
"""The share of its limit from which a pod counts as being at it; the kernel reclaims shortly before it is reached."""


def stall_is_elsewhere(rows: Iterable[RankedPod], shortage: Shortage, stats: Mapping[str, PodStats]) -> bool:
    """Whether every pod stalls for so much less than the node that no pod's end can end the stall.

    If the host causes the stall, every pod stalls a little. The culprit of a `full` stall stalls for as long as the node does; of
    a `some` stall it may cause only a part, so half of that is enough. A pod at its own memory limit does not count.
    """
    if shortage.measurable:
        return False
    stalls = {row.uid: row.stall for row in rows if row.stall is not None}
    if not stalls:
        return False
    stall = STALLS[shortage.threshold.signal]
    if stall.resource is StalledResource.MEMORY:
        own = {row.uid for row in rows if at_own_limit(row.pod, stats.get(row.uid))}
        stalls = {uid: share for uid, share in stalls.items() if uid not in own}
    return not _is_enough(max(stalls.values(), default=0), shortage)


def stalls_itself(row: RankedPod, shortage: Shortage, stats: PodStats | None) -> bool:
    """Whether a pod at its own memory limit, over its request, stalls enough to be the cause."""
    if STALLS[shortage.threshold.signal].resource is not StalledResource.MEMORY or row.stall is None:
        return False
    return row.standing is Standing.EXCEEDS and at_own_limit(row.pod, stats) and _is_enough(row.stall, shortage)


def stalls_instead(victim: RankedPod, immovable: Iterable[RankedPod], shortage: Shortage) -> RankedPod | None:
    """Return a pod that may not go now and stalls enough to be the cause, where the victim does not; law Blame.

    A pod that exceeds its request goes all the same, as does one whose stall is not known.
    """
    if victim.standing is Standing.EXCEEDS or victim.stall is None or _is_enough(victim.stall, shortage):
        return None
    return next((row for row in immovable if row.stall is not None and _is_enough(row.stall, shortage)), None)


def _is_enough(share: int, shortage: Shortage) -> bool:
    """Whether a pod's stall, in hundredths of a percent, is a half of the node's, or a quarter of a `some` stall."""
    parts = 2 if STALLS[shortage.threshold.signal].type is StallType.FULL else 4
    return share * parts >= (shortage.seen.capacity - shortage.seen.available).value()


def at_own_limit(pod: Pod, stats: PodStats | None) -> bool:
    """Whether a pod, or a container of it, uses nine tenths of its own memory limit or more; False for what is not known."""
    if stats is None:
        return False
    limits = {each.name: each.limits[MEMORY].value() for each in pod.containers if MEMORY in each.limits}
    used = {each.name: each.working_set_bytes for each in stats.containers}
    if any(_reaches(used.get(name), limit) for name, limit in limits.items()):
        return True
    memory, whole = stats.memory, _limit_of_pod(pod, limits)
    usage = None if memory is None else memory.usage_bytes or memory.working_set_bytes
    return whole is not None and _reaches(usage, whole)


def _limit_of_pod(pod: Pod, limits: Mapping[str, int]) -> int | None:
    """Return the limit of a pod's cgroup in bytes: its own, or the sum where each container has one."""
    if pod.resources is not None and MEMORY in pod.resources.limits:
        return pod.resources.limits[MEMORY].value()
    return sum(limits.values()) if limits and len(limits) == len(pod.containers) else None


def _reaches(used: int | None, limit: int) -> bool:
    part, whole = _AT_LIMIT
    return used is not None and limit > 0 and used * whole >= limit * part
