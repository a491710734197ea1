"""Checks relations that the account of every world has to keep, over generated worlds."""

from dataclasses import replace
from random import Random

import pytest

from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.observation import signal_observations
from evictd.core.model.pod import PodSource
from evictd.core.model.signal import signal_named
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.simulation.worlds.world_outcome import outcome_text
from evictd.world.account import OOM_KILLED, Account, Verdict, account_of
from evictd.world.behaviours import Behaviour, Burst, Grow, Hold, LeakAndRelease, Stops, Usage
from evictd.world.loop import Run, play
from evictd.world.model import Disk, NodeSpec, World, WorldPod
from evictd.world.oracle import protected_pods
from tests.playbook import config, pod
from tests.world.worlds import MI

FAST = (10, 12, 24, 33)
SEEDS = [seed if seed in FAST else pytest.param(seed, marks=pytest.mark.slow) for seed in range(40)]


def _behaviour(random: Random) -> Behaviour:
    of = random.choice([Usage.MEMORY, Usage.MEMORY, Usage.MEMORY, Usage.LAYER, Usage.LOGS])
    match random.randrange(4):
        case 0:
            return Hold(of=of, amount=random.randint(1, 12) * 100 * MI)
        case 1:
            start, bound = random.choice([0, 30, 60]) * SECOND, random.choice([None, 500 * MI, 1000 * MI])
            return Grow(of=of, rate=random.randint(1, 40) * MI, start=start, bound=bound)
        case 2:
            start, duration = random.randint(10, 100) * SECOND, random.randint(3, 40) * SECOND
            return Burst(of=of, amount=random.randint(5, 30) * 100 * MI, start=start, duration=duration)
        case _:
            rate, peak = random.randint(5, 50) * MI, random.randint(5, 15) * 100 * MI
            return LeakAndRelease(of=of, rate=rate, peak=peak, low=100 * MI)


def _pod(random: Random, number: int) -> WorldPod:
    stops = (Stops(after=random.randint(1, 20) * SECOND),) if random.random() < 0.3 else ()
    source = PodSource.STATIC if random.random() < 0.1 else PodSource.API
    request, priority = f"{random.choice([100, 500, 1000])}Mi", random.choice([0, 0, 0, 1000])
    spec = pod(f"p{number}", memory=request, priority=priority, source=source)
    return WorldPod(pod=spec, behaviours=(_behaviour(random), *stops))


def generated(seed: int) -> tuple[World, EvictionConfig]:
    """A world of two to six pods whose memory or disk may become short, and a configuration."""
    random = Random(seed)
    pods = tuple(_pod(random, number) for number in range(random.randint(2, 6)))
    disk = Disk(capacity=random.randint(15, 40) * 100 * MI)
    node = NodeSpec(memory=random.randint(15, 40) * 100 * MI, nodefs=disk)
    world = World(name="generated", node=node, pods=pods, duration=random.randint(100, 300) * SECOND)
    memory, nodefs = random.choice([200, 300, 500]), random.choice([200, 300])
    soft = {"memory.available": ("600Mi", f"{random.choice([10, 30])}s")} if random.random() < 0.4 else {}
    made = config(hard={"memory.available": f"{memory}Mi", "nodefs.available": f"{nodefs}Mi"}, soft=soft)
    return world, replace(made, policy=Policy.KUBELET) if random.random() < 0.4 else made


def _losses(account: Account, until: int) -> list[tuple[int, str, str]]:
    return [(each.at, each.slot, each.cause) for each in account.losses if each.at <= until]


@pytest.fixture(params=SEEDS, scope="module")
def story(request: pytest.FixtureRequest) -> tuple[Run, Account]:
    """A generated world that was played, and its account."""
    run = play(*generated(request.param))
    return run, account_of(run)


def test_the_order_of_the_pods_in_the_file_changes_no_loss(story: tuple[Run, Account]) -> None:
    run, account = story
    turned = play(replace(run.world, pods=run.world.pods[::-1]), run.config)
    assert _losses(account_of(turned), run.world.duration) == _losses(account, run.world.duration)


def test_a_longer_world_has_the_same_losses_up_to_the_end_of_the_shorter(story: tuple[Run, Account]) -> None:
    run, account = story
    longer = play(replace(run.world, duration=run.world.duration + 2 * MINUTE), run.config)
    assert _losses(account_of(longer, account.ideal), run.world.duration) == _losses(account, run.world.duration)


def test_no_reading_has_less_than_the_least(story: tuple[Run, Account]) -> None:
    run, _ = story
    unattended = play(run.world, replace(run.config, thresholds=(), policy=Policy.KUBELET))
    for cycle in unattended.cycles:
        assert cycle.observation.node is not None
        for signal, seen in signal_observations(cycle.observation.node).items():
            assert unattended.least[signal] <= seen.available.value()


def test_what_is_noted_while_evicted_pods_end_has_no_more_than_a_reading(story: tuple[Run, Account]) -> None:
    run, account = story
    for loss in account.losses:
        signal = signal_named(loss.cause)
        noted = (
            [left for at, left in run.while_ending.get(signal, ()) if loss.decided_at <= at < loss.at] if signal else []
        )
        for cycle in run.cycles:
            if signal and loss.decided_at <= cycle.at < loss.at and cycle.observation.node is not None:
                assert min(noted) <= signal_observations(cycle.observation.node)[signal].available.value()


def test_a_kill_or_a_protected_pod_stands_in_for_no_other(story: tuple[Run, Account]) -> None:
    run, account = story
    protected = protected_pods(run.world, run.config)
    standing = [each for each in account.losses if each.stands_for or each.enough]
    assert not [each for each in standing if each.cause == OOM_KILLED or each.slot in protected]
    needed = {each.slot for each in account.losses if each.verdict is Verdict.NEEDED}
    assert len(needed) <= len(account.ideal.slots)


def test_the_conclusion_does_not_contradict_itself(story: tuple[Run, Account]) -> None:
    text = " ".join(outcome_text(*story))
    assert ("No threshold was met." in text) <= (story[1].ideal.crossed_at is None)
