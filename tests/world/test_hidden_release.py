"""What a victim gave back hides behind what other pods take at the same time: no small pod goes because it seems not to help."""

from typing import Any

from evictd.core.units.duration import MINUTE
from evictd.world.behaviours import Hold, Usage
from evictd.world.loop import play
from evictd.world.model import Disk, NodeSpec, WorldPod
from tests.playbook import config
from tests.world.worlds import GI, MI, evicted, hog, holder, world


def test_no_small_pod_goes_while_others_take_what_a_victim_gave_back() -> None:
    """The victim's bytes seemed to be due and then to be the host's growth: both small pods of low priority went first."""
    pods = (
        _writer("slow", 286, 10), _writer("slower", 168, 5), _writer("fast", 71, 40, priority=-10), _writer("loader", 186, 25),
        _holder("db", 1458), _holder("small-1", 37, priority=-10), _holder("small-2", 98, priority=-10), _holder("other", 166),
    )  # fmt: skip
    node = NodeSpec(memory=64 * GI, nodefs=Disk(capacity=3656 * MI))
    played = play(world(*pods, node=node, duration=2 * MINUTE), config(hard={"nodefs.available": "600Mi"}))
    assert evicted(played)[0] == "fast"
    assert not {"small-1", "small-2"} & set(evicted(played))


def _writer(name: str, held: int, rate: int, **more: Any) -> WorldPod:
    return hog(Hold(of=Usage.LAYER, amount=held * MI), rate=rate * MI, of=Usage.LAYER, name=name, **more)


def _holder(name: str, held: int, **more: Any) -> WorldPod:
    return holder(name, held * MI, Usage.LAYER, **more)
