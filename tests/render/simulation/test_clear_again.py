"""When a threshold would have been clear again without evictd."""

from dataclasses import replace

import pytest

from evictd.core.model.decision import begun_evictions
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.simulation.worlds.clear_again import clear_again_text
from evictd.world.behaviours import Burst, Grow, Hold, Usage
from evictd.world.loop import Run, play
from tests.playbook import config
from tests.world.worlds import HARD, hog, holder, world

MI, GI = 1 << 20, 1 << 30


def both(*behaviours: Hold | Grow | Burst) -> tuple[Run, Run]:
    """The run of a pod, and the same without thresholds."""
    pod = replace(holder("backup", GI), behaviours=(Hold(of=Usage.MEMORY, amount=GI), *behaviours))
    hard = config(hard=HARD)
    run = play(world(pod), hard)
    return run, play(run.world, replace(hard, thresholds=()))


def test_a_burst_that_ends_by_itself_is_said_to() -> None:
    """A pod was "needed" where nothing would have happened without its eviction."""
    burst = Burst(of=Usage.MEMORY, amount=GI * 27 // 10, start=MINUTE, duration=MINUTE)
    assert clear_again_text(*both(burst)) == (
        "; memory.available<500Mi would have been met for 57s, and clear from 2m0s to the end"
    )


@pytest.mark.parametrize(("seconds", "length", "clear"), [(30, "5s", "1m30s"), (32, "7s", "1m32s")])
def test_a_shortage_between_two_cycles_has_its_length(seconds: int, length: str, clear: str) -> None:
    """The level was looked at each 10 s: a shortage of 5 s read like one without an end."""
    # From 1m25s on less than 500Mi are left of the 4000Mi.
    burst = Burst(of=Usage.MEMORY, amount=2600 * MI, start=MINUTE, duration=seconds * SECOND, rate=100 * MI)
    steady = replace(holder("steady", 1000 * MI), behaviours=(Hold(of=Usage.MEMORY, amount=1000 * MI),))
    pod = replace(holder("r", 0), behaviours=(burst,))
    hard = config(hard=HARD)
    run = play(world(pod, steady, memory=4000 * MI), hard)
    unattended = play(run.world, replace(hard, thresholds=()))
    assert clear_again_text(run, unattended) == (
        f"; memory.available<500Mi would have been met for {length}, and clear from {clear} to the end"
    )


def test_bursts_that_come_again_are_counted() -> None:
    """`clear again from 22m0s on` hid that it was clear between the bursts; `for good` was said of bursts that recur."""
    burst = Burst(of=Usage.MEMORY, amount=GI * 27 // 10, start=MINUTE, duration=MINUTE, every=2 * MINUTE)
    assert clear_again_text(*both(burst)).startswith(
        "; memory.available<500Mi would have been met 2 times, for 1m55s in all, and clear from 4m0s to the end"
    )


def test_evictions_that_ended_no_shortage_are_said_to() -> None:
    burst = Burst(of=Usage.MEMORY, amount=GI * 27 // 10, start=MINUTE, duration=MINUTE)
    run, unattended = both(burst)
    evicted = next(n for n, each in enumerate(run.cycles, 1) if any(begun_evictions(each.step.decisions)))
    text = clear_again_text(replace(run, cycles=run.cycles[:evicted]), unattended)
    assert text.endswith(" clear from 2m0s to the end, so the evictions did not end the shortage earlier")


def test_nothing_is_said_of_a_threshold_that_stays_met_or_of_no_eviction() -> None:
    assert clear_again_text(*both(Hold(of=Usage.MEMORY, amount=GI * 27 // 10))) == ""
    assert clear_again_text(*both()) == ""
    run = play(world(hog(rate=1)), config(hard=HARD))
    assert clear_again_text(run, run) == ""
