"""When a threshold would have been clear again without evictd."""

from dataclasses import replace

from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.clear_again import clear_again_text
from evictd.world.behaviours import Burst, Grow, Hold, Usage
from evictd.world.loop import Run, play
from tests.playbook import config
from tests.world.worlds import HARD, hog, holder, world

GI = 1 << 30


def both(*behaviours: Hold | Grow | Burst) -> tuple[Run, Run]:
    """The run of a pod, and the same without thresholds."""
    pod = replace(holder("backup", GI), behaviours=(Hold(of=Usage.MEMORY, amount=GI), *behaviours))
    hard = config(hard=HARD)
    run = play(world(pod), hard)
    return run, play(run.world, replace(hard, thresholds=()))


def test_a_burst_that_ends_by_itself_is_said_to() -> None:
    """A pod was "needed" where nothing would have happened without its eviction."""
    burst = Burst(of=Usage.MEMORY, amount=GI * 27 // 10, start=MINUTE, duration=MINUTE)
    assert (
        clear_again_text(*both(burst), 70 * SECOND)
        == "; memory.available<500Mi would have been clear again from 2m0s on"
    )


def test_evictions_that_ended_no_shortage_are_said_to() -> None:
    burst = Burst(of=Usage.MEMORY, amount=GI * 27 // 10, start=MINUTE, duration=MINUTE)
    text = clear_again_text(*both(burst), 130 * SECOND)
    assert text.endswith(" clear again from 2m0s on, so the evictions did not end the shortage earlier")


def test_nothing_is_said_of_a_threshold_that_stays_met_or_of_no_eviction() -> None:
    assert clear_again_text(*both(Hold(of=Usage.MEMORY, amount=GI * 27 // 10)), None) == ""
    assert clear_again_text(*both(), 0) == ""
    run = play(world(hog(rate=1)), config(hard=HARD))
    assert clear_again_text(run, run, None) == ""
