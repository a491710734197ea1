"""What a world that goes on from a reading says of the readings before."""

from dataclasses import replace

import pytest

from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import EvictionConfig
from evictd.core.model.observation import Observation
from evictd.core.model.state import State, Step
from evictd.core.model.stats import NodeStats
from evictd.core.units.duration import MINUTE
from evictd.render.simulation.worlds.continued import continued_texts, unusable_texts
from evictd.simulation import SimulatedCycle, Turn
from evictd.world.behaviours import Grow, Usage
from evictd.world.continuation import world_of
from evictd.world.loop import Run, play
from tests.playbook import SINGLE, config, node, pod, usage

LEAK, FLOOD = pod("leak"), pod("flood")
HARD = config(hard={"memory.available": "100Mi", "nodefs.available": "10%"})


def reading(memory: str, disk: str, leak: str) -> Observation:
    """A reading of a leak beside a pod that writes."""
    stats = {"leak": usage(LEAK, memory=leak), "flood": usage(FLOOD, memory="1Gi", rootfs="1Gi")}
    return Observation(node=node(memory=memory, nodefs=disk), pods=(LEAK, FLOOD), pod_stats=stats)


def went_on(before: Observation, last: Observation) -> tuple[list[SimulatedCycle], Run]:
    """Ten minutes in which the leak grows on, from a reading one minute after another."""
    cycle = SimulatedCycle(at=0, turns=(Turn(observation=before, step=Step(state=State(), decisions=(), findings=())),))
    assert last.node is not None
    world = world_of(
        last.node,
        last.pods,
        last.pod_stats,
        name="w",
        filesystems=SINGLE,
        behaviours={"leak": (Grow(of=Usage.MEMORY, rate=10, start=MINUTE, bound=100),)},
        begin=MINUTE,
        duration=11 * MINUTE,
    )
    return [cycle], play(world, HARD)


def test_a_disk_that_was_filled_at_the_last_readings_and_is_not_any_more_is_named() -> None:
    """A log flood of 150Mi a second stood still, and the disk "would not have come below" what it had then."""
    found = went_on(reading("4Gi of 8Gi", "30Gi of 100Gi", "1Gi"), reading("4Gi of 8Gi", "24Gi of 100Gi", "1Gi"))
    (text,) = continued_texts(*found, HARD)
    assert text == (
        "nodefs.available fell by 102Mi a second at the last readings (a mean of 1m0s; the last of it may be faster): that is "
        "not continued, only the memory of default/leak grows on."
    )


def test_the_rate_that_the_last_reading_has_is_named_beside_the_mean() -> None:
    """84Mi a second over a minute stood for a burst that `advise` and the eviction had at 400Mi a second."""
    first, last = reading("4Gi of 8Gi", "30Gi of 100Gi", "1Gi"), reading("2Gi of 8Gi", "30Gi of 100Gi", "1Gi")
    assert last.node is not None
    assert last.node.memory is not None
    measured = replace(last.node, memory=replace(last.node.memory, fill_rate=400 << 20))
    (text,) = continued_texts(*went_on(first, last), HARD, measured)
    assert "fell by 34.1Mi a second at the last readings (a mean of 1m0s; in the end by 400Mi): that is not" in text
    most_is_the_leaks = reading("2Gi of 8Gi", "30Gi of 100Gi", "2.5Gi")
    (text,) = continued_texts(*went_on(first, most_is_the_leaks), HARD, measured)
    assert "fell by 8.53Mi a second at the last readings (a mean of 1m0s; the last of it may be faster)" in text


def test_signals_that_fell_alike_are_named_together() -> None:
    found = went_on(reading("4Gi of 8Gi", "30Gi of 100Gi", "1Gi"), reading("4Gi of 8Gi", "24Gi of 100Gi", "1Gi"))
    node_before = found[0][0].turns[0].observation.node
    assert node_before is not None
    of_images = replace(node_before, image_fs=node_before.fs)
    cycle = replace(found[0][0], turns=(replace(found[0][0].turns[0], observation=Observation(node=of_images)),))
    both = config(hard={"nodefs.available": "10%", "imagefs.available": "15%"})
    (text,) = continued_texts([cycle], play(found[1].world, both), HARD)
    assert text.startswith("nodefs.available and imagefs.available fell by 102Mi a second at the last readings")


@pytest.mark.parametrize(
    "other",
    [
        config(hard={"memory.available": "100Mi"}, soft={"memory.available": ("3Gi", "30s")}),
        config(hard={"memory.available": "3Gi"}),
    ],
    ids=["soft", "hard"],
)
def test_a_threshold_that_was_met_between_readings_may_act_sooner(other: EvictionConfig) -> None:
    """An eviction at 10Mi left was shown for a threshold of 500Mi, which evicts minutes before that reading."""
    for first, last, said in (("4Gi", "2Gi", True), ("4Gi", "3.5Gi", False)):
        before, run = went_on(
            reading(f"{first} of 8Gi", "30Gi of 100Gi", "1Gi"), reading(f"{last} of 8Gi", "30Gi of 100Gi", "3Gi")
        )
        step = synchronize(State(), before[0].turns[0].observation, other, 0)
        before = [replace(before[0], turns=(replace(before[0].turns[0], step=step),))]
        sooner = "memory.available<3Gi may act sooner, by up to 1m0s: it is met at 1m0s, and"
        texts = continued_texts(before, play(run.world, other), HARD)
        assert any(sooner in each for each in texts) is said
        assert not any(sooner in each for each in continued_texts(before, play(run.world, other), other))


def test_what_the_pod_that_grows_on_took_is_continued() -> None:
    found = went_on(reading("4Gi of 8Gi", "30Gi of 100Gi", "1Gi"), reading("2Gi of 8Gi", "30Gi of 100Gi", "3Gi"))
    assert continued_texts(*found, HARD) == ()
    other = went_on(reading("4Gi of 8Gi", "30Gi of 100Gi", "1Gi"), reading("2Gi of 8Gi", "30Gi of 100Gi", "1Gi"))
    assert continued_texts(*other, HARD)[0].startswith("memory.available fell by 34.1Mi a second at the last readings")


def test_a_slow_fall_and_a_single_reading_say_nothing() -> None:
    before, run = went_on(reading("4Gi of 8Gi", "30Gi of 100Gi", "1Gi"), reading("4Gi of 8Gi", "29Gi of 100Gi", "1Gi"))
    assert continued_texts(before, run, HARD) == ()
    assert continued_texts((), run, HARD) == ()
    unread = replace(before[0].turns[0], observation=Observation(node=None))
    assert continued_texts([replace(before[0], turns=(unread,))], run, HARD) == ()


def test_a_threshold_that_was_met_before_the_last_reading_is_named_with_its_time() -> None:
    """`30s memory.available is met` stood above an eviction at 40s after a grace period of 30s."""
    soft = config(soft={"memory.available": ("2Gi", "70s")})
    first = reading("1Gi of 8Gi", "50Gi of 100Gi", "1Gi")
    step = synchronize(State(), first, soft, 0)
    before = SimulatedCycle(at=0, turns=(Turn(observation=first, step=step),))
    _, run = went_on(first, first)
    run = play(run.world, soft, replace(step.state, last_cycle_at=None))
    met, at_once = continued_texts([before], run, soft)
    assert met == "Met at the readings before 1m0s: memory.available<2Gi since 0s."
    assert at_once == "Evicted pods end at once here: a reading does not say how long they take."


def test_that_unusable_memory_is_not_known_is_said() -> None:
    (text,) = unusable_texts(node(memory="3Gi of 8Gi"))
    assert text.startswith("The reading does not say how much memory no process can allocate; with 0, as here, ")
    assert unusable_texts(NodeStats()) == ()
