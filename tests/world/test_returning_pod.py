"""A pod that returns at once after each eviction, and holds the same again: its evictions bring nothing that lasts."""

import pytest

from evictd.core.model.pod import PodSource
from evictd.core.units.duration import MINUTE, SECOND
from evictd.world.account import account_of
from evictd.world.behaviours import Grow, Hold, LeakAndRelease, Usage
from evictd.world.loop import play
from evictd.world.model import Disk, HostUse, NodeSpec, Owner, WorldPod
from tests.playbook import config, empty_dir, pod
from tests.world.worlds import GI, HARD, MI, evicted, hog, holder, world


def test_a_pod_that_returns_is_not_evicted_each_second() -> None:
    """It is over its request; a pod within its request grows slowly. It went 113 times, for nothing: twice for each other pod."""
    growing = hog(rate=6 * MI, name="growing", memory="4Gi")
    returns = holder("returns", 300 * MI, memory="200Mi", owner="ReplicaSet/returns")
    others = [holder(f"other-{i}", 250 * MI, memory="300Mi") for i in range(8)]
    owner = Owner(name="ReplicaSet/returns", delay=1 * SECOND, here=1.0, tolerates=True)
    played = play(
        world(growing, returns, *others, owners=(owner,), memory=4 * GI, duration=10 * MINUTE), config(hard=HARD)
    )
    gone = evicted(played)
    assert sum(name.startswith("returns") for name in gone) <= 2 * 9, gone


def test_a_leak_goes_before_a_pod_of_twice_its_request_that_returns() -> None:
    """The pod that returned went again each second until the leak held twice as much."""
    returns = holder("returns", GI, memory="500Mi", priority=-10, owner="StatefulSet/returns")
    leak = WorldPod(
        pod=pod("leak", memory="500Mi"),
        behaviours=(Hold(of=Usage.MEMORY, amount=400 * MI), Grow(of=Usage.MEMORY, rate=50 * MI, start=SECOND)),
    )
    owner = Owner(name="StatefulSet/returns", delay=1 * SECOND, tolerates=True)
    played = play(world(returns, leak, memory=3 * GI, owners=(owner,)), config(hard={"memory.available": "200Mi"}))
    assert evicted(played) == ["returns", "leak"]
    assert not played.kills


@pytest.mark.parametrize("rate", [50 * MI, 500 * MI, 4 * GI])
def test_growth_that_is_small_is_no_leak_beside_a_large_pod_that_returns(rate: int) -> None:
    """Where that takes its memory at once, all growth is its neighbour's, which exceeds its request by a few MiB."""
    returns = hog(name="returns", rate=rate, memory="500Mi", owner="StatefulSet/returns")
    beside = WorldPod(
        pod=pod("beside", memory="900Mi"),
        behaviours=(Hold(of=Usage.MEMORY, amount=GI), Grow(of=Usage.MEMORY, rate=MI // 100, bound=MI)),
    )
    owner = Owner(name="StatefulSet/returns", delay=1 * SECOND, tolerates=True)
    played = play(world(returns, beside, memory=3 * GI + 300 * MI, owners=(owner,)), config(hard=HARD))
    assert "beside" not in evicted(played)


def test_a_pod_slightly_over_its_request_is_not_evicted_each_second_beside_growth_that_no_eviction_ends() -> None:
    """What it gave back went to the page cache of a static pod, and it was evicted again, five times a second."""
    other = holder("other", 120 * MI, memory="40Mi", priority=-10)
    returns = holder("returns", 300 * MI, memory="200Mi", owner="DaemonSet/returns")
    reads = Grow(of=Usage.PAGE_CACHE, rate=20 * MI, start=SECOND, bound=1400 * MI)
    static = WorldPod(pod=pod("static", source=PodSource.STATIC), behaviours=(reads,))
    leaks = LeakAndRelease(of=Usage.MEMORY, rate=5 * MI, peak=600 * MI)
    played = play(
        world(
            *(other, returns, static),
            host=(HostUse(name="daemon", behaviours=(leaks,), oom_score_adj=-999),),
            owners=(Owner(name="DaemonSet/returns", delay=0, tolerates=True),),
            memory=2 * GI,
        ),
        config(hard={"memory.available": "100Mi"}),
    )
    assert evicted(played) == ["other", "returns"]


@pytest.mark.parametrize("of", [Usage.LAYER, Usage.VOLUME])
def test_a_pod_that_returns_and_goes_for_memory_does_not_keep_a_full_disk_from_being_relieved(of: Usage) -> None:
    """A collection followed each of its evictions, and pods had to be measured since: a walk of many files is older."""
    returns = hog(name="returns", rate=GI, memory="64Mi", owner="DaemonSet/returns")
    writer = hog(name="writer", rate=100 * MI, of=of, memory="200Mi", volumes=[empty_dir("data")])
    owner = Owner(name="DaemonSet/returns", delay=2 * SECOND, tolerates=True)
    node = NodeSpec(memory=6 * GI, nodefs=Disk(capacity=50 * GI, used=35 * GI), walk_age=10 * SECOND)
    played = play(world(returns, writer, node=node, owners=(owner,)), config(hard={**HARD, "nodefs.available": "10%"}))
    gone = evicted(played)
    assert gone.count("writer") == 1
    assert all(name.startswith(("returns", "writer")) for name in gone)
    assert max(account_of(played).short_for.values()) <= 60 * SECOND


def test_a_pod_that_gave_back_nothing_is_not_evicted_each_time_it_returns() -> None:
    """A static pod's page cache took each time what it gave back. As it requests nothing it went 149 times, as a cause again."""
    returns = holder("returns", 900 * MI, owner="ReplicaSet/returns")
    others = [holder(f"other-{i}", 600 * MI, memory="700Mi") for i in range(5)]
    static = hog(of=Usage.PAGE_CACHE, rate=50 * MI, name="static", source=PodSource.STATIC)
    owner = Owner(name="ReplicaSet/returns", delay=5 * SECOND, tolerates=True)
    played = play(
        world(returns, static, *others, owners=(owner,), memory=8 * GI, duration=15 * MINUTE), config(hard=HARD)
    )
    assert evicted(played) == ["returns", "returns-1"]
