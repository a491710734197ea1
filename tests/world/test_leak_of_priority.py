"""Pods of low priority beside one of high priority: they stay where it leaks, and it stays where they fill the node."""

import pytest

from evictd.core.units.duration import MINUTE, SECOND
from evictd.world.account import account_of
from evictd.world.behaviours import Hold, Usage
from evictd.world.loop import play
from evictd.world.model import Disk, NodeSpec, Owner
from tests.playbook import config
from tests.world.worlds import GI, MI, evicted, hog, holder, jobs_beside_a_database, world

OF_MEMORY = ("memory.available", Usage.MEMORY, 300 * MI, 5 * MI)
OF_DISK = ("nodefs.available", Usage.LAYER, 3 * GI, 50 * MI)


@pytest.mark.parametrize(("signal", "of", "amount", "rate"), [OF_MEMORY, OF_DISK], ids=["memory", "disk"])
def test_pods_over_their_requests_stay_where_a_leak_of_higher_priority_follows(
    signal: str, of: Usage, amount: int, rate: int
) -> None:
    """Each of them relieved the node for less than a minute, and then the leak went all the same."""
    over = [holder(f"over-{i}", amount, of, priority=-10) for i in range(4)]
    node = NodeSpec(memory=4 * GI, nodefs=Disk(capacity=40 * GI))
    played = play(
        world(*over, hog(rate=rate, of=of, priority=1000), node=node, duration=15 * MINUTE),
        config(hard={signal: "10%"}),
    )
    assert evicted(played) == ["hog"]
    assert account_of(played).relieved_at is not None


@pytest.mark.parametrize(("signal", "of", "amount", "rate"), [OF_MEMORY, OF_DISK], ids=["memory", "disk"])
@pytest.mark.parametrize("count", [3, 5])
def test_pods_over_their_requests_stay_where_several_pods_of_higher_priority_leak(
    count: int, signal: str, of: Usage, amount: int, rate: int
) -> None:
    """None of the leaks made half of all growth, so each of the others went before them, for less than a minute."""
    over = [holder(f"over-{i}", amount, of, priority=-10) for i in range(4)]
    leaks = [hog(rate=rate // 2, of=of, name=f"leak-{i}", priority=1000) for i in range(count)]
    node = NodeSpec(memory=5 * GI, nodefs=Disk(capacity=50 * GI))
    played = play(world(*over, *leaks, node=node, duration=30 * MINUTE), config(hard={signal: "10%"}))
    assert evicted(played) == [f"leak-{i}" for i in range(count)]
    assert account_of(played).relieved_at is not None


def test_a_database_of_high_priority_stays_where_jobs_fill_the_node() -> None:
    """At their rate no pods together lasted for 40 s, and the database went, as the only one that was twice as large."""
    played = play(jobs_beside_a_database(priority=100), config(hard={"memory.available": "200Mi"}))
    assert evicted(played) == ["job-0"]
    assert account_of(played).regret == 0


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("threshold", ["200Mi", "500Mi", "1Gi", "2Gi"])
def test_a_large_database_stays_where_the_end_of_the_jobs_is_the_end_of_all_growth(threshold: str, count: int) -> None:
    """The jobs held less than they would have taken in the time of an eviction; the database was the first that held more."""
    jobs = [
        hog(Hold(of=Usage.MEMORY, amount=50 * MI), rate=25 * MI, name=f"job-{i}", memory="100Mi") for i in range(count)
    ]
    database = holder("db", 3 * GI, memory="1Gi", priority=1000)
    played = play(world(database, *jobs, memory=6 * GI), config(hard={"memory.available": threshold}))
    assert "db" not in evicted(played)
    assert account_of(played).relieved_at is not None


@pytest.mark.parametrize("delay", [0, 2 * SECOND, 10 * SECOND])
def test_a_pod_whose_owner_creates_it_again_goes_once_and_then_the_leak(delay: int) -> None:
    """The new pod took the bytes back at once, and was evicted as well before the leak went."""
    web = holder("web", GI, memory="1000Mi", priority=-10, owner="ReplicaSet/web")
    leak = hog(rate=5 * MI, priority=100)
    owner = Owner(name="ReplicaSet/web", delay=delay, tolerates=True)
    played = play(world(web, leak, memory=2 * GI, owners=(owner,)), config(hard={"memory.available": "500Mi"}))
    assert evicted(played) == ["web", "hog"]
    assert account_of(played).relieved_at is not None
