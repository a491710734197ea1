"""What took the last of a supply is still the cause while nothing is left: no quiet pod goes in its place each minute."""

import pytest

from evictd.core.model.pod import PodSource
from evictd.core.units.duration import MINUTE
from evictd.world.behaviours import Usage
from evictd.world.loop import play
from evictd.world.model import Disk, NodeSpec
from tests.playbook import config
from tests.world.worlds import GI, MI, evicted, hog, holder, world

PIDS = NodeSpec(memory=8 * GI, pids=8000)
DISK = NodeSpec(memory=8 * GI, nodefs=Disk(capacity=20 * GI))


@pytest.mark.parametrize(
    ("node", "hard", "use", "rate", "held"),
    [
        (PIDS, {"pid.available": "10%"}, Usage.PROCESSES, 20, 300),
        (DISK, {"nodefs.available": "10%"}, Usage.LAYER, 50 * MI, 700 * MI),
    ],
)
def test_no_quiet_pod_goes_while_a_static_pod_has_taken_all(
    node: NodeSpec, hard: dict[str, str], use: Usage, rate: int, held: int
) -> None:
    """Its growth seemed to have ended where nothing was left to be taken, and a quiet pod went each minute in vain."""
    static = hog(of=use, rate=rate, name="static", source=PodSource.STATIC)
    quiet = [holder(f"web-{i}", held, use) for i in range(6)]
    played = play(world(static, *quiet, node=node, duration=12 * MINUTE), config(hard=hard))
    assert played.ran_out
    assert evicted(played) == []


def test_no_quiet_pod_goes_while_the_page_cache_of_a_static_pod_is_all_of_the_memory() -> None:
    """The kernel drops pages and kills nothing, so nothing is left for minutes; a quiet pod went each minute in vain."""
    static = hog(of=Usage.PAGE_CACHE, rate=20 * MI, name="static", source=PodSource.STATIC)
    quiet = [holder(f"web-{i}", 300 * MI) for i in range(6)]
    played = play(
        world(static, *quiet, memory=8 * GI, duration=12 * MINUTE), config(hard={"memory.available": "500Mi"})
    )
    assert evicted(played) == []
