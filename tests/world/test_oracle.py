"""Checks the smallest set that relieves the node for good."""

from dataclasses import replace

from evictd.core.model.pod import PodSource
from evictd.core.model.resources import Container
from evictd.core.model.signal import SIGNALS, Resource, Signal
from evictd.core.units.duration import MILLISECOND, MINUTE, SECOND
from evictd.core.units.quantity import parse_quantity
from evictd.world.behaviours import Burst, Grow, Hold, Usage
from evictd.world.model import Disk, HostUse, NodeImage, NodeSpec, WorldPod
from evictd.world.oracle import ideal_ends, relief, signals_of_supply
from tests.playbook import config, pod
from tests.world.worlds import GI, HARD, MI, hog, holder, quiet, world


def test_nothing_has_to_go_from_a_calm_node() -> None:
    found = ideal_ends(world(*quiet(3)), config(hard=HARD))
    assert (found.slots, found.crossed_at, found.relieves) == (frozenset(), None, True)


def test_one_hog_among_many() -> None:
    assert ideal_ends(world(*quiet(5), hog()), config(hard=HARD)).slots == {"default/hog"}


def test_of_pods_alike_the_one_of_lower_priority() -> None:
    pods = (holder("a", 2 * GI, priority=10), holder("b", 2 * GI, priority=5))
    assert ideal_ends(world(*pods), config(hard=HARD)).slots == {"default/b"}


def test_of_one_that_suffices_and_a_culprit_that_suffices_the_culprit() -> None:
    """The other comes first in documented order, because it exceeds its request by more."""
    pods = (holder("big", 2 * GI, memory="1Gi"), hog(memory="128Mi"), *quiet(3))
    assert ideal_ends(world(*pods), config(hard=HARD)).slots == {"default/hog"}


def test_a_pod_of_higher_priority_within_its_request_stays_where_others_suffice() -> None:
    """Its end alone was named as enough, and three that exceed their requests and went as not needed."""
    database = holder("db", 3 * GI, priority=1000, memory="3Gi")
    small = [holder(f"p{i}", GI, priority=5, memory="128Mi") for i in range(3)]
    found = ideal_ends(world(database, *small, memory=6 * GI - 100 * MI), config(hard=HARD))
    assert (found.slots == {"default/p0"}, found.spares) == (True, False)
    found = ideal_ends(world(database, *small, memory=5 * GI), config(hard=HARD))
    assert ("default/db" in found.slots, len(found.slots), found.spares) == (False, 2, True)
    alike = (replace(each, pod=replace(each.pod, priority=1000)) for each in small)
    assert ideal_ends(world(database, *alike, memory=5 * GI), config(hard=HARD)).slots == {"default/db"}
    only = ideal_ends(world(database, *small[:1], memory=3 * GI + 100 * MI), config(hard=HARD))
    assert "default/db" in only.slots


def test_without_a_threshold_for_memory_the_end_of_memory_counts() -> None:
    found = ideal_ends(world(*quiet(3), hog()), config(hard={"nodefs.available": "10%"}))
    assert found.slots == {"default/hog"}
    assert found.memory_ended
    assert not ideal_ends(world(*quiet(3), hog()), config(hard=HARD)).memory_ended


def test_two_hogs() -> None:
    pods = (*quiet(3), hog(name="one"), hog(name="two", rate=20 * MI))
    assert ideal_ends(world(*pods), config(hard=HARD)).slots == {"default/one", "default/two"}


def test_many_small_ones_where_it_takes_many() -> None:
    pods = tuple(holder(f"p{i:02}", 500 * MI) for i in range(8))
    found = ideal_ends(world(*pods, memory=2 * GI), config(hard=HARD))
    assert found.relieves
    assert len(found.slots) == 5


def test_no_set_suffices_against_the_host_or_a_protected_pod() -> None:
    host = (HostUse(name="slab", behaviours=(Grow(of=Usage.MEMORY, rate=100 * MI),)),)
    assert not ideal_ends(world(*quiet(3), host=host), config(hard=HARD)).relieves
    static = hog(source=PodSource.STATIC, name="static", rate=100 * MI)
    assert ideal_ends(world(*quiet(3), static), config(hard=HARD)).slots == frozenset()


def test_images_are_collected_first_also_those_of_the_pods_that_go() -> None:
    node = NodeSpec(
        memory=GI,
        nodefs=Disk(capacity=20 * GI),
        images=(NodeImage(name="big", size=10 * GI), NodeImage(name="old", size=5 * GI)),
    )
    user = WorldPod(pod=pod("user"), behaviours=(Hold(of=Usage.LAYER, amount=MI),), image="big")
    writer = WorldPod(pod=pod("writer"), behaviours=(Grow(of=Usage.HOST_PATH, rate=100 * MI, bound=9 * GI),))
    found = ideal_ends(world(user, writer, node=node), config(hard={"nodefs.available": "10%"}))
    assert found.slots == {"default/user"}


def test_unused_images_are_collected_while_no_pod_is_there() -> None:
    """Neither for the set of all pods, which no other set relieves better, nor before the first pod comes."""
    disk, images = Disk(capacity=100 * GI, used=30 * GI), (NodeImage(name="old", size=5 * GI),)
    node, ten = NodeSpec(memory=GI, nodefs=disk, images=images), config(hard={"nodefs.available": "10%"})
    builder = WorldPod(pod=pod("builder"), behaviours=(Hold(of=Usage.LAYER, amount=6 * GI),))
    logs = HostUse(name="logs", behaviours=(Grow(of=Usage.HOST_PATH, rate=GI, bound=56 * GI),))
    found = ideal_ends(world(builder, node=node, host=(logs,)), ten)
    assert found.relieves
    assert found.slots == {"default/builder"}
    logs = replace(logs, behaviours=(Hold(of=Usage.HOST_PATH, amount=56 * GI),))
    later = replace(builder, start=60 * SECOND, behaviours=(Hold(of=Usage.LAYER, amount=3 * GI),))
    assert ideal_ends(world(later, node=node, host=(logs,)), ten).crossed_at is None, "reclaim alone suffices"


def test_what_the_only_pod_wrote_into_a_host_path_volume_stays_when_the_observer_ends_it() -> None:
    node = NodeSpec(memory=GI, nodefs=Disk(capacity=20 * GI))
    writer = WorldPod(pod=pod("writer"), behaviours=(Grow(of=Usage.HOST_PATH, rate=100 * MI, bound=19 * GI),))
    assert not ideal_ends(world(writer, node=node), config(hard={"nodefs.available": "10%"})).relieves


def test_what_a_pod_wrote_into_a_host_path_volume_stays_when_the_pod_is_deleted() -> None:
    """Its files were taken for gone with it, so that no pod had to go."""
    node = NodeSpec(memory=GI, nodefs=Disk(capacity=20 * GI))
    behaviours = (Grow(of=Usage.HOST_PATH, rate=100 * MI),)
    writer = WorldPod(pod=pod("writer", source=PodSource.STATIC), behaviours=behaviours, deleted_at=155 * SECOND)
    web = WorldPod(pod=pod("web"), behaviours=(Hold(of=Usage.LAYER, amount=3 * GI),))
    assert ideal_ends(world(writer, web, node=node), config(hard={"nodefs.available": "10%"})).slots == {"default/web"}


def test_a_burst_counts_while_it_lasts() -> None:
    burst = Burst(of=Usage.MEMORY, amount=4 * GI, start=60 * SECOND, duration=60 * SECOND)
    found = ideal_ends(world(WorldPod(pod=pod("burst"), behaviours=(burst,))), config(hard=HARD))
    assert found.slots == {"default/burst"}


def test_the_crossing_is_found_to_a_tenth_of_a_second() -> None:
    found = ideal_ends(world(*quiet(3), hog(rate=50 * MI)), config(hard=HARD))
    exact = (4 * GI - 500 * MI - 300 * MI) * SECOND // (50 * MI)
    assert found.crossed_at is not None
    assert 0 <= found.crossed_at - exact <= SECOND // 10


def test_what_is_over_within_the_grace_period_needs_nobody() -> None:
    burst = Burst(of=Usage.MEMORY, amount=3 * GI, start=60 * SECOND, duration=20 * SECOND)
    story = world(WorldPod(pod=pod("burst"), behaviours=(burst,)), *quiet(3))
    soft = {"memory.available": ("1Gi", "30s")}
    assert ideal_ends(story, config(soft=soft)).slots == frozenset()
    assert ideal_ends(story, config(soft={"memory.available": ("1Gi", "10s")})).slots == {"default/burst"}


def test_a_short_burst_between_two_looks_is_seen() -> None:
    burst = Burst(of=Usage.MEMORY, amount=4 * GI, start=61 * SECOND, duration=5 * SECOND)
    story = world(WorldPod(pod=pod("burst"), behaviours=(burst,)), duration=7200 * SECOND)
    assert ideal_ends(story, config(hard=HARD)).slots == {"default/burst"}


def test_a_threshold_whose_grace_period_runs_at_the_end_is_not_relieved() -> None:
    """In a file of ten minutes the neighbour was needed, in one of fifteen it was not."""
    grower = hog(Hold(of=Usage.MEMORY, amount=500 * MI), rate=5 * MI, memory="2Gi")
    pods = (holder("db", 1536 * MI, memory="1Gi"), replace(grower, culprit=False))
    soft = config(soft={"memory.available": ("1Gi", "90s")})
    for minutes in (10, 15):
        assert ideal_ends(world(*pods, duration=minutes * 60 * SECOND), soft).slots == {"default/hog"}
    assert ideal_ends(world(*pods, duration=400 * SECOND), soft).slots == {"default/db"}, "not met at the end"


def test_a_short_burst_of_a_disk_is_seen_between_the_evenly_spaced_times() -> None:
    burst = Burst(of=Usage.LAYER, amount=98 * GI, rate=98 * GI, start=60_200 * MILLISECOND, duration=2 * SECOND)
    node = NodeSpec(memory=4 * GI, nodefs=Disk(capacity=100 * GI))
    found = ideal_ends(
        world(WorldPod(pod=pod("burst"), behaviours=(burst,)), node=node), config(hard={"nodefs.available": "10Gi"})
    )
    assert found.slots == {"default/burst"}
    assert found.crossed_at is not None
    assert 61 * SECOND < found.crossed_at <= 62 * SECOND


def test_a_pod_that_comes_after_the_crossing_can_be_a_part_of_the_set() -> None:
    """`No set of evictable pods would have relieved the node` was said of two leaks of which the second came later."""
    late = replace(hog(name="late"), start=200 * SECOND)
    found = ideal_ends(replace(world(hog(name="early"), late), duration=600 * SECOND), config(hard=HARD))
    assert (found.relieves, found.slots) == (True, frozenset({"default/early", "default/late"}))
    critical = replace(late, pod=replace(late.pod, priority=2_000_000_000, source=PodSource.STATIC))
    found = ideal_ends(replace(world(hog(name="early"), critical), duration=600 * SECOND), config(hard=HARD))
    assert not found.relieves


def limited(limit: str, name: str = "hog", rate: int = 10 * MI) -> WorldPod:
    """A pod that grows until the kernel ends its container at its memory limit."""
    limits = {"memory": parse_quantity(limit)}
    return hog(rate=rate, name=name, containers=(Container(name="c", requests={}, limits=limits),))


def test_a_pod_whose_container_the_kernel_ends_at_its_limit_crosses_no_threshold() -> None:
    """`between two readings one was, first at 12m49.2s` was said of a pod of 2Gi on a node of 8Gi."""
    for minutes in (10, 20, 180):
        story = world(limited("2Gi"), memory=8 * GI, duration=minutes * MINUTE)
        assert ideal_ends(story, config(hard=HARD)).crossed_at is None


def test_a_pod_that_crosses_the_threshold_below_its_limit_is_found_at_the_same_time() -> None:
    story = world(limited("3900Mi"), *quiet(3), duration=20 * MINUTE)
    without = world(hog(rate=10 * MI), *quiet(3), duration=20 * MINUTE)
    found = ideal_ends(story, config(hard=HARD))
    assert found.slots == {"default/hog"}
    assert found.crossed_at == ideal_ends(without, config(hard=HARD)).crossed_at


def test_a_threshold_that_is_met_only_just_before_the_kernel_ends_a_container_is_seen() -> None:
    """It is met for one second of each two hours."""
    story = world(limited("3597Mi", rate=4 * MI), duration=7200 * SECOND)
    found = ideal_ends(story, config(hard=HARD))
    assert found.crossed_at is not None
    assert found.crossed_at // SECOND == 3596 // 4


def test_the_signals_of_one_disk_are_one_supply_and_those_of_memory_and_swap() -> None:
    shared, apart = world(), world(node=NodeSpec(memory=GI, imagefs=Disk(capacity=GI)))
    nodefs, imagefs = Signal.NODEFS_AVAILABLE, Signal.IMAGEFS_AVAILABLE
    assert imagefs in signals_of_supply(nodefs, shared)
    assert imagefs not in signals_of_supply(nodefs, apart)
    assert Signal.CONTAINERFS_AVAILABLE in signals_of_supply(imagefs, apart)
    assert Signal.NODEFS_INODES_FREE not in signals_of_supply(nodefs, shared)
    memory = {each for each in Signal if SIGNALS[each].resource in {Resource.MEMORY, Resource.SWAP}}
    assert signals_of_supply(Signal.SWAP_AVAILABLE, shared) == memory


def test_a_set_relieves_one_supply_that_does_not_relieve_another() -> None:
    both = world(
        hog(), hog(of=Usage.LOGS, rate=GI, name="noisy"), node=NodeSpec(memory=GI, nodefs=Disk(capacity=100 * GI))
    )
    hard = config(hard={**HARD, "nodefs.available": "12%"})
    assert relief(both, hard, 0, {Signal.NODEFS_AVAILABLE})(["default/noisy"])
    assert not relief(both, hard, 0, {Signal.MEMORY_AVAILABLE})(["default/noisy"])
    assert not relief(both, hard, 0)(["default/noisy"])
    assert relief(both, hard, 0)(["default/noisy", "default/hog"])
