"""Checks what is said of thresholds that the first reading of a world meets."""

import io
from dataclasses import replace

from evictd.render.console import make_console
from evictd.render.simulation.met_at_start import evictions_met_at_start, met_at_start_texts
from evictd.render.simulation.worlds.world_comparison import print_worlds
from evictd.render.simulation.worlds.world_outcome import PlayedWorld, played_text
from evictd.world.account import account_of
from evictd.world.loop import play
from tests.playbook import config
from tests.render.played_worlds import played
from tests.world.worlds import hog, quiet, world


def _with_soft(amount: str) -> PlayedWorld:
    run = play(world(hog(), *quiet(3)), config(soft={"memory.available": (amount, "1s")}))
    return PlayedWorld(name="soft.yaml", run=run, account=account_of(run))


def test_a_threshold_that_the_world_meets_at_its_start_is_said() -> None:
    """9 evictions for a soft threshold above what is available at rest were only called `needed for relief`."""
    high = _with_soft("7900Mi")
    [said] = met_at_start_texts(high.run)
    start = "memory.available<7900Mi (soft, 1s) is met from the start of the world, before anything grows: "
    assert said.startswith(start)
    assert said.endswith(" for it.")
    assert said in played_text(high), "also of a world that is played with one configuration"
    assert not evictions_met_at_start(_with_soft("1Gi").run)
    assert not [each for each in played_text(replace(high, from_reading=True)) if "from the start" in each]


def test_the_headline_says_how_many_evictions_are_for_a_threshold_met_from_the_start() -> None:
    """Beside `1 as the cause, 0 needed` the side with `1 needed for relief` looked like one that relieved the node."""
    side, high = played(world(hog(), *quiet(3))), _with_soft("7900Mi")
    out = io.StringIO()
    print_worlds("w", (side, high), make_console(out, 300))
    [first, second] = [line for line in out.getvalue().splitlines() if " lost" in line]
    assert "from the start" not in first
    assert " for a threshold met from the start, short for " in second


def test_a_threshold_met_at_the_one_reading_that_is_played_on_is_none_from_the_start() -> None:
    """Without an earlier reading the eviction on the node was called one before anything grows."""
    high = replace(_with_soft("7900Mi"), from_reading=True)
    assert not high.before
    out = io.StringIO()
    print_worlds("w", (high, high), make_console(out, 300))
    assert "from the start" not in out.getvalue()
