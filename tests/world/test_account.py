"""Checks the account: innocents, culprits, what was short and what came back."""

from dataclasses import replace

from evictd.core.model.decision import EvictPod
from evictd.core.model.pod import PodSource
from evictd.core.model.signal import Resource
from evictd.core.units.duration import SECOND
from evictd.world.account import Verdict, account_of, is_culprit
from evictd.world.behaviours import Grow, Hold, Stops, TakeRest, Usage
from evictd.world.loop import play
from evictd.world.model import WorldPod
from tests.playbook import config, pod
from tests.world.worlds import GI, HARD, MI, evicted, hog, holder, quiet, world


def test_who_takes_without_bound_is_a_culprit_unless_the_world_says_otherwise() -> None:
    assert is_culprit(hog())
    assert is_culprit(WorldPod(pod=pod("a"), behaviours=(TakeRest(rate=1),)))
    assert not is_culprit(WorldPod(pod=pod("a"), behaviours=(Grow(of=Usage.MEMORY, rate=1, bound=5),)))
    assert not is_culprit(WorldPod(pod=pod("a"), behaviours=(Grow(of=Usage.MEMORY, rate=1),), culprit=False))


def test_a_hog_that_goes_is_no_innocent() -> None:
    account = account_of(play(world(hog(), *quiet(5)), config(hard=HARD)))
    assert (account.innocents, account.regret, account.oom_kills) == (0, 0, 0)
    assert account.evictions_by_cause == {"memory.available": 1}
    assert 55 * SECOND < account.culprit_gone_at["default/hog"] < 70 * SECOND
    assert account.relieved_at is not None
    assert 0 < account.short_for["memory.available<500Mi"] < 10 * SECOND
    assert account.came_back[Resource.MEMORY] > 2 * GI


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
    other = type(account_of(run).ideal)(slots=frozenset({"default/b"}))
    assert evicted(run) == ["a"]
    assert account_of(run, other).innocents == 0


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
