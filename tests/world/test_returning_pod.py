"""A pod that returns at once after each eviction, and holds the same again: its evictions bring nothing that lasts."""

from evictd.core.units.duration import MINUTE, SECOND
from evictd.world.loop import play
from evictd.world.model import Owner
from tests.playbook import config
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
