"""Provides small worlds for the tests of the engine."""

from collections.abc import Sequence
from typing import Any

from evictd.core.model.config import Policy
from evictd.core.units.duration import MINUTE, SECOND
from evictd.world.behaviours import Behaviour, Burst, Grow, Hold, Usage
from evictd.world.lifecycle import EndCause, PodEnd
from evictd.world.loop import Run, play
from evictd.world.model import Disk, HostUse, NodeSpec, World, WorldPod
from tests.playbook import config, number, pod

MI, GI = 1 << 20, 1 << 30
HARD = {"memory.available": "500Mi"}


def quiet(count: int, each: str = "100Mi", **more: Any) -> tuple[WorldPod, ...]:
    """Pods that hold what they requested."""
    held = Hold(of=Usage.MEMORY, amount=number(each))
    return tuple(WorldPod(pod=pod(f"quiet-{i}", memory=each, **more), behaviours=(held,)) for i in range(count))


def hog(*behaviours: Any, rate: int = 50 * MI, of: Usage = Usage.MEMORY, name: str = "hog", **more: Any) -> WorldPod:
    """A pod that grows without end."""
    return WorldPod(pod=pod(name, **more), behaviours=(Grow(of=of, rate=rate), *behaviours))


def holder(name: str, amount: int, of: Usage = Usage.MEMORY, **more: Any) -> WorldPod:
    """A pod that holds an amount."""
    return WorldPod(pod=pod(name, **more), behaviours=(Hold(of=of, amount=amount),))


def world(*pods: WorldPod, memory: int = 4 * GI, node: NodeSpec | None = None, **more: Any) -> World:
    """A world of five minutes on a node of 4Gi."""
    duration = more.pop("duration", 5 * MINUTE)
    return World(name="test", node=node or NodeSpec(memory=memory), pods=pods, duration=duration, **more)


def jobs_beside_a_database(priority: int) -> World:
    """Six jobs that grow at the same time beside a database of this priority; the end of one job is enough."""
    grows = Burst(of=Usage.MEMORY, amount=350 * MI, start=30 * SECOND, duration=60 * SECOND, rate=20 * MI)
    holds = Hold(of=Usage.MEMORY, amount=50 * MI)
    jobs = (WorldPod(pod=pod(f"job-{i}", memory="100Mi"), behaviours=(holds, grows)) for i in range(6))
    held = holder("db", 1200 * MI, memory="1100Mi", priority=priority)
    return world(held, *jobs, memory=3500 * MI, duration=10 * MINUTE)


def database_for_a_host_that_stops(priority: int) -> World:
    """A job and a database of this priority beside a host that stops to grow as soon as the node is short.

    The job holds less than the host would take in 40 s, but in the end its end would have been enough.
    """
    grows = Grow(of=Usage.MEMORY, rate=20 * MI, bound=510 * MI)
    pods = (holder("job", 300 * MI, memory="100Mi"), holder("db", 2500 * MI, memory="2400Mi", priority=priority))
    return world(*pods, host=(HostUse(name="host", behaviours=(grows,)),), memory=3500 * MI)


def disk_then_memory(*cache: Behaviour, others: Sequence[WorldPod] = ()) -> Run:
    """Play Kubelet on a disk that `noisy` fills in 88 s; then `cache` goes for the disk as well, before the disk reads clear."""
    noisy = hog(of=Usage.LOGS, rate=GI, name="noisy")
    node = NodeSpec(memory=4 * GI, nodefs=Disk(capacity=100 * GI))
    both = config(
        hard={**HARD, "nodefs.available": "12%"},
        soft={"memory.available": ("1Gi", "30s")},
        policy=Policy.KUBELET,
    )
    return play(world(noisy, WorldPod(pod=pod("cache"), behaviours=cache), *others, node=node), both)


def ends(run: Run) -> list[tuple[str, EndCause]]:
    """The pods that are gone, in order."""
    return [(each.event.name, each.event.cause) for each in run.happened if isinstance(each.event, PodEnd)]


def evicted(run: Run) -> list[str]:
    """The names of the pods that were evicted, in order."""
    return [name.partition("/")[2] for name, cause in ends(run) if cause is EndCause.EVICTED]
