"""Checks whom the OOM killer kills."""

from evictd.core.model.resources import Container
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import parse_quantity
from evictd.world.behaviours import Grow, Usage
from evictd.world.kernel import OomKill, kill_at_own_limit
from evictd.world.loop import Run, play
from evictd.world.model import HostUse, NodeSpec, WorldPod
from evictd.world.node import SimulatedPod
from evictd.world.process import Process
from tests.playbook import config, pod
from tests.world.worlds import GI, MI, evicted, hog, holder, quiet, world


def killed(run: Run) -> list[str]:
    """The names of what the kernel killed, in order."""
    return [each.event.name for each in run.happened if isinstance(each.event, OomKill)]


def test_a_best_effort_pod_goes_before_a_larger_one_within_its_request() -> None:
    run = play(world(holder("large", 2 * GI, memory="2Gi"), hog(), duration=60 * SECOND), config())
    assert killed(run) == ["default/hog"]


def test_a_guaranteed_hog_costs_the_others_first() -> None:
    limits = {"cpu": parse_quantity("1"), "memory": parse_quantity("8Gi")}
    containers = (Container(name="c", requests=limits, limits=limits),)
    run = play(world(hog(containers=containers), *quiet(2, "1Gi"), duration=120 * SECOND), config())
    assert killed(run)[0].startswith("default/quiet")


def test_the_process_is_restarted_with_a_back_off() -> None:
    run = play(world(hog(rate=400 * MI), duration=60 * SECOND), config())
    times = [each.at // SECOND for each in run.happened if isinstance(each.event, OomKill)]
    assert times[:3] == [10, 20, 40]  # ten seconds each to fill 4Gi, ten more of back-off for the second restart


def test_a_container_at_its_own_limit_is_killed_alone() -> None:
    containers = (Container(name="c", limits={"memory": parse_quantity("1Gi")}),)
    run = play(world(hog(containers=containers), *quiet(2), duration=35 * SECOND), config())
    kills = [each.event for each in run.happened if isinstance(each.event, OomKill)]
    assert [kill.own_limit for kill in kills] == [True]


def test_the_cgroup_of_all_pods_has_a_limit() -> None:
    run = play(world(hog(), node=NodeSpec(memory=8 * GI, allocatable_memory=GI), duration=30 * SECOND), config())
    assert killed(run) == ["default/hog"]


def test_a_host_process_can_be_killed_and_the_kernel_cannot() -> None:
    grows = (Grow(of=Usage.MEMORY, rate=200 * MI),)
    daemon = HostUse(name="daemon", behaviours=grows, oom_score_adj=0)
    assert killed(play(world(host=(daemon,), duration=30 * SECOND), config()))[0] == "daemon"
    slab = HostUse(name="slab", behaviours=grows)
    assert killed(play(world(*quiet(1), host=(slab,), duration=30 * SECOND), config()))[0] == "default/quiet-0"


def test_swap_is_used_before_anybody_is_killed() -> None:
    swapper = WorldPod(pod=pod("a"), behaviours=(Grow(of=Usage.MEMORY, rate=100 * MI, bound=5 * GI),))
    run = play(world(swapper, node=NodeSpec(memory=4 * GI, swap=2 * GI)), config())
    assert killed(run) == []
    assert evicted(run) == []
    swap = run.cycles[-1].observation.node
    assert swap is not None
    assert swap.swap is not None
    assert swap.swap.usage_bytes == GI


def test_the_kills_at_the_own_limit_are_those_of_the_played_world() -> None:
    containers = (Container(name="c", limits={"memory": parse_quantity("1Gi")}),)
    spec = hog(containers=containers)
    found = play(world(spec, *quiet(2), duration=600 * SECOND), config()).happened
    kills = [each.at // SECOND for each in found if isinstance(each.event, OomKill)]
    process = Process(spec.behaviours, 0)
    running = SimulatedPod(spec=spec, pod=spec.pod, slot="", process=process)
    changes = [at // SECOND for at in kill_at_own_limit(running, 0, 600 * SECOND)]
    assert len(kills) == running.restarts
    assert set(kills) <= set(changes)
