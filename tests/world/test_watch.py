"""Checks when a crossing begins a cycle."""

from dataclasses import replace

import pytest

from evictd.core.eviction.time_left import led_limit
from evictd.core.model.config import FastFill
from evictd.core.model.decision import EvictPod
from evictd.core.model.observation import signal_observations
from evictd.core.model.signal import Signal
from evictd.core.units.duration import MILLISECOND, SECOND
from evictd.world.behaviours import Usage
from evictd.world.loop import Run, WakeCause, WorldCycle, play
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


@pytest.mark.parametrize("limit", [2192, 2193, 2185, 2160])
def test_a_crossing_right_after_a_cycle_is_seen_after_the_shortest_time(limit: int) -> None:
    """A threshold that was crossed within 50 ms after a cycle was noticed at the OOM kill, seven seconds later."""
    story = world(hog(rate=300 * MI, memory="100Mi"), memory=8 * GI)
    run = play(story, config(hard={"memory.available": f"{limit}Mi"}))
    first = next(each.at for each in run.cycles if any(isinstance(d, EvictPod) for d in each.step.decisions))
    crossed = (8192 - limit) * SECOND // 300
    assert crossed <= first <= crossed + 100 * MILLISECOND
    assert not run.kills


def test_of_two_thresholds_the_higher_one_is_met_first() -> None:
    """A crossing at the time of a cycle was lost, so that a lower threshold seemed to act ten seconds earlier."""
    story = world(hog(rate=300 * MI, memory="100Mi"), memory=8 * GI)

    def acted(limit: str) -> int:
        cycles = play(story, config(hard={"memory.available": limit})).cycles
        return next(each.at for each in cycles if any(isinstance(d, EvictPod) for d in each.step.decisions))

    times = [acted(f"{limit}Mi") for limit in (2300, 2193, 2192, 2191, 2185, 2100)]
    assert times == sorted(times)


@pytest.mark.parametrize("lead", FastFill)
def test_a_lead_begins_an_eviction_before_the_crossing(lead: FastFill) -> None:
    """`memory.lead` changed nothing in a world unless a cycle happened to fall in the last second before the crossing."""
    story = world(hog(rate=300 * MI, memory="100Mi"), memory=8 * GI)
    run = play(story, replace(config(hard={"memory.available": "100Mi"}), memory_lead=lead))
    first = next(each for each in run.cycles if any(isinstance(d, EvictPod) for d in each.step.decisions))
    left = available(first, Signal.MEMORY_AVAILABLE)
    limit = led_limit(300 * MI) if lead is FastFill.AUTO else 100 * MI
    assert limit - 300 * MI // 10 <= left <= limit
    assert (limit > 200 * MI) is (lead is FastFill.AUTO)


@pytest.mark.parametrize("lead", FastFill)
def test_a_lead_of_disks_begins_a_cycle_before_the_crossing(lead: FastFill) -> None:
    writer = hog(of=Usage.VOLUME, rate=GI, name="writer", volumes=[empty_dir("data")])
    node = NodeSpec(memory=4 * GI, nodefs=Disk(capacity=100 * GI, inodes=1_000_000))
    limits = replace(config(hard={"nodefs.available": "100Mi"}), disk_lead=lead)
    run = play(world(writer, node=node, duration=200 * SECOND), limits)
    noticed = [each for each in run.cycles if each.woken is WakeCause.CROSSED]
    early = [each for each in noticed if available(each, Signal.NODEFS_AVAILABLE) > 512 * MI]
    assert bool(early) is (lead is FastFill.AUTO)


def available(cycle: WorldCycle, signal: Signal) -> int:
    """What was left of a signal in a cycle."""
    assert cycle.observation.node is not None
    return signal_observations(cycle.observation.node)[signal].available.value()
