"""A pod whose statistics end while it grows fast is not spared for what itself hides."""

from evictd.core.units.duration import SECOND
from evictd.world.behaviours import Grow, Unreadable, Usage
from evictd.world.loop import play
from evictd.world.model import WorldPod
from tests.playbook import config, pod
from tests.world.worlds import GI, HARD, MI, evicted, holder, world


def test_the_only_pod_that_is_not_measured_goes_for_what_it_was_seen_to_exceed() -> None:
    """The pods that were not measured counted as culprits beside it, and the OOM killer came."""
    grows = Grow(of=Usage.MEMORY, rate=150 * MI, start=56 * SECOND)
    unread = WorldPod(pod=pod("hog", memory="64Mi"), behaviours=(grows, Unreadable(start=0)))
    over = [holder(f"over-{i}", 250 * MI, memory="200Mi") for i in range(2)]
    within = [holder(f"within-{i}", 200 * MI, memory="250Mi") for i in range(4)]
    played = play(world(unread, *over, *within, memory=4 * GI, duration=90 * SECOND), config(hard=HARD))
    assert evicted(played) == ["hog"]


def test_the_only_pod_that_is_not_measured_goes_for_what_it_takes_within_its_request() -> None:
    """For a minute its growth was no pod's: the kernel killed fourteen times before the hog went."""
    grows = Grow(of=Usage.MEMORY, rate=100 * MI, start=5 * SECOND)
    unread = WorldPod(pod=pod("hog", memory="8Gi"), behaviours=(grows, Unreadable(start=0)))
    within = [holder(f"within-{i}", 200 * MI, memory="250Mi") for i in range(6)]
    played = play(world(unread, *within, memory=4 * GI, duration=100 * SECOND), config(hard=HARD))
    assert (evicted(played), played.kills) == (["hog"], [])
