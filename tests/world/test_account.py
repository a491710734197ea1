"""Checks the account: innocents, culprits, what was short and what came back."""

from dataclasses import replace

import pytest

from evictd.core.model.config import Policy
from evictd.core.model.decision import EvictPod
from evictd.core.model.pod import PodSource
from evictd.core.model.signal import Resource
from evictd.core.units.duration import MINUTE, SECOND
from evictd.world.account import OOM_KILLED, Verdict, account_of
from evictd.world.behaviours import Behaviour, Burst, Grow, Hold, Stops, TakeRest, Usage
from evictd.world.lifecycle import Happened, PodEnd
from evictd.world.loop import Run, play
from evictd.world.model import Disk, HostUse, NodeSpec, WorldPod
from evictd.world.oracle import IdealEnds, protected_pods
from tests.playbook import config, pod
from tests.world.worlds import (
    GI,
    HARD,
    MI,
    database_for_a_host_that_stops,
    disk_then_memory,
    evicted,
    hog,
    holder,
    quiet,
    world,
)


def test_who_takes_without_bound_is_a_culprit_unless_the_world_says_otherwise() -> None:
    assert hog().is_culprit
    assert WorldPod(pod=pod("a"), behaviours=(TakeRest(rate=1),)).is_culprit
    assert not WorldPod(pod=pod("a"), behaviours=(Grow(of=Usage.MEMORY, rate=1, bound=5),)).is_culprit
    assert not WorldPod(pod=pod("a"), behaviours=(Grow(of=Usage.MEMORY, rate=1),), culprit=False).is_culprit


def test_a_hog_that_goes_is_no_innocent() -> None:
    account = account_of(play(world(hog(), *quiet(5)), config(hard=HARD)))
    assert (account.innocents, account.regret, account.oom_kills) == (0, 0, 0)
    assert account.evictions_by_cause == {"memory.available": 1}
    assert 55 * SECOND < account.culprit_gone_at["default/hog"] < 70 * SECOND
    assert account.relieved_at is not None
    assert 0 < account.short_for["memory.available<500Mi"] < 10 * SECOND
    assert account.came_back[Resource.MEMORY] > 2 * GI


def test_a_culprit_is_not_the_cause_of_a_shortage_of_what_it_does_not_hold() -> None:
    """`the cause` was said of a leak of processes that went for inodes, of which it held none."""
    leaky = replace(hog(of=Usage.PROCESSES, rate=2, name="leaky"), culprit=True)
    fills = WorldPod(
        pod=pod("files", priority=100),
        behaviours=(Grow(of=Usage.LAYER_INODES, rate=50_000, bound=1_000_000),),
    )
    inodes = config(hard={"nodefs.inodesFree": "5%"}, policy=Policy.KUBELET)
    node = NodeSpec(memory=4 * GI, nodefs=Disk(capacity=100 * GI, inodes=1_000_000))
    account = account_of(play(world(leaky, fills, node=node), inodes))
    assert [(each.slot, each.verdict) for each in account.losses] == [
        ("default/files", Verdict.NEEDED),
        ("default/leaky", Verdict.INNOCENT),
    ]
    assert account.innocents == 1
    on_host = hog(of=Usage.HOST_PATH_INODES, rate=50_000, name="on-host")
    (loss, *_) = account_of(play(world(on_host, node=node), inodes)).losses
    assert loss.verdict is Verdict.CULPRIT, "it holds what it is not charged for"


LOGS = Hold(of=Usage.LOGS, amount=10 * MI)


@pytest.mark.parametrize("held", [(), (LOGS,)])
@pytest.mark.parametrize(
    "taken",
    [
        Grow(of=Usage.MEMORY, rate=20 * MI),
        Burst(of=Usage.MEMORY, amount=3900 * MI, start=150 * SECOND, duration=30 * SECOND),
    ],
)
def test_a_later_shortage_of_something_else_excuses_no_eviction(taken: Behaviour, held: tuple[Behaviour, ...]) -> None:
    """`needed to clear the threshold` was said of a pod that held nothing of the disk, because memory was short later."""
    account = account_of(disk_then_memory(taken, *held))
    assert account.ideal.slots == {"default/noisy", "default/cache"}
    assert [(each.slot, each.cause, each.verdict, each.needed_for) for each in account.losses] == [
        ("default/noisy", "nodefs.available", Verdict.CULPRIT, ""),
        ("default/cache", "nodefs.available", Verdict.INNOCENT, "memory.available"),
    ]
    assert account.innocents == 1


def test_a_shortage_that_is_there_when_a_pod_goes_for_another_needs_its_end() -> None:
    """Memory is short already, in its grace period: the end of the pod relieves that, whatever it was decided for."""
    taken = Burst(of=Usage.MEMORY, amount=3200 * MI, start=80 * SECOND, duration=100 * SECOND)
    (_, cache) = account_of(disk_then_memory(taken)).losses
    assert (cache.slot, cache.cause, cache.verdict) == ("default/cache", "nodefs.available", Verdict.NEEDED)


def test_a_later_shortage_does_not_let_a_pod_stand_in_for_another() -> None:
    """The end of `cache` would have done for memory what that of `job` does, but it went for the disk."""
    taken = Hold(of=Usage.MEMORY, amount=2 * GI)
    job = WorldPod(
        pod=pod("job", priority=9),
        behaviours=(Burst(of=Usage.MEMORY, amount=1800 * MI, start=150 * SECOND, duration=9 * SECOND),),
    )
    run = disk_then_memory(taken, others=[job])
    ideal = IdealEnds(slots=frozenset({"default/noisy", "default/job"}), crossed_at=88 * SECOND)
    losses = {each.slot: each for each in account_of(run, ideal).losses}
    assert losses["default/cache"].verdict is Verdict.INNOCENT
    assert not losses["default/cache"].stands_for


def test_a_later_shortage_that_no_set_relieves_blames_no_earlier_eviction() -> None:
    """`not needed` was said of the one pod that filled the disk, because the host filled the memory later."""
    leak = HostUse(name="leak", behaviours=(Grow(of=Usage.MEMORY, rate=20 * MI, start=100 * SECOND),))
    writer = WorldPod(pod=pod("writer"), behaviours=(Grow(of=Usage.LOGS, rate=GI, bound=95 * GI),))
    node = NodeSpec(memory=4 * GI, nodefs=Disk(capacity=100 * GI))
    story = world(writer, *quiet(1), host=(leak,), node=node, duration=10 * MINUTE)
    account = account_of(play(story, config(hard={**HARD, "nodefs.available": "12%"})))
    assert not account.ideal.relieves
    assert [(each.slot, each.cause, each.verdict) for each in account.losses] == [
        ("default/writer", "nodefs.available", Verdict.NEEDED),
        ("default/quiet-0", "memory.available", Verdict.INNOCENT),
    ]


def test_pods_that_go_in_place_of_a_static_one_are_innocent() -> None:
    static = hog(source=PodSource.STATIC, name="static", rate=40 * MI)
    run = play(world(static, *quiet(8)), config(hard=HARD))
    account = account_of(run)
    assert not account.ideal.relieves
    assert account.innocents == len(evicted(run))


def test_one_of_two_alike_stands_in_for_the_other() -> None:
    """The observer takes the first by rank at the crossing; the policy may take its equal."""
    pods = tuple(holder(name, 2 * GI) for name in ("a", "b"))
    run = play(world(*pods), config(hard=HARD))
    assert account_of(run).regret == 0
    other = type(account_of(run).ideal)(slots=frozenset({"default/b"}), crossed_at=0)
    assert evicted(run) == ["a"]
    assert account_of(run, other).innocents == 0


def test_a_smaller_pod_that_relieves_the_node_as_well_stands_in_for_a_larger_one() -> None:
    """Both suffice, so neither is innocent; of both together one is."""
    pods = (holder("a", 1 * GI), holder("b", 2 * GI), holder("c", 900 * MI))
    run = play(world(*pods), config(hard=HARD))
    assert evicted(run) == ["b"]
    other = IdealEnds(slots=frozenset({"default/a"}), crossed_at=0)
    (loss,) = account_of(run, other).losses
    assert (loss.verdict, loss.stands_for) == (Verdict.NEEDED, "default/a")
    larger = IdealEnds(slots=frozenset({"default/b"}), crossed_at=0)
    both = replace(run, happened=(*run.happened, _evicted_too(run, "a", 3), _evicted_too(run, "c", 4)))
    assert [each.verdict for each in account_of(both, larger).losses] == [
        Verdict.NEEDED,
        Verdict.INNOCENT,
        Verdict.INNOCENT,
    ]


@pytest.mark.parametrize("priority", [0, 100])
def test_a_pod_of_higher_priority_is_not_needed_where_one_that_was_passed_over_was_enough(priority: int) -> None:
    """`no pod was evicted without need` was said of a database of priority 100, although a job was enough."""
    run = play(database_for_a_host_that_stops(priority), config(hard={"memory.available": "200Mi"}))
    (loss,) = account_of(run).losses
    assert (loss.slot, loss.enough, loss.stands_for) == (
        "default/db",
        *(("default/job", "") if priority else ("", "default/job")),
    )
    assert loss.verdict is (Verdict.INNOCENT if priority else Verdict.NEEDED)
    assert loss.why == ("default/job of lower priority was enough" if priority else "")


def test_a_pod_that_holds_more_but_does_not_suffice_stands_in_for_none() -> None:
    """`early` holds more when it goes, and `burst` would take all the same later."""
    burst = WorldPod(
        pod=pod("burst"), behaviours=(Burst(of=Usage.MEMORY, amount=5 * GI, start=60 * SECOND, duration=30 * SECOND),)
    )
    run = play(world(holder("early", 3900 * MI), burst, duration=100 * SECOND), config(hard=HARD))
    ideal = IdealEnds(slots=frozenset({"default/burst"}), crossed_at=0)
    assert account_of(run, ideal).losses[0].slot == "default/early"
    assert account_of(run, ideal).losses[0].verdict is Verdict.INNOCENT


def test_a_pod_does_not_stand_in_for_the_culprit() -> None:
    """To end the database relieves the node too, until the leak has taken that as well."""
    leak = hog(name="leak", rate=5 * MI)
    run = play(world(holder("db", 3 * GI), leak, duration=150 * SECOND), config(hard=HARD))
    ideal = IdealEnds(slots=frozenset({"default/leak"}), crossed_at=100 * SECOND)
    assert [(each.slot, each.verdict) for each in account_of(run, ideal).losses] == [("default/db", Verdict.INNOCENT)]


def test_a_pod_stands_in_for_a_marked_one_that_grows_no_further() -> None:
    """`--grow` marks the pod that grows; the end of the job alone kept the node relieved, and was called not needed."""
    grown = WorldPod(pod=pod("db"), behaviours=(Grow(of=Usage.MEMORY, rate=5 * MI, bound=600 * MI),), culprit=True)
    run = play(world(holder("job", 3 * GI), grown, duration=150 * SECOND), config(hard=HARD))
    ideal = IdealEnds(slots=frozenset({"default/db"}), crossed_at=100 * SECOND)
    assert [(each.slot, each.verdict, each.stands_for) for each in account_of(run, ideal).losses] == [
        ("default/job", Verdict.NEEDED, "default/db")
    ]


@pytest.mark.parametrize("priority", [0, 2_000_000_000])
def test_a_killed_pod_does_not_stand_in_for_a_pod_of_the_observers_set(priority: int) -> None:
    """Its container is started again, and the observer may not end it at all if it is protected."""
    grown = (Grow(of=Usage.MEMORY, rate=100 * MI),)
    killed = WorldPod(pod=pod("killed", priority=priority), behaviours=grown, culprit=False)
    story = world(killed, holder("other", 1 * MI), duration=60 * SECOND)
    ideal = IdealEnds(slots=frozenset({"default/other"}), crossed_at=0)
    (loss,) = account_of(play(story, config()), ideal).losses
    assert (loss.slot, loss.cause, loss.verdict) == ("default/killed", OOM_KILLED, Verdict.INNOCENT)
    assert protected_pods(story, config()) == ({"default/killed"} if priority else frozenset())


def test_the_time_short_goes_to_the_end_of_the_world_and_counts_every_threshold_once() -> None:
    """The last cycle is at 90 s; two thresholds that are met at once are short for no longer than one."""
    static = holder("static", 3900 * MI, source=PodSource.STATIC)
    soft = config(hard=HARD, soft={"memory.available": ("1Gi", "30s")})
    account = account_of(play(world(static, duration=95 * SECOND), soft))
    assert account.short == 95 * SECOND
    assert set(account.short_for.values()) == {95 * SECOND}


def test_shortages_of_two_resources_one_after_the_other_add_up() -> None:
    memory = WorldPod(
        pod=pod("memory"),
        behaviours=(Burst(of=Usage.MEMORY, amount=3800 * MI, start=30 * SECOND, duration=20 * SECOND),),
    )
    disk = WorldPod(
        pod=pod("disk"),
        behaviours=(
            Burst(of=Usage.LAYER, amount=96 * GI, rate=50 * GI, start=90 * SECOND, duration=60 * SECOND),
            Stops(after=20 * SECOND),
        ),
    )
    node = NodeSpec(memory=4 * GI, nodefs=Disk(capacity=100 * GI))
    account = account_of(play(world(memory, disk, node=node), config(hard={**HARD, "nodefs.available": "5%"})))
    times = account.short_for
    assert times["memory.available<500Mi"] > 0
    assert account.short == times["memory.available<500Mi"] + times["nodefs.available<5%"]


def test_a_threshold_stays_met_while_policy_kubelet_waits_for_the_end_of_a_pod() -> None:
    """It was `not met any more` from a second after the eviction on, while the kernel killed."""
    slow = hog(Stops(after=None), rate=100 * MI, memory="256Mi", grace=120)
    soft = config(
        hard={"memory.available": "300Mi"},
        soft={"memory.available": ("2Gi", "10s")},
        policy=Policy.KUBELET,
        max_pod_grace_period_seconds=120,
    )
    run = play(world(slow, memory=8 * GI), soft)
    account = account_of(run)
    assert run.kills
    assert account.relieved_at is not None
    assert account.relieved_at > run.kills[-1][0]
    assert account.short > 20 * SECOND


def _evicted_too(run: Run, name: str, at: int) -> Happened:
    spec = next(each for each in run.world.pods if each.pod.name == name)
    end = next(each.event for each in run.happened if isinstance(each.event, PodEnd))
    return Happened(at=at * SECOND, event=replace(end, uid=name, name=spec.pod.full_name, slot=spec.pod.full_name))


def test_a_pod_that_was_being_deleted_is_leaving_and_was_decided_when_its_time_was_shortened() -> None:
    old = WorldPod(
        pod=pod("old", memory="3Gi"),
        behaviours=(Hold(of=Usage.MEMORY, amount=2 * GI), Stops(after=300 * SECOND)),
        deleted_at=10 * SECOND,
    )
    old = replace(old, pod=replace(old.pod, termination_grace_period_seconds=600))
    grower = WorldPod(
        pod=pod("new", memory="3Gi"), behaviours=(Grow(of=Usage.MEMORY, rate=20 * MI, bound=2 * GI),), culprit=False
    )
    run = play(world(old, grower), config(hard=HARD))
    (loss,) = account_of(run).losses
    shortened = next(c.at for c in run.cycles for each in c.step.decisions if isinstance(each, EvictPod))
    assert (loss.name, loss.verdict, loss.decided_at) == ("default/old", Verdict.LEAVING, shortened)
    assert loss.at > loss.decided_at


def test_the_kernel_s_innocents_are_counted_apart() -> None:
    slow = WorldPod(pod=pod("critical", priority=2_000_000_000), behaviours=(Grow(of=Usage.MEMORY, rate=100 * MI),))
    victim = WorldPod(pod=pod("small"), behaviours=(Hold(of=Usage.MEMORY, amount=200 * MI),))
    account = account_of(play(world(slow, victim, duration=60 * SECOND), config()))
    assert account.innocents == 0
    assert account.oom_kills > 0
