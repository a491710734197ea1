"""The law of calm cycles: to read the pods only where `core.eviction.calm` asks for it changes no decision.

Worlds of pods that hold, grow, release, burst, fill the disk or fork, some of them static, are played twice: with the pods of
each cycle, and with those that the daemon reads. Each of the rule's two halves is needed: mutants of it are found.
"""

from collections.abc import Iterator
from random import Random

import pytest

from evictd.core.eviction import calm
from evictd.core.model.decision import Decision, RecordEvent, Wait
from evictd.core.model.pod import PodSource
from evictd.core.units.duration import MINUTE, SECOND
from evictd.world.behaviours import Behaviour, Burst, Grow, Hold, LeakAndRelease, Usage
from evictd.world.loop import Run, play
from evictd.world.model import NodeSpec, World, WorldPod
from tests.playbook import config, pod

pytestmark = pytest.mark.slow
GI, MI = 1 << 30, 1 << 20
SETTINGS = config(hard={"memory.available": "500Mi", "nodefs.available": "10%", "pid.available": "10%"})
RATES = {Usage.MEMORY: (1, 2, 5, 50, 200, 500), Usage.VOLUME: (20, 100, 400, 1000)}
"""MiB per second."""
WORLDS = 16


def some_behaviours(random: Random, held: int) -> Iterator[Behaviour]:
    """Yield what a pod does that holds so many MiB."""
    yield Hold(of=Usage.MEMORY, amount=held * MI)
    start, kind = random.randint(60, 200) * SECOND, random.random()
    if kind < 0.3:
        bound = random.choice((None, random.randint(50, 3000) * MI))
        yield Grow(of=Usage.MEMORY, rate=random.choice(RATES[Usage.MEMORY]) * MI, start=start, bound=bound)
    elif kind < 0.45:
        peak = random.randint(50, 400) * MI
        yield LeakAndRelease(of=Usage.MEMORY, rate=random.randint(1, 20) * MI, peak=peak, start=start // 2)
    elif kind < 0.6:
        duration = random.randint(5, 60) * SECOND
        yield Burst(of=Usage.MEMORY, amount=random.randint(50, 800) * MI, start=start, duration=duration)
    elif kind < 0.7:
        yield Grow(of=Usage.VOLUME, rate=random.choice(RATES[Usage.VOLUME]) * MI, start=start)
    elif kind < 0.75:
        yield Grow(of=Usage.PROCESSES, rate=random.choice((20, 500, 5000)), start=start)


def some_world(seed: int) -> World:
    """Return a world of six minutes; the same for the same seed. In one of three nothing wakes evictd at a crossing."""
    random, pods = Random(seed), list[WorldPod]()
    for number in range(random.randint(4, 10)):
        held = random.randint(50, 600)
        one = pod(
            f"pod-{number}",
            memory=f"{max(16, held + random.randint(-200, 200))}Mi",
            priority=random.choice((0, 0, 0, 1000)),
            source=PodSource.STATIC if random.random() < 0.2 else PodSource.API,
        )
        pods.append(WorldPod(pod=one, behaviours=tuple(some_behaviours(random, held))))
    spec = NodeSpec(memory=random.choice((6, 8, 16)) * GI)
    return World(name="w", node=spec, pods=tuple(pods), duration=6 * MINUTE, watch=random.random() < 2 / 3)


def decisions(run: Run) -> list[tuple[int, Decision | str]]:
    """List what was decided and when. Of an event the reason: its text names the time since which growth was seen."""
    found = [(cycle.at, each) for cycle in run.cycles for each in cycle.step.decisions if not isinstance(each, Wait)]
    return [(at, each.reason if isinstance(each, RecordEvent) else each) for at, each in found]


def differs(world: World) -> bool:
    """Whether a world is decided otherwise when pods are read only where the rule asks for it."""
    return decisions(play(world, SETTINGS)) != decisions(play(world, SETTINGS, calm=True))


def test_reading_pods_only_where_they_are_needed_changes_no_decision() -> None:
    assert [seed for seed in range(WORLDS) if differs(some_world(seed))] == []


def test_two_of_three_readings_of_pods_are_left_out_where_nothing_happens() -> None:
    quiet = tuple(WorldPod(pod=pod(f"q-{i}"), behaviours=(Hold(of=Usage.MEMORY, amount=50 * MI),)) for i in range(4))
    run = play(World(name="quiet", node=NodeSpec(memory=8 * GI), pods=quiet, duration=5 * MINUTE), SETTINGS, calm=True)
    read = [cycle.at // SECOND for cycle in run.cycles if cycle.observation.pods_read]
    assert read == list(range(0, 301, 30))
    assert len(run.cycles) == 31


def test_pods_once_a_minute_would_change_a_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of 800 worlds tell it; this is the first."""
    world = some_world(297)
    assert not differs(world)
    monkeypatch.setattr(calm, "HALF", MINUTE)
    assert differs(world)


def test_a_crossing_decided_without_reading_the_pods_would_change_a_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calm, "_is_near_any", lambda *_: False)
    assert differs(some_world(0))
