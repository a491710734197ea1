"""Plays small worlds and looks at what became of them."""

from dataclasses import replace
from typing import Any

import pytest

from evictd.core.model.config import ImageReclaim, Policy
from evictd.core.model.decision import EvictPod, ReclaimNode
from evictd.core.model.observation import Reclaim
from evictd.core.model.pod import PodSource
from evictd.core.model.resources import Container
from evictd.core.model.signal import Signal
from evictd.core.units.duration import MINUTE, SECOND
from evictd.core.units.quantity import parse_quantity
from evictd.world.account import account_of
from evictd.world.behaviours import (
    Behaviour,
    Burst,
    Exits,
    Grow,
    Hold,
    LeakAndRelease,
    Stops,
    TakeRest,
    Unreadable,
    Usage,
)
from evictd.world.lifecycle import Collected, EndCause, PodArrival, PodEnd, RanOut
from evictd.world.loop import WakeCause, collect, play
from evictd.world.model import (
    ApiServer,
    DeadContainers,
    Disk,
    DisruptionBudget,
    Fault,
    HostUse,
    NodeImage,
    NodeSpec,
    Outage,
    Owner,
    Unread,
    WorldPod,
    within_volumes,
)
from evictd.world.node import SimulatedNode
from tests.playbook import config, empty_dir, pod, threshold
from tests.world.worlds import GI, HARD, MI, ends, evicted, hog, quiet, world


def test_a_hog_is_evicted_when_it_crosses_the_threshold_and_not_ten_seconds_later() -> None:
    run = play(world(hog(), *quiet(5)), config(hard=HARD))
    assert evicted(run) == ["hog"]
    crossing = next(cycle for cycle in run.cycles if cycle.woken is WakeCause.CROSSED)
    node = crossing.observation.node
    assert node is not None
    assert node.memory is not None
    assert 495 * MI < (node.memory.available_bytes or 0) < 500 * MI


def test_without_the_watch_a_crossing_is_found_by_the_next_cycle() -> None:
    run = play(world(hog(), *quiet(5), watch=False), config(hard=HARD))
    assert evicted(run) == ["hog"]
    assert not any(cycle.woken is WakeCause.CROSSED for cycle in run.cycles)


def test_a_calm_node_decides_nothing() -> None:
    run = play(world(*quiet(5)), config(hard=HARD))
    assert not run.happened
    assert len(run.cycles) == 31


def test_the_same_seed_gives_the_same_run() -> None:
    owner = Owner(name="ReplicaSet/hog", here=0.5, tolerates=True)
    story = world(hog(owner="ReplicaSet/hog"), *quiet(5), owners=(owner,), duration=30 * MINUTE, seed=3)
    assert play(story, config(hard=HARD)) == play(story, config(hard=HARD))


# --- ends -------------------------------------------------------------------------------------------------------------


def test_a_soft_victim_that_ignores_sigterm_lives_for_its_grace_period() -> None:
    soft = config(soft={"memory.available": ("2Gi", "10s")}, max_pod_grace_period_seconds=20)
    run = play(world(hog(Stops(after=None), rate=10 * MI, grace=600), *quiet(5)), soft)
    chosen = next(c.at for c in run.cycles for d in c.step.decisions if isinstance(d, EvictPod))
    gone = next(each.at for each in run.happened if isinstance(each.event, PodEnd))
    assert gone - chosen == 20 * SECOND + NodeSpec(memory=1).stop_overhead


def test_a_pod_that_ends_at_sigterm_is_gone_at_once() -> None:
    soft = config(soft={"memory.available": ("2Gi", "10s")}, max_pod_grace_period_seconds=20)
    run = play(world(hog(Stops(after=SECOND), rate=10 * MI, grace=600), *quiet(5)), soft)
    chosen = next(c.at for c in run.cycles for d in c.step.decisions if isinstance(d, EvictPod))
    gone = next(each.at for each in run.happened if isinstance(each.event, PodEnd))
    assert gone - chosen == SECOND + NodeSpec(memory=1).stop_overhead


def test_a_pod_that_exits_is_gone_without_an_eviction() -> None:
    run = play(world(WorldPod(pod=pod("job"), behaviours=(Exits(after=MINUTE),))), config(hard=HARD))
    assert ends(run) == [("default/job", EndCause.EXITED)]


def test_a_deleted_pod_shows_its_deletion_and_ends_within_its_grace() -> None:
    leaving = WorldPod(pod=pod("old", grace=40), behaviours=(Stops(after=None),), deleted_at=60 * SECOND)
    run = play(world(leaving), config(hard=HARD))
    shown = [c.at for c in run.cycles if any(p.deletion_grace_period_seconds == 40 for p in c.observation.pods)]
    assert 60 * SECOND <= shown[0] <= 70 * SECOND
    assert [(h.at, type(h.event)) for h in run.happened] == [(100 * SECOND + NodeSpec(memory=1).stop_overhead, PodEnd)]


def test_a_successor_has_a_new_uid_and_goes_again() -> None:
    owner = Owner(name="ReplicaSet/hog", delay=2 * SECOND, tolerates=True)
    run = play(world(hog(owner="ReplicaSet/hog", rate=100 * MI), owners=(owner,)), config(hard=HARD))
    arrived = [each.event for each in run.happened if isinstance(each.event, PodArrival)]
    assert [each.name for each in arrived[:2]] == ["default/hog-1", "default/hog-2"]
    assert len({"hog", *(each.uid for each in arrived)}) == len(arrived) + 1
    assert evicted(run)[:3] == ["hog", "hog-1", "hog-2"]
    assert account_of(run).regret == 0


def test_a_taint_keeps_the_successor_away_until_the_condition_ends() -> None:
    owner = Owner(name="ReplicaSet/hog", delay=2 * SECOND)
    run = play(world(hog(owner="ReplicaSet/hog"), owners=(owner,), duration=10 * MINUTE), config(hard=HARD))
    gone, back = (next(h.at for h in run.happened if isinstance(h.event, kind)) for kind in (PodEnd, PodArrival))
    assert back - gone >= 5 * MINUTE


def test_a_successor_that_is_bound_elsewhere_does_not_come_back() -> None:
    run = play(world(hog(owner="ReplicaSet/hog"), owners=(Owner(name="ReplicaSet/hog", here=0.0),)), config(hard=HARD))
    assert not any(isinstance(each.event, PodArrival) for each in run.happened)


# --- behaviours -------------------------------------------------------------------------------------------------------


def test_a_pod_that_leaks_and_releases_below_the_threshold_stays() -> None:
    saw = LeakAndRelease(of=Usage.MEMORY, rate=10 * MI, peak=2 * GI)
    assert evicted(play(world(WorldPod(pod=pod("saw"), behaviours=(saw,))), config(hard=HARD))) == []


def test_a_burst_that_is_over_before_the_soft_grace_is_left_alone() -> None:
    burst = Burst(of=Usage.MEMORY, amount=3 * GI, start=30 * SECOND, duration=20 * SECOND, every=MINUTE)
    run = play(
        world(WorldPod(pod=pod("burst"), behaviours=(burst,)), *quiet(2)),
        config(soft={"memory.available": ("1Gi", "30s")}),
    )
    assert evicted(run) == []


def test_a_pod_that_takes_all_that_is_left_comes_to_an_end() -> None:
    rest = WorldPod(pod=pod("rest"), behaviours=(TakeRest(rate=100 * MI, leave=100 * MI),))
    assert evicted(play(world(rest, *quiet(3)), config(hard=HARD))) == ["rest"]


def test_a_fork_bomb_is_evicted_for_pids() -> None:
    bomb = hog(of=Usage.PROCESSES, rate=500, name="bomb")
    assert evicted(play(world(bomb, *quiet(3)), config(hard={"pid.available": "10%"}))) == ["bomb"]


def test_an_unreadable_pod_has_no_statistics_at_times() -> None:
    sometimes = Unreadable(start=30 * SECOND, duration=20 * SECOND)
    run = play(world(WorldPod(pod=pod("a"), behaviours=(sometimes,))), config(hard=HARD))
    absent = [cycle.at // SECOND for cycle in run.cycles if "a" not in cycle.observation.pod_stats]
    assert absent == [30, 40]


def test_a_static_pod_stays() -> None:
    run = play(world(hog(source=PodSource.STATIC, rate=10 * MI, name="static")), config(hard=HARD))
    assert evicted(run) == []


# --- disks ------------------------------------------------------------------------------------------------------------

DISK = {"nodefs.available": "10%"}


def with_disk(**more: Any) -> NodeSpec:
    """A node whose disk has 20Gi."""
    return NodeSpec(memory=4 * GI, nodefs=Disk(capacity=20 * GI), **more)


def test_a_volume_that_grows_costs_its_pod() -> None:
    writer = hog(of=Usage.VOLUME, rate=200 * MI, name="writer", volumes=(empty_dir("data"),))
    run = play(world(writer, *quiet(3), node=with_disk()), config(hard=DISK))
    assert evicted(run) == ["writer"]
    assert account_of(run).relieved_at is not None


def test_images_that_no_pod_uses_are_collected_before_a_pod_goes() -> None:
    images = (NodeImage(name="old", size=6 * GI), NodeImage(name="used", size=GI))
    writer = WorldPod(pod=pod("writer"), behaviours=(Grow(of=Usage.LAYER, rate=100 * MI, bound=12 * GI),), image="used")
    node = with_disk(images=images, dead_containers=DeadContainers(size=GI))
    run = play(world(writer, node=node), config(hard=DISK))
    assert evicted(run) == []
    assert any(isinstance(d, ReclaimNode) for cycle in run.cycles for d in cycle.step.decisions)
    assert [each.event for each in run.happened] == [Collected(freed_bytes=7 * GI, removed=2)]


def test_no_pod_goes_beside_unused_images_if_only_enough_are_removed() -> None:
    """The job writes more while images are collected than was missing when that began (`reclaim.images: Enough`)."""
    images = (NodeImage(name="used", size=GI), *(NodeImage(name=f"old-{i}", size=200 * MI) for i in range(20)))
    writes = Grow(of=Usage.LAYER, rate=100 * MI, start=60 * SECOND, bound=7 * GI)
    job = WorldPod(pod=pod("job"), behaviours=(writes,), image="used")
    spec = NodeSpec(
        memory=8 * GI, nodefs=Disk(capacity=100 * GI, used=80 * GI), images=images, collection_time=3 * SECOND
    )
    enough = replace(config(hard=DISK), reclaim_images=ImageReclaim.ENOUGH)
    run = play(world(job, node=spec), enough)
    assert evicted(run) == []
    assert account_of(run).relieved_at is not None


def test_what_a_host_path_holds_stays_and_no_pod_is_charged_for_it() -> None:
    writer = hog(of=Usage.HOST_PATH, rate=200 * MI, name="writer")
    run = play(world(writer, node=with_disk()), config(hard=DISK))
    stats = run.cycles[-1].observation.pod_stats["writer"]
    assert stats.ephemeral_storage is not None
    assert stats.ephemeral_storage.used_bytes == 0


def test_what_grows_stands_still_while_nothing_is_left_of_a_resource() -> None:
    """The first fills the disk and the PIDs, the second can take no more, and goes on when the first is gone."""
    first = hog(Exits(after=2 * MINUTE), Grow(of=Usage.VOLUME, rate=500 * MI), of=Usage.PROCESSES, rate=1000, name="a")
    second = hog(Grow(of=Usage.VOLUME, rate=50 * MI), of=Usage.PROCESSES, rate=100, name="b")
    run = play(world(first, second, node=with_disk()), config(hard={}))
    most = max(each.observation.pod_stats["b"].process_count or 0 for each in run.cycles if each.at < 2 * MINUTE)
    last = run.cycles[-1]
    node, stats = last.observation.node, last.observation.pod_stats["b"]
    assert 2900 < most < 3100
    assert stats.process_count == pytest.approx(most + 100 * (last.at / SECOND - 120), abs=5)
    assert node is not None
    assert stats.ephemeral_storage is not None
    assert node.fs is not None
    assert stats.ephemeral_storage.used_bytes == pytest.approx(node.fs.used_bytes, rel=0.01)  # of a walk
    held = [each.event.held for each in run.happened if isinstance(each.event, PodEnd)]
    assert [each[Usage.PROCESSES] for each in held] == [pytest.approx(10 * most, rel=0.01)]


def test_a_resource_of_which_nothing_is_left_is_noted_with_its_time_once_until_some_is_free_again() -> None:
    """The PIDs are free again when the first has exited, and run out again."""
    burst = hog(Burst(of=Usage.LAYER, amount=200 * GI, start=61 * SECOND, duration=MINUTE, rate=50 * GI), rate=1)
    first = hog(Exits(after=2 * MINUTE), of=Usage.PROCESSES, rate=1000, name="a")
    run = play(world(burst, first, hog(of=Usage.PROCESSES, rate=500, name="b"), node=with_disk()), config(hard={}))
    found = [(each.at, each.event.signal) for each in run.happened if isinstance(each.event, RanOut)]
    assert [signal for _, signal in found] == [Signal.PID_AVAILABLE, Signal.NODEFS_AVAILABLE, Signal.PID_AVAILABLE]
    pids, disk, again = (at / SECOND for at, _ in found)
    assert pids == pytest.approx((32768 - 3) / 1500, abs=0.002)
    assert disk == pytest.approx(61.4, abs=0.002)
    assert again > 120
    assert run.ran_out == {Signal.PID_AVAILABLE: found[0][0], Signal.NODEFS_AVAILABLE: found[1][0]}


def test_a_disk_that_is_full_from_the_beginning_has_run_out_then() -> None:
    disk = Disk(capacity=GI, used=2 * GI)
    run = play(world(*quiet(1), node=NodeSpec(memory=4 * GI, nodefs=disk)), config(hard={}))
    assert run.ran_out == {Signal.NODEFS_AVAILABLE: 0}


def test_layers_lie_with_the_images_on_a_dedicated_disk() -> None:
    node = with_disk(imagefs=Disk(capacity=20 * GI))
    writer = hog(of=Usage.LAYER, rate=200 * MI, name="writer")
    run = play(world(writer, node=node), config(hard={"imagefs.available": "10%"}))
    assert evicted(run) == ["writer"]


# --- API server and faults --------------------------------------------------------------------------------------------


def test_a_budget_keeps_a_soft_victim_for_a_while() -> None:
    api = ApiServer(budgets=(DisruptionBudget(pods=frozenset({"default/hog"})),))
    soft = config(soft={"memory.available": ("2Gi", "10s")})
    story = world(hog(rate=10 * MI), *quiet(3), api_server=api, duration=10 * MINUTE)
    refused = play(story, soft)
    plain = play(world(hog(rate=10 * MI), *quiet(3)), soft)
    first = [next(h.at for h in run.happened if isinstance(h.event, PodEnd)) for run in (plain, refused)]
    assert evicted(refused)[0] != "hog" or first[1] > first[0]


def test_an_outage_holds_up_a_soft_eviction_only() -> None:
    api = ApiServer(outages=(Outage(start=0, duration=20 * MINUTE),))
    assert evicted(play(world(hog(), api_server=api), config(hard=HARD))) == ["hog"]
    soft = config(soft={"memory.available": ("2Gi", "10s")})
    assert evicted(play(world(hog(rate=10 * MI), api_server=api), soft)) == []


def test_what_a_fault_keeps_from_being_read_is_absent() -> None:
    fault = Fault(unread=Unread.MEMORY, start=30 * SECOND, duration=20 * SECOND)
    run = play(world(*quiet(1), faults=(fault,)), config(hard=HARD))
    absent = [
        c.at // SECOND for c in run.cycles if c.observation.node is not None and c.observation.node.memory is None
    ]
    assert absent == [30, 40]


def test_policy_kubelet_plays_the_same_world() -> None:
    run = play(world(hog(), *quiet(5)), config(hard=HARD, policy=Policy.KUBELET))
    assert evicted(run) == ["hog"]


def test_a_host_that_grows_is_no_pod() -> None:
    story = world(*quiet(3), host=(HostUse(name="slab", behaviours=(Grow(of=Usage.MEMORY, rate=20 * MI),)),))
    run = play(story, config(hard=HARD))
    account = account_of(run)
    assert not account.ideal.relieves
    assert account.innocents == len(evicted(run))


FILES = Grow(of=Usage.MEMORY_VOLUME, rate=10 * MI)
CACHE = Hold(of=Usage.PAGE_CACHE, amount=2 * GI)


@pytest.mark.parametrize(
    ("behaviours", "limit"),
    [
        ((FILES,), "1Gi"),
        ((Hold(of=Usage.MEMORY_VOLUME, amount=2 * GI), FILES), "1Gi"),
        ((CACHE, Grow(of=Usage.MEMORY, rate=MI)), "1Gi"),
        ((replace(FILES, of=Usage.PAGE_CACHE),), "1Gi"),
        ((TakeRest(rate=100 * MI),), "8Gi"),
    ],
)
def test_a_pod_that_can_take_no_more_does_not_stop_the_world_each_millisecond(
    monkeypatch: pytest.MonkeyPatch, behaviours: tuple[Behaviour, ...], limit: str
) -> None:
    next_change, stops = SimulatedNode.next_change, 0

    def counted(node: SimulatedNode, now: int) -> int | None:
        nonlocal stops
        stops += 1
        assert stops < 1000
        return next_change(node, now)

    monkeypatch.setattr(SimulatedNode, "next_change", counted)
    containers = (Container(name="c", limits={"memory": parse_quantity(limit)}),)
    limited = pod("a", containers=containers)
    run = play(world(WorldPod(pod=limited, behaviours=within_volumes(behaviours, limited))), config())
    assert run.cycles[-1].at == run.world.duration


def test_files_in_memory_grow_no_further_than_the_limit_of_their_pod() -> None:
    containers = (Container(name="c", limits={"memory": parse_quantity("1Gi")}),)
    limited = pod("a", containers=containers)
    files = WorldPod(pod=limited, behaviours=within_volumes((FILES,), limited))
    run = play(world(files), config())
    node = run.cycles[-1].observation.node
    assert node is not None
    assert node.memory is not None
    assert node.memory.available_bytes == 3 * GI


# --- collections ------------------------------------------------------------------------------------------------------

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


@pytest.mark.parametrize(("grown", "left"), [(0, ["pinned", "new"]), (6, ["pinned"])])
def test_enough_is_enough(grown: int, left: list[str]) -> None:
    node = SimulatedNode(world(node=NodeSpec(memory=1, images=IMAGES)))
    collect(node, reclaim(Reclaim.IMAGES, wanted=5), grown)
    assert list(node.images) == left
