"""Checks what a collection removes."""

from evictd.core.model.decision import ReclaimNode
from evictd.core.model.observation import Reclaim
from evictd.world.collect import collect
from evictd.world.model import DeadContainers, NodeImage, NodeSpec
from evictd.world.node import SimulatedNode
from tests.playbook import threshold
from tests.world.worlds import world

IMAGES = tuple(NodeImage(name=name, size=10, pinned=name == "pinned") for name in ("pinned", "old", "new"))


def reclaim(*actions: Reclaim, wanted: int | None = None) -> ReclaimNode:
    """A decision to collect."""
    return ReclaimNode(actions=actions, threshold=threshold("nodefs.available", "10%"), wanted_bytes=wanted)


def test_unused_images_and_dead_containers_go() -> None:
    spec = NodeSpec(memory=1, images=IMAGES, dead_containers=DeadContainers(size=5))
    node = SimulatedNode(world(node=spec))
    found = collect(node, reclaim(Reclaim.CONTAINERS, Reclaim.IMAGES))
    assert [(each.freed_bytes, each.removed) for each in found] == [(5, 1), (20, 2)]
    assert list(node.images) == ["pinned"]
    assert [each.freed_bytes for each in collect(node, reclaim(Reclaim.CONTAINERS, Reclaim.IMAGES))] == [0, 0]


def test_enough_is_enough() -> None:
    node = SimulatedNode(world(node=NodeSpec(memory=1, images=IMAGES)))
    collect(node, reclaim(Reclaim.IMAGES, wanted=5))
    assert list(node.images) == ["pinned", "new"]
