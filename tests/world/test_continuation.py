"""Checks that a world made of a reading shows that reading again, and then goes on."""

from dataclasses import replace

import pytest

from evictd.core.model.config import MemoryFormula
from evictd.core.model.observation import Filesystems
from evictd.core.units.duration import MINUTE, SECOND
from evictd.world.behaviours import Grow, Hold, Usage
from evictd.world.continuation import takes_unusable_as_none, world_of
from evictd.world.loop import play
from evictd.world.model import HostUse, NodeSpec, World, WorldPod
from tests.playbook import DEDICATED, SINGLE, SPLIT, config, empty_dir, node, pod, usage

GI = 1 << 30
PODS = (pod("a", volumes=[empty_dir("v")]), pod("b", deletion_grace_period_seconds=40), pod("c"))
STATS = {
    "a": usage(PODS[0], memory="1Gi", rootfs="2Gi", logs="1Gi", volumes={"v": "3Gi"}, processes=7),
    "b": usage(PODS[1], memory="2Gi", rootfs="1Gi", logs="0", processes=3),
}
READING = node(memory="3Gi of 8Gi", nodefs="40Gi of 100Gi", imagefs="20Gi of 50Gi", pids="900 of 1000")


@pytest.mark.parametrize("layout", [SINGLE, DEDICATED, SPLIT])
def test_the_first_reading_is_the_one_that_it_was_made_of(layout: Filesystems) -> None:
    world = world_of(
        READING, PODS, STATS, name="w", filesystems=layout, behaviours={}, begin=MINUTE, duration=2 * MINUTE
    )
    seen = play(world, config()).cycles[0]
    assert seen.at == MINUTE
    again, before = seen.observation.node, READING
    assert again is not None
    assert again.memory is not None
    assert again.fs is not None
    assert again.rlimit is not None
    assert before.memory is not None
    assert before.fs is not None
    assert before.rlimit is not None
    assert again.memory.available_bytes == before.memory.available_bytes
    assert again.fs.available_bytes == before.fs.available_bytes
    assert again.rlimit.current == before.rlimit.current
    if layout.dedicated_image_fs:
        assert again.image_fs is not None
        assert before.image_fs is not None
        assert again.image_fs.available_bytes == before.image_fs.available_bytes
    stats = seen.observation.pod_stats
    assert set(stats) == {"a", "b"}
    assert stats["a"].memory is not None
    assert stats["a"].memory.working_set_bytes == 1 << 30
    assert stats["a"].process_count == 7


def test_it_goes_on_from_there() -> None:
    """A pod that grows is the cause, one that is being deleted ends, and one that is gone is not there."""
    grows = (Grow(of=Usage.MEMORY, rate=10, start=MINUTE, bound=100),)
    world = world_of(
        READING,
        PODS,
        STATS,
        name="w",
        filesystems=SINGLE,
        behaviours={"a": grows},
        gone={"c"},
        begin=MINUTE,
        duration=3 * MINUTE,
    )
    last = play(world, config()).cycles[-1].observation
    assert [each.name for each in last.pods] == ["a"]
    memory = last.pod_stats["a"].memory
    assert memory is not None
    assert memory.working_set_bytes == (1 << 30) + 100
    assert [each.culprit for each in world.pods] == [True, False]
    assert world.begin == 60 * SECOND


def test_what_a_pod_holds_that_is_not_listed_is_the_hosts() -> None:
    """A summary with a pod that `kubectl get pods` did not list: its memory became free at once."""
    world = world_of(READING, PODS[1:], STATS, name="w", filesystems=SINGLE, behaviours={}, duration=MINUTE)
    again = play(world, config()).cycles[0].observation.node
    assert again is not None
    assert again.memory is not None
    assert READING.memory is not None
    assert again.memory.available_bytes == READING.memory.available_bytes


@pytest.mark.parametrize("formula", [MemoryFormula.WORKING_SET, MemoryFormula.MEM_AVAILABLE, MemoryFormula.AUTO])
def test_clean_file_pages_of_a_pod_are_dropped_before_the_kernel_kills(formula: MemoryFormula) -> None:
    """5.95Gi of page cache were played on as memory that only a kill gives back."""
    cache, bound = (1, 1) if formula is MemoryFormula.AUTO else (3, 5)
    held = usage(PODS[0], memory="4Gi")
    assert held.memory is not None
    assert READING.memory is not None
    reader = replace(held, memory=replace(held.memory, clean_file_bytes=cache << 30))
    kernels = {
        # The working set is then without the cache: 2 of 8 GiB are anonymous.
        MemoryFormula.MEM_AVAILABLE: replace(
            READING.memory, available_bytes=6 << 30, mem_available_bytes=6 << 30, working_set_bytes=2 << 30
        ),
        # 1 GiB of the 3 that are documented as available cannot be had, nor can the cache.
        MemoryFormula.AUTO: replace(
            READING.memory,
            available_bytes=2 << 30,
            mem_available_bytes=2 << 30,
            working_set_bytes=6 << 30,
            unallocatable_bytes=1 << 30,
        ),
    }
    reading = replace(READING, memory=kernels.get(formula, READING.memory))
    world = world_of(
        reading,
        (PODS[0],),
        {"a": reader},
        name="w",
        filesystems=SINGLE,
        behaviours={"a": (Grow(of=Usage.MEMORY, rate=64 << 20, bound=bound << 30),)},
        duration=2 * MINUTE,
    )
    run = play(world, replace(config(), memory_formula=formula))
    first = run.cycles[0].observation.node
    assert first is not None
    assert first.memory is not None
    assert reading.memory is not None
    assert first.memory.available_bytes == reading.memory.available_bytes
    assert first.memory.unallocatable_bytes == reading.memory.unallocatable_bytes
    assert not run.kills


@pytest.mark.parametrize("cache", [0, 3 * GI // 2])
@pytest.mark.parametrize("formula", [MemoryFormula.AUTO, MemoryFormula.LOWEST, MemoryFormula.WORKING_SET])
def test_what_no_process_can_allocate_is_derived_beside_page_cache(formula: MemoryFormula, cache: int) -> None:
    """With page cache it was taken as none: the OOM killer came that much too late."""
    hold = (Hold(of=Usage.MEMORY, amount=2 * GI), Hold(of=Usage.PAGE_CACHE, amount=cache))
    true = World(
        name="w",
        node=NodeSpec(memory=8 * GI, unusable_memory=GI // 8),
        pods=(WorldPod(pod=PODS[0], behaviours=hold),),
        host=(HostUse(name="host", behaviours=(Hold(of=Usage.MEMORY, amount=GI),)),),
        duration=SECOND,
    )
    settings = replace(config(), memory_formula=formula)
    seen = play(true, settings).cycles[0].observation
    assert seen.node is not None
    world = world_of(seen.node, seen.pods, seen.pod_stats, name="w", filesystems=SINGLE, behaviours={}, duration=SECOND)
    known = formula is not MemoryFormula.LOWEST or cache > 0
    assert world.node.unusable_memory == (GI // 8 if known else 0)
    again = play(world, settings).cycles[0].observation.node
    assert again is not None
    assert again.memory is not None
    assert seen.node.memory is not None
    assert again.memory.available_bytes == seen.node.memory.available_bytes
    assert again.memory.mem_available_bytes == seen.node.memory.mem_available_bytes
    assert not takes_unusable_as_none(seen.node)


def test_a_reading_without_the_kernels_estimate_does_not_tell_it() -> None:
    assert takes_unusable_as_none(READING)
    assert not takes_unusable_as_none(replace(READING, memory=None))


@pytest.mark.parametrize("formula", [MemoryFormula.AUTO, MemoryFormula.MEM_AVAILABLE, MemoryFormula.WORKING_SET])
def test_clean_file_pages_of_the_host_are_dropped_before_the_kernel_kills(formula: MemoryFormula) -> None:
    """They were played on as memory that stays, and what no process can allocate came out too small."""
    hold = (Hold(of=Usage.MEMORY, amount=2 * GI), Hold(of=Usage.PAGE_CACHE, amount=GI))
    true = World(
        name="w",
        node=NodeSpec(memory=8 * GI, unusable_memory=0 if formula is MemoryFormula.MEM_AVAILABLE else GI // 8),
        pods=(WorldPod(pod=PODS[0], behaviours=hold),),
        host=(
            HostUse(
                name="host", behaviours=(Hold(of=Usage.MEMORY, amount=GI), Hold(of=Usage.PAGE_CACHE, amount=3 * GI))
            ),
        ),
        duration=SECOND,
    )
    settings = replace(config(), memory_formula=formula)
    seen = play(true, settings).cycles[0].observation
    assert seen.node is not None
    grows = {seen.pods[0].uid: (Grow(of=Usage.MEMORY, rate=64 << 20, bound=4 * GI),)}
    world = world_of(
        seen.node, seen.pods, seen.pod_stats, name="w", filesystems=SINGLE, behaviours=grows, duration=2 * MINUTE
    )
    assert world.node.unusable_memory == true.node.unusable_memory
    assert world.host[0].behaviours[:2] == true.host[0].behaviours
    run = play(world, settings)
    assert not run.kills
