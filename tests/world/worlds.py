"""Provides small worlds for the tests of the engine."""

from typing import Any

from evictd.core.units.duration import MINUTE, SECOND
from evictd.world.behaviours import Burst, Grow, Hold, Usage
from evictd.world.lifecycle import EndCause, PodEnd
from evictd.world.loop import Run
from evictd.world.model import NodeSpec, World, WorldPod
from tests.playbook import number, pod

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


def jobs_beside_a_database(priority: int, *, database: int = 1200, rate: int = 20) -> World:
    """Six jobs that grow at the same time, by so many MiB a second each, beside a database of so many MiB and this priority.

    The end of one job is enough.
    """
    duration = 400 * SECOND // rate + 40 * SECOND
    grows = Burst(of=Usage.MEMORY, amount=350 * MI, start=30 * SECOND, duration=duration, rate=rate * MI)
    holds = Hold(of=Usage.MEMORY, amount=50 * MI)
    jobs = (WorldPod(pod=pod(f"job-{i}", memory="100Mi"), behaviours=(holds, grows)) for i in range(6))
    held = holder("db", database * MI, memory=f"{database - 100}Mi", priority=priority)
    return world(held, *jobs, memory=(database + 2300) * MI, duration=10 * MINUTE)


def ends(run: Run) -> list[tuple[str, EndCause]]:
    """The pods that are gone, in order."""
    return [(each.event.name, each.event.cause) for each in run.happened if isinstance(each.event, PodEnd)]


def evicted(run: Run) -> list[str]:
    """The names of the pods that were evicted, in order."""
    return [name.partition("/")[2] for name, cause in ends(run) if cause is EndCause.EVICTED]
