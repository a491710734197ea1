"""What a grace period did in a world that was played."""

from dataclasses import replace

import pytest

from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.simulation.grace import grace_texts, graces_differ
from evictd.world.account import account_of
from evictd.world.behaviours import Burst, Grow, Hold, Usage
from evictd.world.loop import play
from evictd.world.model import HostUse, NodeSpec, WorldPod
from tests.playbook import config, pod
from tests.world.worlds import GI, HARD, MI, hog, holder, quiet, world


@pytest.mark.parametrize(
    ("grace", "said"),
    [
        ("10m", "had been met for 26s of its grace period of 10m0s when memory.available<500Mi acted."),
        (
            "5s",
            "A grace period of 5s is shorter than the 10s between two cycles: memory.available<1Gi acted at the cycle after",
        ),
        ("10s", ""),
        ("", ""),
    ],
)
def test_a_grace_period_that_did_not_decide_is_said_to_be_so(grace: str, said: str) -> None:
    """Both sides of a comparison evicted at the same time, and no sentence said why the soft threshold did not."""
    soft = {"memory.available": ("1Gi", grace)} if grace else {}
    run = play(world(hog(rate=20 * MI), *quiet(3)), config(hard=dict(HARD), soft=soft))
    texts = list(grace_texts(run, account_of(run)))
    assert len(texts) == bool(said)
    assert said in "".join(texts)


def test_a_higher_soft_threshold_that_is_named_would_have_acted_first() -> None:
    """`a higher threshold` had no amount; `at least` was said of one that is rounded up, so that a lower one did too."""
    story = world(
        hog(rate=8 * MI), *quiet(3), node=NodeSpec(memory=4 << 30, unusable_memory=150 * MI), duration=MINUTE * 9
    )

    def text(soft: str) -> str:
        run = play(story, config(hard=dict(HARD), soft={"memory.available": (soft, "90s")}))
        return "".join(grace_texts(run, account_of(run)))

    assert " or a threshold of 1.5Gi it would have evicted default/hog first." in text("1Gi")
    assert text("1.5Gi") == ""


def test_no_higher_soft_threshold_is_named_above_half_of_the_capacity() -> None:
    """With a grace period as long as the world only a shorter one helps, of two cycles or more."""
    soft = {"memory.available": ("1Gi", "10m")}
    run = play(world(hog(rate=12 * MI), *quiet(3)), config(hard=dict(HARD), soft=soft))
    (text,) = grace_texts(run, account_of(run))
    assert text.endswith("s it would have evicted default/hog first.")


def test_no_higher_soft_threshold_is_named_that_costs_a_pod_more() -> None:
    """With the 4Gi that were named a batch job went in its burst, before the leak that had to go."""
    burst = Burst(
        of=Usage.MEMORY, amount=3 * GI, start=4 * MINUTE, duration=2 * MINUTE, every=10 * MINUTE, rate=200 * MI
    )
    batch = WorldPod(pod=pod("batch", priority=-10, memory="2Gi"), behaviours=(Hold(of=Usage.MEMORY, amount=GI), burst))
    held = Hold(of=Usage.MEMORY, amount=512 * MI)
    rest = holder("database", 7944 * MI, memory="8Gi", priority=1000)
    story = world(
        hog(held, rate=4 * MI),
        batch,
        rest,
        node=NodeSpec(memory=16 * GI, unusable_memory=150 * MI),
        duration=30 * MINUTE,
    )
    run = play(story, config(hard=dict(HARD), soft={"memory.available": ("1Gi", "90s")}))
    (text,) = grace_texts(run, account_of(run))
    assert text.endswith(" for 1.833s of its grace period of 1m30s when memory.available<500Mi acted."), (
        "1s gains nothing"
    )


def test_a_higher_soft_threshold_that_evicts_a_pod_within_its_request_is_said_to_cost_an_innocent_one() -> None:
    """`with a threshold of 3.25Gi it would have evicted default/web-0 first` read as advice; a burst was the cause."""
    burst = Burst(
        of=Usage.MEMORY, amount=2600 * MI, start=5 * MINUTE, duration=20 * SECOND, every=4 * MINUTE, rate=200 * MI
    )
    build = WorldPod(pod=pod("build", memory="1Gi"), behaviours=(Hold(of=Usage.MEMORY, amount=300 * MI), burst))
    web = [holder(f"web-{i}", 500 * MI, memory="600Mi") for i in range(2)]
    story = world(
        holder("db", 2800 * MI, memory="3Gi", priority=1000),
        build,
        *web,
        host=(HostUse(name="system", behaviours=(Hold(of=Usage.MEMORY, amount=GI),)),),
        node=NodeSpec(memory=8 * GI, unusable_memory=160 * MI),
        duration=MINUTE * 30,
    )
    run = play(
        story, config(hard=dict(HARD), soft={"memory.available": ("1Gi", "90s")}, max_pod_grace_period_seconds=60)
    )
    (text,) = grace_texts(run, account_of(run))
    assert text.endswith("it would have evicted default/web-0 first, which would have cost an innocent pod.")


def test_where_the_same_pods_are_lost_that_is_said() -> None:
    """`it would have evicted batch/etl first` read as a gain, and the same three pods were lost."""
    both = (hog(rate=8 * MI), replace(hog(rate=8 * MI), pod=pod("second")))
    node = NodeSpec(memory=4 << 30, unusable_memory=150 * MI)
    run = play(
        world(*both, *quiet(2), node=node, duration=MINUTE * 9),
        config(hard=dict(HARD), soft={"memory.available": ("1Gi", "60s")}),
    )
    account = account_of(run)
    assert len(account.losses) == 2
    (text,) = grace_texts(run, account)
    assert text.endswith(" first, and the same 2 pods would have been lost.")


def test_grace_periods_differ_where_both_sides_evict_with_other_ones() -> None:
    soft = {"memory.available": ("1Gi", "10s")}
    sides = [
        [each for cycle in play(world(hog(rate=20 * MI), *quiet(3)), under).cycles for each in cycle.step.decisions]
        for under in (config(hard=dict(HARD)), config(soft=soft, max_pod_grace_period_seconds=60), config())
    ]
    hard, softly, none = sides
    assert graces_differ([hard, softly])
    assert not graces_differ([hard, hard])
    assert not graces_differ([hard, none]), "one that evicts nothing has none"


def test_no_grace_period_is_named_that_helps_in_few_of_the_crossings() -> None:
    """`with a grace period of 25s` was said for the first of 30 leaks, and then 2s for one of the 29 that it did not help."""
    story = world(
        hog(rate=8 * MI), *quiet(3), node=NodeSpec(memory=4 << 30, unusable_memory=150 * MI), duration=MINUTE * 14
    )
    fast = tuple(
        WorldPod(pod=pod(f"fast-{at}"), behaviours=(Grow(of=Usage.MEMORY, rate=200 * MI, start=at * MINUTE),))
        for at in (9, 11)
    )
    for pods, named in ((story.pods, True), ((*story.pods, *fast), False)):
        run = play(replace(story, pods=pods), config(hard=dict(HARD), soft={"memory.available": ("1Gi", "90s")}))
        (text,) = grace_texts(run, account_of(run))
        assert ("with a grace period of 23s" in text) is named
