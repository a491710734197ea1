"""Checks which pod of a world that is played on goes first."""

from evictd.core.units.duration import MINUTE, SECOND
from evictd.world.next_eviction import PlayedOn, play_on
from tests.playbook import config
from tests.world.worlds import HARD, hog, holder, quiet, world

SHORT = world(hog(rate=10 << 20), holder("over", 1 << 30), duration=MINUTE)


def test_the_pod_that_exceeds_most_by_then_goes_first() -> None:
    """At the end of the world `over` holds more than the hog; when the threshold is met the hog does."""
    found = play_on(SHORT, config(hard=HARD), 10 * MINUTE)
    assert (found.pod, found.at // (10 * SECOND)) == ("default/hog", 25)


def test_a_world_in_which_no_pod_goes_until_then_has_none() -> None:
    calm = world(*quiet(3), duration=MINUTE)
    assert play_on(calm, config(hard=HARD), 10 * MINUTE) == PlayedOn(until=10 * MINUTE)
