"""A kubelet that removes the volumes of an ended pod late, as one that restarts: no other pod goes for what they hold."""

import pytest

from evictd.core.units.duration import MINUTE, SECOND
from evictd.world.account import account_of
from evictd.world.behaviours import Usage
from evictd.world.loop import play
from evictd.world.model import Disk, NodeSpec
from tests.playbook import config, empty_dir
from tests.world.worlds import GI, MI, evicted, hog, holder, world

DATA = [empty_dir("data")]
NEIGHBOURS = tuple(holder(f"neighbour-{i}", GI, Usage.VOLUME, storage="2Gi", volumes=DATA) for i in range(3))
HOG = hog(rate=100 * MI, of=Usage.VOLUME, volumes=DATA)


@pytest.mark.parametrize("delay", [1, 15, 29])
@pytest.mark.parametrize("hard", [True, False], ids=["hard", "soft"])
def test_no_pod_goes_for_volumes_that_are_removed_late(delay: int, *, hard: bool) -> None:
    """A neighbour within its request went each ten seconds."""
    node = NodeSpec(memory=4 * GI, nodefs=Disk(capacity=40 * GI), release_delay=delay * SECOND)
    settings = config(hard={"nodefs.available": "10%"}) if hard else config(soft={"nodefs.available": ("10%", "5s")})
    played = play(world(*NEIGHBOURS, HOG, node=node, duration=15 * MINUTE), settings)
    assert evicted(played) == ["hog"]
    assert account_of(played).relieved_at is not None
