"""Kills as the kernel does when memory ends: of the whole node, of the cgroup of all pods, or of one pod.

The kernel kills the process with the most points: its memory and swap, and `oom_score_adj` thousandths of what the machine has
(`oom_badness` in the kernel's mm/oom_kill.c). The score is the one that the kubelet gives the pod's first container. A
container that is killed is started again, at once the first time and then after 10 s, doubled up to 5 min (the kubelet's
`CrashLoopBackOff`).
"""

from collections.abc import Iterator

from evictd.core.frozen import frozen
from evictd.core.model.oom import oom_score_adj
from evictd.core.units.duration import MINUTE, SECOND
from evictd.world.behaviours import OF_MEMORY, Usage
from evictd.world.node import SimulatedHost, SimulatedNode, SimulatedPod

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


def _victim(node: SimulatedNode, now: int) -> SimulatedPod | SimulatedHost | None:
    memory, allocatable = node.memory(now), node.world.node.allocatable_memory
    if memory.short > 0:
        return _worst([*_pods(node, now), *_hosts(node, now)])
    if allocatable is not None and memory.pods - memory.swapped > allocatable:
        return _worst(list(_pods(node, now)))
    return None


def _worst(found: list[tuple[int, SimulatedPod | SimulatedHost]]) -> SimulatedPod | SimulatedHost | None:
    return max(found, key=lambda each: each[0])[1] if found else None


def _pods(node: SimulatedNode, now: int) -> Iterator[tuple[int, SimulatedPod]]:
    spec = node.world.node
    for pod in node.pods.values():
        memory = pod.process.held(now).get(Usage.MEMORY, 0)
        if memory > 0 and pod.pod.containers:
            adj = oom_score_adj(pod.pod, pod.pod.containers[0], spec.memory)
            yield memory + adj * (spec.memory + spec.swap) // 1000, pod


def _hosts(node: SimulatedNode, now: int) -> Iterator[tuple[int, SimulatedHost]]:
    spec = node.world.node
    for host in node.hosts:
        memory, adj = host.process.held(now).get(Usage.MEMORY, 0), host.spec.oom_score_adj
        if memory > 0 and adj is not None and adj > UNKILLABLE:
            yield memory + adj * (spec.memory + spec.swap) // 1000, host


def _exceeds_limit(pod: SimulatedPod, now: int) -> bool:
    if pod.memory_limit is None:
        return False
    held = pod.process.held(now)
    # The kernel first gives back page cache.
    anonymous = sum(held.get(each, 0) for each in OF_MEMORY if each is not Usage.PAGE_CACHE)
    return anonymous > pod.memory_limit and held.get(Usage.MEMORY, 0) > 0


def _kill(victim: SimulatedPod | SimulatedHost, now: int, *, own_limit: bool = False) -> OomKill:
    held = victim.process.held(now).get(Usage.MEMORY, 0)
    if isinstance(victim, SimulatedHost):
        victim.process.restart(now + FIRST_RESTART_BACKOFF)
        return OomKill(uid="", name=victim.spec.name, held=held)
    backoff = min(FIRST_RESTART_BACKOFF << (victim.restarts - 1), LAST_RESTART_BACKOFF) if victim.restarts else 1
    victim.restarts += 1
    victim.process.restart(now + backoff)
    return OomKill(uid=victim.pod.uid, name=victim.pod.full_name, slot=victim.slot, held=held, own_limit=own_limit)
