"""Checks when a crossing begins a cycle."""

import pytest

from evictd.core.units.duration import MILLISECOND, SECOND
from evictd.world.behaviours import Usage
from evictd.world.loop import Run, WakeCause, play
from evictd.world.model import Disk, NodeSpec
from tests.playbook import config, empty_dir
from tests.world.worlds import GI, MI, hog, world

WRITER = {Usage.VOLUME: 100 * MI, Usage.VOLUME_INODES: 20_000}


def played(of: Usage, rate: int, *, watch: bool = True) -> Run:
    """Play a writer on a disk of 10 GiB and a million inodes."""
    writer = hog(of=of, rate=rate, name="writer", volumes=[empty_dir("data")])
    node = NodeSpec(memory=4 * GI, nodefs=Disk(capacity=10 * GI, inodes=1_000_000))
    return play(
        world(writer, node=node, duration=100 * SECOND, watch=watch),
        config(hard={"nodefs.available": "1Gi", "nodefs.inodesFree": "100000"}),
    )


def crossed(run: Run) -> list[int]:
    """When a crossing began a cycle."""
    return [cycle.at for cycle in run.cycles if cycle.woken is WakeCause.CROSSED]


@pytest.mark.parametrize(("of", "room"), [(Usage.VOLUME, 9 * GI), (Usage.VOLUME_INODES, 900_000)])
def test_a_disk_that_fills_is_noticed_soon_after_the_crossing(of: Usage, room: int) -> None:
    rate = WRITER[of]
    first = crossed(played(of, rate))[0]
    assert 0 <= first - room * SECOND // rate <= 110 * MILLISECOND


def test_without_the_watch_a_disk_is_read_in_cycles_only() -> None:
    assert crossed(played(Usage.VOLUME, WRITER[Usage.VOLUME], watch=False)) == []


def test_a_calm_disk_begins_no_cycle() -> None:
    run = play(
        world(hog(of=Usage.VOLUME, rate=1, name="calm", volumes=[empty_dir("data")]), duration=60 * SECOND),
        config(hard={"nodefs.available": "1Gi"}),
    )
    assert {cycle.woken for cycle in run.cycles} == {WakeCause.TIME}
