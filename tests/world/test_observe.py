"""Checks the readings: ages of measurements, limits of capacities, stalls."""

from evictd.core.model.config import Policy
from evictd.core.model.pod import PodSource
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import stall_threshold
from evictd.core.units.duration import MINUTE, SECOND
from evictd.world.behaviours import Burst, Grow, Hold, Stalls, Usage
from evictd.world.kernel import OomKill
from evictd.world.loop import play
from evictd.world.model import Disk, NodeSpec, WorldPod
from tests.playbook import config, pod
from tests.world.worlds import GI, HARD, MI, hog, quiet, world


def test_a_layer_is_as_old_as_the_runtime_s_last_reading() -> None:
    writer = WorldPod(pod=pod("w"), behaviours=(Grow(of=Usage.LAYER, rate=10),), start=13 * SECOND)
    run = play(world(writer, duration=40 * SECOND), config(hard=HARD))
    read = [(c.at // SECOND, s.layers_time) for c in run.cycles if (s := c.observation.pod_stats.get("w")) is not None]
    assert read[0][1] is None
    assert read[-1][1] == 30 * SECOND


def test_a_layer_that_the_runtime_reads_all_the_time_is_never_old() -> None:
    """`layersPeriod: 0s` in a world ended in a traceback."""
    writer = WorldPod(pod=pod("w"), behaviours=(Grow(of=Usage.LAYER, rate=10),))
    last = play(world(writer, node=NodeSpec(memory=8 * GI, layers_period=0)), config(hard=HARD)).cycles[-1]
    assert last.observation.pod_stats["w"].layers_time == last.at


def test_logs_are_as_old_as_the_last_walk() -> None:
    writer = WorldPod(pod=pod("w"), behaviours=(Grow(of=Usage.LOGS, rate=10),))
    last = play(world(writer), config(hard=HARD)).cycles[-1]
    stats = last.observation.pod_stats["w"]
    assert stats.disk_time == last.at - NodeSpec(memory=1).walk_age
    assert stats.containers[0].logs is not None
    assert stats.containers[0].logs.used_bytes == 10 * stats.disk_time // SECOND


def test_deleted_files_are_looked_for_under_standard_alone() -> None:
    story = world(hog(of=Usage.UNLINKED, rate=MI))
    found = [play(story, config(hard=HARD, policy=policy)).cycles[-1].observation.pod_stats["hog"] for policy in Policy]
    deleted = {policy: each.deleted_local for policy, each in zip(Policy, found, strict=True)}
    of_standard = deleted[Policy.STANDARD]
    assert deleted[Policy.KUBELET] is None
    assert of_standard is not None
    assert (of_standard.used_bytes or 0) > 200 * MI


def test_a_full_disk_has_nothing_available() -> None:
    run = play(world(hog(of=Usage.HOST_PATH, rate=GI), node=NodeSpec(memory=GI, nodefs=Disk(capacity=GI))), config())
    node = run.cycles[-1].observation.node
    assert node is not None
    assert node.fs is not None
    assert (node.fs.available_bytes, node.fs.used_bytes) == (0, GI)


def test_the_fill_rate_is_what_the_watch_measures() -> None:
    run = play(world(hog(rate=10 * MI), *quiet(2)), config(hard=HARD))
    node = run.cycles[1].observation.node
    assert node is not None
    assert node.memory is not None
    assert node.memory.fill_rate == 10 * MI


def test_stalls_are_read_only_for_a_threshold() -> None:
    stalling = WorldPod(pod=pod("s"), behaviours=(Stalls(memory=40.0, start=MINUTE),))
    plain = play(world(stalling), config(hard=HARD))
    assert plain.cycles[-1].observation.node is not None
    assert plain.cycles[-1].observation.node.memory is not None
    assert plain.cycles[-1].observation.node.memory.psi is None
    stall = stall_threshold(Signal.NODE_MEMORY_FULL_10, 2000, duration=10 * SECOND, hard=False)
    settings = config(hard=HARD)
    watched = play(world(stalling), type(settings)(thresholds=(*settings.thresholds, stall)))
    psi = watched.cycles[-1].observation.pod_stats["s"].memory if watched.cycles[-1].observation.pod_stats else None
    assert psi is None or psi.psi is not None


def test_a_pod_that_was_killed_for_want_of_memory_is_measured_again_once_it_runs() -> None:
    killed = WorldPod(pod=pod("killed"), behaviours=(Hold(of=Usage.MEMORY, amount=600 * MI),))
    burst = Burst(of=Usage.MEMORY, amount=600 * MI, start=SECOND, duration=5 * SECOND)
    static = WorldPod(pod=pod("static", source=PodSource.STATIC), behaviours=(burst,))
    run = play(world(killed, static, node=NodeSpec(memory=GI)), config(hard={"pid.available": "10"}))
    assert {each.event.name for each in run.happened if isinstance(each.event, OomKill)} == {"default/killed"}
    found = [each.observation.pod_stats["killed"].memory for each in run.cycles]
    assert [each.working_set_bytes for each in found if each is not None][-1] == 600 * MI
