"""Checks what is said of the hard thresholds and the pauses of configurations side by side."""

from dataclasses import replace

from evictd.core.model.finding import NoAction, NoActionReason
from evictd.core.units.duration import SECOND
from evictd.render.simulation.worlds.shortages import shortage_texts
from evictd.render.simulation.worlds.world_outcome import PlayedWorld
from evictd.world.account import account_of
from evictd.world.loop import play
from tests.playbook import config
from tests.render.played_worlds import played
from tests.world.worlds import hog, quiet, world


def test_hard_thresholds_that_were_met_longer_are_told_and_equal_ones_are_not() -> None:
    """A side of 2s and one of 1m21s were both only `short`: the soft threshold was met for longer still."""
    side = played(world(hog(), *quiet(3)))
    longer = replace(
        side, name="soft.yaml", account=replace(side.account, short_for={"memory.available<500Mi": 81 * SECOND})
    )
    met = "memory.available<500Mi for 200ms with policy Standard, memory.available<500Mi for 1m21s with soft.yaml"
    assert list(shortage_texts([side, longer])) == [f"Hard threshold met: {met}."]
    assert not list(shortage_texts([side, side]))
    soft = play(side.run.world, config(soft={"memory.available": ("1Gi", "1s")}))
    other = PlayedWorld(name="soft", run=soft, account=account_of(soft))
    assert not list(shortage_texts([side, other])), "it has no hard threshold"


def test_a_pause_of_the_evictions_has_its_times() -> None:
    side = played(world(hog(), *quiet(3)))
    first, second, third, *_ = side.run.cycles
    paused = NoAction(why=NoActionReason.EVICTIONS_DO_NOT_HELP)

    def with_pause(*numbers: int) -> PlayedWorld:
        cycles = tuple(
            replace(each, at=number * 10 * SECOND, step=replace(each.step, findings=(paused,)))
            if number in numbers
            else replace(each, at=number * 10 * SECOND)
            for number, each in enumerate((first, second, third, third, third))
        )
        return replace(side, run=replace(side.run, cycles=cycles))

    assert list(shortage_texts([with_pause(1, 2), side])) == [
        "With policy Standard evictions paused from 10s to 30s (EvictionsDoNotHelp)."
    ]
    assert list(shortage_texts([with_pause(1, 4), side])) == [
        "With policy Standard evictions paused 2 times from 10s to 5m0s, for 4m30s in all (EvictionsDoNotHelp)."
    ]
