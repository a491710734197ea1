"""Checks the arithmetic of memory and disks."""

import pytest

from evictd.core.model.observation import Filesystems
from evictd.world.behaviours import Hold, Usage
from evictd.world.model import DeadContainers, Disk, HostUse, NodeImage, NodeSpec
from evictd.world.node import SimulatedNode, SimulatedPod, part_on_disk
from evictd.world.process import Process
from tests.world.worlds import GI, holder, world


def node(spec: NodeSpec, *holds: tuple[Usage, int], host: int = 0) -> SimulatedNode:
    """A node with one pod for each amount."""
    pods = tuple(holder(f"p{i}", amount, of) for i, (of, amount) in enumerate(holds))
    story = world(*pods, node=spec, host=(HostUse(name="host", behaviours=(Hold(of=Usage.MEMORY, amount=host),)),))
    simulated = SimulatedNode(story)
    for each in pods:
        simulated.pods[each.pod.uid] = SimulatedPod(
            spec=each, pod=each.pod, slot=each.pod.full_name, process=Process(each.behaviours, 0)
        )
    simulated.changed()
    return simulated


def test_page_cache_gets_what_is_left() -> None:
    memory = node(NodeSpec(memory=4 * GI), (Usage.MEMORY, 3 * GI), (Usage.PAGE_CACHE, 2 * GI)).memory(0)
    assert (memory.cache, memory.short, memory.available) == (GI, 0, 0)


def test_the_page_cache_of_the_host_is_in_the_working_set_and_given_back() -> None:
    """A `pageCache` of the host counted as nothing."""
    hold = Hold(of=Usage.PAGE_CACHE, amount=2 * GI)
    pods = (holder("a", GI, Usage.MEMORY), holder("b", 2 * GI, Usage.PAGE_CACHE))
    host = (HostUse(name="host", behaviours=(hold,)),)

    def memory(size: int) -> tuple[int, int, int]:
        simulated = SimulatedNode(world(*pods, node=NodeSpec(memory=size), host=host))
        for each in pods:
            simulated.pods[each.pod.uid] = SimulatedPod(
                spec=each, pod=each.pod, slot=each.pod.full_name, process=Process(each.behaviours, 0)
            )
        simulated.changed()
        found = simulated.memory(0)
        return found.available, found.cache, found.pods_working_set

    assert memory(8 * GI) == (3 * GI, 4 * GI, 3 * GI)
    assert memory(3 * GI) == (0, 2 * GI, 2 * GI), "half of the page cache is kept, half of that is the pod's"


def test_what_exceeds_memory_goes_to_swap_and_the_rest_is_short() -> None:
    memory = node(NodeSpec(memory=4 * GI, swap=GI), (Usage.MEMORY, 5 * GI), host=GI).memory(0)
    assert (memory.swapped, memory.short) == (GI, GI)


def test_memory_that_no_process_can_have_counts_as_available() -> None:
    memory = node(NodeSpec(memory=4 * GI, unusable_memory=GI), (Usage.MEMORY, 3 * GI)).memory(0)
    assert (memory.short, memory.available) == (0, GI)


@pytest.mark.parametrize(
    ("imagefs", "split", "own", "images"),
    [(False, False, 127, 127), (True, False, 28, 99), (True, True, 29 + 64, 34)],
)
def test_what_lies_where(imagefs: bool, split: bool, own: int, images: int) -> None:
    spec = NodeSpec(
        memory=GI,
        nodefs=Disk(capacity=1000),
        imagefs=Disk(capacity=1000) if imagefs else None,
        split_layout=split,
        images=(NodeImage(name="i", size=2),),
        dead_containers=DeadContainers(size=1),
    )
    kinds = (Usage.VOLUME, Usage.LOGS, Usage.HOST_PATH, Usage.IMAGE_DISK, Usage.LAYER)
    found = node(spec, *zip(kinds, (4, 8, 16, 32, 64), strict=True))
    assert (found.disk_used(0, images=False)[0], found.disk_used(0, images=True)[0]) == (own, images)


def test_inodes_lie_where_the_bytes_lie() -> None:
    held = {Usage.LAYER_INODES: 1, Usage.VOLUME_INODES: 2}
    dedicated, single = (Filesystems(dedicated_image_fs=each, split_container_fs=False) for each in (True, False))
    assert part_on_disk(held, dedicated, images=True) == (0, 1)
    assert part_on_disk(held, dedicated, images=False) == (0, 2)
    assert part_on_disk(held, single, images=True) == (0, 3)
