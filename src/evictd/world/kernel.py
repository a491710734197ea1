"""Kills as the kernel does when memory ends: of the whole node, of the cgroup of all pods, or of one pod.

The kernel kills the process with the most points: its memory and swap, and `oom_score_adj` thousandths of what the machine has
(`oom_badness` in the kernel's mm/oom_kill.c). The score is the one that the kubelet gives the pod's first container. A
container that is killed is started again, at once the first time and then after 10 s, doubled up to 5 min (the kubelet's
`CrashLoopBackOff`).
"""

from collections.abc import Iterable, Iterator
from operator import itemgetter

from evictd.core.frozen import frozen
from evictd.core.model.oom import oom_score_adj
from evictd.core.units.duration import MILLISECOND, MINUTE, SECOND
from evictd.world.behaviours import ANONYMOUS, Usage, most
from evictd.world.model import NodeSpec
from evictd.world.node import Holder, SimulatedHost, SimulatedNode, SimulatedPod, limit_exceeded

UNKILLABLE = -1000
FIRST_RESTART_BACKOFF = 10 * SECOND
LAST_RESTART_BACKOFF = 5 * MINUTE


@frozen
class OomKill:
    """A process that the kernel has killed."""

    uid: str
    """Uid of the pod; empty for a part of the host."""
    name: str
    slot: str = ""
    held: int = 0
    """Its memory."""
    own_limit: bool = False
    """Whether it exceeded the memory limit of its pod: then the node was not short."""


def settle(node: SimulatedNode, now: int) -> tuple[OomKill, ...]:
    """Kill until what is held fits, and return who was killed in that order."""
    kills = [_kill(pod, now, own_limit=True) for pod in node.moving if _exceeds_limit(pod, now)]
    if kills:
        node.changed()
    while (victim := _victim(node, now)) is not None:
        kills.append(_kill(victim, now))
        node.changed()
    return tuple(kills)


def kill_at_own_limit(pod: SimulatedPod, since: int, until: int) -> Iterator[int]:
    """Yield when the growth of a pod changes in a span, and kill its container whenever it exceeds the pod's memory limit."""
    held_at_most = most(pod.spec.behaviours, ANONYMOUS)
    if pod.memory_limit is None or (held_at_most is not None and held_at_most <= pod.memory_limit):
        return
    at = since
    while at <= until:
        if _exceeds_limit(pod, at):
            _kill(pod, at, own_limit=True)
        yield at
        found = [then for then in (pod.process.next_change(at), limit_exceeded(pod, at, 0)) if then is not None]
        if not found:
            return
        at = max(min(found), at + MILLISECOND)


def no_memory_left(node: SimulatedNode, now: int) -> bool:
    """Whether more memory is held than there is, of the node or of the cgroup of all pods."""
    return node.memory(now).short > 0 or _pods_exceed(node, now)


def _pods_exceed(node: SimulatedNode, now: int) -> bool:
    memory = node.memory(now)
    return memory.pods - memory.swapped > node.world.node.memory_of_pods


def _victim(node: SimulatedNode, now: int) -> Holder | None:
    if node.memory(now).short > 0:
        return _worst(node, node.holders(), now)
    return _worst(node, node.pods.values(), now) if _pods_exceed(node, now) else None


def _worst(node: SimulatedNode, holders: Iterable[Holder], now: int) -> Holder | None:
    """Return the one with the most points; `None` if none can be killed."""
    found = [(points, each) for each in holders if (points := _points(each, node.world.node, now)) is not None]
    return max(found, key=itemgetter(0))[1] if found else None


def _points(holder: Holder, spec: NodeSpec, now: int) -> int | None:
    memory, adj = holder.process.held(now).get(Usage.MEMORY, 0), None
    if memory > 0 and isinstance(holder, SimulatedHost):
        adj = holder.spec.oom_score_adj
    elif memory > 0 and isinstance(holder, SimulatedPod) and holder.pod.containers:
        adj = oom_score_adj(holder.pod, holder.pod.containers[0], spec.memory)
    return None if adj is None or adj <= UNKILLABLE else memory + adj * (spec.memory + spec.swap) // 1000


def _exceeds_limit(pod: SimulatedPod, now: int) -> bool:
    if pod.memory_limit is None:
        return False
    held = pod.process.held(now)
    # The kernel first gives back page cache.
    return sum(held.get(each, 0) for each in ANONYMOUS) > pod.memory_limit and held.get(Usage.MEMORY, 0) > 0


def _kill(victim: Holder, now: int, *, own_limit: bool = False) -> OomKill:
    held = victim.process.held(now).get(Usage.MEMORY, 0)
    if isinstance(victim, SimulatedHost):
        victim.process.restart(now + FIRST_RESTART_BACKOFF)
        return OomKill(uid="", name=victim.spec.name, held=held)
    backoff = min(FIRST_RESTART_BACKOFF << (victim.restarts - 1), LAST_RESTART_BACKOFF) if victim.restarts else 1
    victim.restarts += 1
    victim.process.restart(now + backoff)
    return OomKill(uid=victim.pod.uid, name=victim.pod.full_name, slot=victim.slot, held=held, own_limit=own_limit)
