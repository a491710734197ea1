"""Checks which pod of a world that is played on goes first."""

from dataclasses import replace

from evictd.core.model.pod import PodSource
from evictd.core.model.signal import Signal
from evictd.core.units.duration import MINUTE, SECOND
from evictd.world.behaviours import Grow, Usage
from evictd.world.model import ApiServer, DisruptionBudget, HostUse, Owner
from evictd.world.next_eviction import goes_on, play_on
from tests.playbook import config
from tests.world.worlds import HARD, hog, holder, quiet, world

SHORT = world(hog(rate=10 << 20), holder("over", 1 << 30), duration=MINUTE)


def test_the_pod_that_exceeds_most_by_then_goes_first() -> None:
    """At the end of the world `over` holds more than the hog; when the threshold is met the hog does."""
    found = play_on(SHORT, config(hard=HARD), 10 * MINUTE)
    assert (found.pod, found.at // (10 * SECOND)) == ("default/hog", 25)


def test_a_world_in_which_no_pod_goes_until_then_has_none() -> None:
    calm = world(*quiet(3), duration=MINUTE)
    found = play_on(calm, config(hard=HARD), 10 * MINUTE)
    assert (found.pod, found.crossed, found.end) == ("", {}, 10 * MINUTE)


def test_a_world_that_is_played_on_ends_with_its_first_eviction_and_knows_when_a_threshold_was_met() -> None:
    found = play_on(SHORT, config(hard=HARD), 10 * MINUTE)
    assert found.end == found.at == found.crossed[Signal.MEMORY_AVAILABLE]


def test_after_evictions_it_is_played_on_to_the_next_one() -> None:
    """A hog whose owner starts it again is short again; one without a successor is not."""
    back = replace(hog(rate=10 << 20), pod=replace(hog().pod, owner="ReplicaSet/hog"))
    twice = world(back, duration=10 * MINUTE, owners=(Owner(name="ReplicaSet/hog"),))
    found = play_on(twice, config(hard=HARD), 30 * MINUTE)
    assert found.again
    assert found.end == found.crossed[Signal.MEMORY_AVAILABLE] > 10 * MINUTE
    assert not found.calm
    assert found.short is Signal.MEMORY_AVAILABLE
    assert play_on(world(back, duration=10 * MINUTE), config(hard=HARD), 30 * MINUTE).calm


def test_a_kill_after_the_end_is_known() -> None:
    found = play_on(SHORT, config(hard={}), 10 * MINUTE)
    assert (found.pod, found.killed, found.calm) == ("", "default/hog", False)
    assert MINUTE < found.killed_at < 10 * MINUTE


def test_a_disk_that_runs_out_after_the_end_is_known() -> None:
    """`no pod is evicted` was all that was said of a disk without a threshold that was full two minutes later."""
    writer = world(hog(rate=1 << 30, of=Usage.LOGS), duration=MINUTE)
    found = play_on(writer, config(hard=HARD), 10 * MINUTE)
    assert (found.pod, found.calm, [*found.ran_out]) == ("", False, [Signal.NODEFS_AVAILABLE])
    assert MINUTE < found.ran_out[Signal.NODEFS_AVAILABLE] < 3 * MINUTE
    assert play_on(replace(writer, duration=5 * MINUTE), config(hard=HARD), 10 * MINUTE).ran_out == {}, (
        "said of the world"
    )


def test_a_refused_request_is_no_eviction() -> None:
    guarded = replace(SHORT, api_server=ApiServer(budgets=(DisruptionBudget(pods=frozenset({"default/hog"})),)))
    soft = config(soft={"memory.available": ("500Mi", "10s")})
    assert play_on(SHORT, soft, 10 * MINUTE).pod == "default/hog"
    assert play_on(guarded, soft, 10 * MINUTE).pod != "default/hog"


def test_only_growth_without_a_bound_goes_on() -> None:
    assert goes_on(SHORT)
    host = HostUse(name="slab", behaviours=(Grow(of=Usage.MEMORY, rate=1),))
    assert goes_on(world(host=(host,)))
    bounded = Grow(of=Usage.MEMORY, rate=1, bound=10)
    assert not goes_on(world(*quiet(1), host=(HostUse(name="slab", behaviours=(bounded,)),)))


def test_what_takes_more_and_more_and_is_not_the_pod_that_goes_is_known() -> None:
    leak, webs = hog(rate=3 << 20), [holder(f"web-{number}", 250 << 20) for number in range(4)]
    static = world(replace(leak, pod=replace(leak.pod, source=PodSource.STATIC)), *webs, duration=MINUTE)
    found = play_on(static, config(hard=HARD), 60 * MINUTE)
    assert found.pod.startswith("default/web")
    assert found.stays == ("default/hog",)
    assert play_on(SHORT, config(hard=HARD), 10 * MINUTE).stays == ()
