"""A hog whose owner brings it back, over hours."""

from dataclasses import replace

from evictd.codec.config.kubelet_config import eviction_config
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.units.duration import HOUR
from evictd.world.loop import play
from evictd.world.model import Owner
from tests.world.worlds import HARD, evicted, hog, quiet, world

MI = 1 << 20


def evictions(config: EvictionConfig, *, hours: int = 3, tolerates: bool = False) -> int:
    """How often it goes in these hours; no other pod does."""
    leak = hog(rate=200 * MI, owner="ReplicaSet/leak")
    owner = Owner(name="ReplicaSet/leak", tolerates=tolerates)
    found = evicted(play(world(leak, *quiet(3), owners=(owner,), duration=hours * HOUR), config))
    assert {each.partition("-")[0] for each in found} == {"hog"}
    return len(found)


CONFIG = eviction_config({"evictionHard": HARD}, policy=Policy.STANDARD)


def test_a_hog_that_waits_for_the_end_of_the_taint_comes_back_ever_more_rarely() -> None:
    """In six hours 10 times instead of 61, if it fills the node in a minute."""
    assert evictions(replace(CONFIG, keep_away=False)) > 30
    assert evictions(CONFIG) == 7


def test_a_hog_that_tolerates_the_taint_is_not_helped() -> None:
    """Nothing keeps it away, so the node is not closed to others for its sake."""
    without = replace(CONFIG, keep_away=False)
    assert evictions(without, hours=1, tolerates=True) == evictions(CONFIG, hours=1, tolerates=True)
