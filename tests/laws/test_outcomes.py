"""The laws Effect and Blame over whole incidents: growth that no eviction ends costs two pods in ten minutes."""

import pytest

from evictd.core.model.decision import EvictPod
from evictd.core.model.pod import PodSource
from evictd.core.units.duration import MINUTE, SECOND
from evictd.world.behaviours import Grow, Hold, Usage
from evictd.world.loop import play
from evictd.world.model import HostUse, NodeSpec, Owner, World, WorldPod
from tests.playbook import config, pod

MIB = 1 << 20


@pytest.mark.parametrize(
    ("rate", "pods", "size"), [(1, 8, 200), (2, 10, 200), (5, 10, 300), (8, 10, 200), (20, 10, 300)]
)
def test_a_kernel_that_leaks_costs_two_pods_in_ten_minutes(rate: int, pods: int, size: int) -> None:
    """A slow leak outgrows what was missing while evictions pause; it is the cause all the same."""
    quiet = tuple(
        WorldPod(
            pod=pod(f"web-{number}", memory=f"{size + 56}Mi"),
            behaviours=(Hold(of=Usage.MEMORY, amount=size * MIB),),
        )
        for number in range(pods)
    )
    world = World(
        name="a kernel leak",
        node=NodeSpec(memory=(pods * size + 800) * MIB),
        pods=quiet,
        host=(HostUse(name="slab", behaviours=(Grow(of=Usage.MEMORY, rate=rate * MIB),)),),
        duration=1000 * SECOND,
    )
    run = play(world, config(hard={"memory.available": "500Mi"}))
    evicted = [cycle.at for cycle in run.cycles for each in cycle.step.decisions if isinstance(each, EvictPod)]
    assert len([at for at in evicted if at < evicted[0] + 10 * MINUTE]) == 2


def leak(rate: int) -> WorldPod:
    return WorldPod(pod=pod("static", source=PodSource.STATIC), behaviours=(Grow(of=Usage.MEMORY, rate=rate * MIB),))


def first_ten_minutes(world: World) -> list[str]:
    """The pods that go within ten minutes after the first one."""
    run = play(world, config(hard={"memory.available": "500Mi"}))
    evicted = [(c.at, each.pod.name) for c in run.cycles for each in c.step.decisions if isinstance(each, EvictPod)]
    return [name for at, name in evicted if at < evicted[0][0] + 10 * MINUTE]


@pytest.mark.parametrize(("pods", "size"), [(8, 250), (4, 597)])
def test_a_static_pod_that_leaks_slowly_costs_two_pods_in_ten_minutes(pods: int, size: int) -> None:
    """The others hold what it takes in the time that they need to go, so one after the other went: all of them."""
    quiet = tuple(
        WorldPod(
            pod=pod(f"web-{number}", memory=f"{size + 30}Mi"),
            behaviours=(Hold(of=Usage.MEMORY, amount=size * MIB),),
        )
        for number in range(pods)
    )
    node = NodeSpec(memory=(pods * size + 700) * MIB)
    assert len(first_ten_minutes(World(name="x", node=node, pods=(leak(5), *quiet), duration=1000 * SECOND))) == 2


def test_a_pod_that_its_owner_creates_anew_does_not_go_again_and_again_in_the_place_of_a_static_one() -> None:
    """It exceeds its request; within a few seconds it holds as much as before, so it went six times."""
    over = tuple(
        WorldPod(
            pod=pod(f"web-{number}", memory="200Mi", owner="ReplicaSet/web"),
            behaviours=(Hold(of=Usage.MEMORY, amount=250 * MIB),),
        )
        for number in range(8)
    )
    owner = Owner(name="ReplicaSet/web", delay=2 * SECOND, tolerates=True)
    node = NodeSpec(memory=4096 * MIB, unusable_memory=64 * MIB)
    world = World(name="x", node=node, pods=(leak(20), *over), owners=(owner,), duration=400 * SECOND)
    assert len(first_ten_minutes(world)) <= 2


def test_a_pod_over_a_limit_of_its_own_is_not_evicted_each_time_that_its_owner_creates_it() -> None:
    """It went 24 times in 65 s."""
    over = WorldPod(
        pod=pod("over", storage_limit="100Mi", owner="ReplicaSet/over"),
        behaviours=(Grow(of=Usage.LOGS, rate=100 * MIB),),
    )
    owner = Owner(name="ReplicaSet/over", delay=SECOND, tolerates=True)
    world = World(name="x", node=NodeSpec(memory=4096 * MIB), pods=(over,), owners=(owner,), duration=65 * SECOND)
    assert len(first_ten_minutes(world)) <= 5
