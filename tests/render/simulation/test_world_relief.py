"""Checks the sentences on the relief of a world that was played."""

from dataclasses import replace

from evictd.core.units.duration import MINUTE
from evictd.render.simulation.worlds.world_relief import needed_text, relief_texts
from evictd.world.account import OOM_KILLED, Loss, Verdict
from tests.render.played_worlds import incident_texts, played
from tests.world.worlds import hog, quiet, world


def test_pods_of_the_smallest_set_that_did_not_suffice_are_said_to_be_too_few() -> None:
    """`needed to clear the threshold` and `did not suffice` stood above `No threshold is met`: the load had ended by itself."""
    text = incident_texts("44-limit-of-evictions")
    assert text[0].endswith(
        "for memory.available: needed, but too few: 2 of the 4 pods whose end at 6m30s would have cleared the "
        "threshold."
    )
    assert text[1] == "The shortage would have ended by itself."
    assert text[3] == (
        "The end of 4 pods at 6m30s would have sufficed for the rest of the 30m0s played: "
        "default/web-0, default/web-1, default/web-10, default/web-11."
    )
    # `The least that would have sufficed` was said of five pods where four suffice
    assert text[4].endswith(
        "memory.available<2500Mi would have been met for 19m43s, and clear from 25m0s to the end, so the evictions did not "
        "end the shortage earlier."
    )


def test_what_was_ended_of_the_smallest_set_cleared_the_threshold() -> None:
    side = played(world(hog(), *quiet(3)))
    assert needed_text(side.run, side.account).startswith(
        "needed to clear the threshold, which stays clear for the rest of the "
    )


def test_a_crossing_without_evictions_is_not_said_of_a_run_with_one() -> None:
    """`between two readings one was, first at 5m6.3s` was said of a run in which the pod was gone half a second before."""
    side = played(world(hog(), *quiet(3)))
    crossed = side.account.ideal.crossed_at
    assert crossed is not None
    loss = Loss(
        at=crossed - 1, decided_at=crossed - 1, uid="", name="", slot="", cause="", held=0, verdict=Verdict.CULPRIT
    )
    for losses, text in (
        ((loss,), "without the evictions one would have been met first at "),
        ((replace(loss, at=crossed + 1),), "between two readings one was, first at "),
        ((replace(loss, cause=OOM_KILLED),), "between two readings one was, first at "),
    ):
        [said] = relief_texts(side.run, replace(side.account, losses=losses, relieved_at=0))
        assert text in said


def test_where_no_pod_was_lost_and_the_threshold_is_clear_no_least_set_is_named() -> None:
    """`The least that would have sufficed` stood below `No pod was evicted`: a grace period was over just before the shortage."""
    side = played(world(hog(), *quiet(3)))
    assert side.account.ideal.slots
    calm = replace(side.account, losses=(), relieved_at=MINUTE, shortages=1)
    assert list(relief_texts(side.run, calm)) == ["No threshold is met from 1m0s to the end."]
