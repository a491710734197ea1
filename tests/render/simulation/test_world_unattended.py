"""Checks the sentences on what would have come of a world without evictd."""

from dataclasses import replace

from evictd.core.units.duration import SECOND
from evictd.render.simulation.worlds.world_unattended import cost_texts, grows_on, unattended_texts, within_played
from evictd.world.behaviours import Grow, Usage
from evictd.world.model import Disk, NodeSpec
from evictd.world.process import Process
from tests.render.played_worlds import played
from tests.world.worlds import hog, quiet, world


def test_the_oom_killer_that_an_eviction_was_ahead_of_has_its_time() -> None:
    side = played(world(hog(rate=20 << 20), *quiet(3), duration=600 * SECOND))
    assert side.unattended is not None
    evicted = side.account.losses
    (text,) = unattended_texts(side.run, side.unattended, evicted)
    assert text.startswith("Without evictd the OOM killer would have come at ")
    assert not list(cost_texts(side.run, side.account, side.unattended, evicted)), "it ended only the cause"


def test_the_margin_of_a_disk_is_counted_from_the_first_eviction_for_it() -> None:
    """A leak went at 39s and the writer at 3m50s: the disk, full at 4m5.8s, was said to have had 3m27s."""
    node = NodeSpec(memory=4 << 30, nodefs=Disk(capacity=20 << 30, used=8 << 30))
    pods = hog(name="leak", rate=100 << 20), hog(name="writer", rate=50 << 20, of=Usage.LAYER)
    side = played(world(*pods, node=node), hard={"memory.available": "200Mi", "nodefs.available": "5%"})
    assert side.unattended is not None
    memory, disk = unattended_texts(side.run, side.unattended, side.account.losses)
    assert "2s after the first eviction for memory.available, and killed" in memory
    assert disk.endswith("at 4m5.8s, 16s after the first eviction for nodefs.available.")
    (_, writer) = side.account.losses
    (_, disk) = unattended_texts(side.run, side.unattended, [replace(writer, cause="exceeded its limit")])
    assert disk.endswith("at 4m5.8s."), "no eviction for it"


def test_growth_after_the_end_of_a_world_is_found_by_playing_on() -> None:
    story = world(duration=60 * SECOND)
    assert within_played(story) == "within the 1m0s played"
    leak, steady = Grow(of=Usage.MEMORY, rate=1 << 20), Grow(of=Usage.MEMORY, rate=1 << 20, bound=1 << 20)
    assert grows_on(Process((leak,), 0), story, tuple(Usage))
    assert not grows_on(Process((steady,), 0), story, tuple(Usage))
