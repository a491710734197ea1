"""Checks the warnings about thresholds of a world."""

from evictd.core.model.config import EvictionConfig
from evictd.render.world_warnings import warnings_text
from evictd.world.loop import play
from evictd.world.model import NodeSpec
from tests.playbook import config
from tests.world.worlds import GI, MI, quiet, world

SOFT = config(hard={"memory.available": "1Mi"}, soft={"memory.available": ("120Mi", "5s")})


def warnings(settings: EvictionConfig, unusable: int = 0) -> list[str]:
    """The warnings about a configuration on a node of 4Gi."""
    node = NodeSpec(memory=4 * GI, unusable_memory=unusable)
    return [*warnings_text(play(world(*quiet(3), node=node), settings))]


def test_a_threshold_that_a_real_kernel_would_forestall_is_named() -> None:
    (warning,) = warnings(SOFT)
    assert warning == (
        "Warning: on a real node of 4Gi the OOM killer can act before memory.available<120Mi is met, as 137Mi to 207Mi that no "
        "process can allocate count as available (docs/tuning.md); this world has none of it: set `node.unusableMemory`."
    )
    assert warnings(SOFT, unusable=150 * MI) == []
    assert warnings(config(hard={"memory.available": "120Mi"})) == [], "a hard one goes by the kernel's estimate"


def test_a_threshold_above_the_capacity_is_named() -> None:
    assert warnings(config(hard={"memory.available": "6Gi"})) == [
        "Warning: memory.available<6Gi is not below the node's 4Gi, so it is always met."
    ]
