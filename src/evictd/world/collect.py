"""Removes dead containers and unused images from the simulated node, as the daemon's collectors do."""

from typing import assert_never

from evictd.core.model.decision import ReclaimNode
from evictd.core.model.observation import Reclaim, ReclaimOutcome
from evictd.world.model import DeadContainers
from evictd.world.node import SimulatedNode


def collect(node: SimulatedNode, decision: ReclaimNode) -> tuple[ReclaimOutcome, ...]:
    """Carry out a collection; return one outcome for each action."""
    return tuple(_performed(node, action, decision) for action in decision.actions)


def _performed(node: SimulatedNode, action: Reclaim, decision: ReclaimNode) -> ReclaimOutcome:
    match action:
        case Reclaim.CONTAINERS:
            return _containers(node, decision)
        case Reclaim.IMAGES:
            return _images(node, decision)
        case Reclaim.ROTATED_LOGS | Reclaim.PAGE_CACHE:  # a simulated pod has one log, and reads its file again at once
            return ReclaimOutcome(action=action, device=decision.device)
        case _:
            assert_never(action)


def _containers(node: SimulatedNode, decision: ReclaimNode) -> ReclaimOutcome:
    dead, node.dead = node.dead, DeadContainers()
    removed = int(dead != DeadContainers())
    return ReclaimOutcome(action=Reclaim.CONTAINERS, freed_bytes=dead.size, removed=removed, device=decision.device)


def _images(node: SimulatedNode, decision: ReclaimNode) -> ReclaimOutcome:
    freed = removed = 0
    for image in node.unused_images():
        if decision.wanted_bytes is not None and removed and freed >= decision.wanted_bytes:
            break
        del node.images[image.name]
        freed, removed = freed + image.size, removed + 1
    return ReclaimOutcome(action=Reclaim.IMAGES, freed_bytes=freed, removed=removed, device=decision.device)
