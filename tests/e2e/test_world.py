"""Plays the same stories on a real containerd and in a world, and compares who goes, in which order, and who is left."""

from typing import Any

import pytest

from evictd.world.behaviours import Grow, Hold, Usage
from evictd.world.lifecycle import EndCause, PodEnd
from evictd.world.loop import Run, play
from evictd.world.model import Disk, NodeSpec, Owner, World, WorldPod
from evictd_testnode.pods import VolumeRecipe
from tests.conftest import NodeFactory
from tests.e2e.story import DISK, Story, takes_memory, writes
from tests.playbook import config, empty_dir, pod

pytestmark = [pytest.mark.root, pytest.mark.containerd]

MI = 1 << 20
NODE_MEMORY = 320 * MI
DATA = (VolumeRecipe(name="data"),)


def grows(name: str, rate: int, bound: int, *, of: Usage = Usage.MEMORY, **more: Any) -> WorldPod:
    """A pod that grows by so many MiB a second, up to so many."""
    return WorldPod(pod=pod(name, **more), behaviours=(Grow(of=of, rate=rate * MI, bound=bound * MI),))


def evicted(run: Run) -> list[str]:
    """The names of the pods that were evicted in a world, in order."""
    ends = (each.event for each in run.happened)
    return [each.name.partition("/")[2] for each in ends if isinstance(each, PodEnd) and each.cause is EndCause.EVICTED]


def left(run: Run) -> set[str]:
    """The names of the pods that are left in a world."""
    return {each.name for each in run.cycles[-1].observation.pods}


def test_memory_hogs(make_node: NodeFactory) -> None:
    node = make_node(memory_bytes=NODE_MEMORY)
    with Story(
        node, {"evictionHard": {"memory.available": "120Mi"}}, arguments=["--node-cgroup", node.cgroup]
    ) as story:
        story.pod("important", takes_memory(220, pause=0.5), priority=999_999_999)
        story.pod("hog", takes_memory(260, pause=0.05))
        story.pod("innocent", requests={"memory": "20Mi"})
        story.until_evicted("hog", "important")
        story.until_calm("MemoryPressure")
        world = World(
            name="memory hogs",
            node=NodeSpec(memory=NODE_MEMORY),
            pods=(
                grows("important", 8, 220, priority=999_999_999),
                grows("hog", 60, 260),
                WorldPod(pod=pod("innocent", memory="20Mi"), behaviours=(Hold(of=Usage.MEMORY, amount=5 * MI),)),
            ),
        )
        run = play(world, config(hard={"memory.available": "120Mi"}))
        assert evicted(run) == story.evicted() == ["hog", "important"]
        assert left(run) == story.running() == {"innocent"}


def test_a_disk_writer(make_node: NodeFactory) -> None:
    node = make_node(node_disk=DISK)
    with Story(node, {"evictionHard": {"nodefs.available": "30Mi"}}) as story:
        story.pod("innocent", writes("/data", 2), volumes=DATA)
        story.pod("writer", writes("/data", 200), volumes=DATA)
        story.until_evicted("writer")
        story.until_calm("DiskPressure")
        volume = [empty_dir("data")]
        world = World(
            name="disk writer",
            node=NodeSpec(memory=NODE_MEMORY, nodefs=Disk(capacity=96 * MI, used=10 * MI)),
            pods=(
                grows("innocent", 20, 2, of=Usage.VOLUME, volumes=volume),
                grows("writer", 20, 200, of=Usage.VOLUME, volumes=volume),
            ),
        )
        run = play(world, config(hard={"nodefs.available": "30Mi"}))
        assert evicted(run) == story.evicted() == ["writer"]
        assert left(run) == story.running() == {"innocent"}


def test_a_hog_that_is_recreated_once(make_node: NodeFactory) -> None:
    node = make_node(memory_bytes=NODE_MEMORY)
    with Story(
        node, {"evictionHard": {"memory.available": "120Mi"}}, arguments=["--node-cgroup", node.cgroup]
    ) as story:
        story.pod("innocent", requests={"memory": "20Mi"})
        story.pod("hog", takes_memory(260, pause=0.1))
        story.until_evicted("hog")
        story.pod("hog-1", takes_memory(260, pause=0.1))
        story.until_evicted("hog", "hog-1")
        hog = grows("hog", 35, 260, owner="ReplicaSet/hog")
        calm = WorldPod(pod=pod("innocent", memory="20Mi"), behaviours=(Hold(of=Usage.MEMORY, amount=5 * MI),))
        world = World(
            name="recreated hog",
            node=NodeSpec(memory=NODE_MEMORY),
            pods=(calm, hog),
            owners=(Owner(name="ReplicaSet/hog", tolerates=True),),
            duration=15 * 10**9,
        )
        run = play(world, config(hard={"memory.available": "120Mi"}))
        assert evicted(run)[:2] == story.evicted() == ["hog", "hog-1"]
        assert "innocent" in left(run) & story.running()
