"""Who takes what is short, in the document of `/statusz`: pods, or what belongs to no pod."""

from dataclasses import replace
from typing import Any

import pytest

from evictd.core.model.pod import PodSource
from evictd.core.model.signal import Signal
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.status.remedy.remedies import remedies
from evictd.world.behaviours import Grow, Hold, Usage
from evictd.world.loop import play
from evictd.world.model import HostUse, WorldPod
from tests.daemon.status import status_of
from tests.daemon.world import GI
from tests.playbook import config, pod
from tests.render.snapshots import incident_snapshot, snapshot_at
from tests.world.worlds import MI, hog, world


def disk_of(name: str, seconds: float, **changed: Any) -> dict[str, Any]:
    """The disk's entry, with these changes of what was read of each pod."""
    seen = incident_snapshot(name, seconds)
    stats = {uid: replace(each, **changed) for uid, each in seen.observation.pod_stats.items()}
    changes = replace(seen, observation=replace(seen.observation, pod_stats=stats))
    found: dict[str, Any] = next(
        each for each in status_of(changes, seen.at)["signals"] if each["signal"] == "nodefs.available"
    )
    return found


def test_what_was_taken_before_pods_were_measured_is_compared_with_all_that_they_hold() -> None:
    """The advice was to end a pod: the growth of pods was not known, but the host took more than twice what all of them hold."""
    beyond = {"overSeconds": 60.0, "taken": 6000 * MI, "ofPods": 8 * 300 * MI}
    assert disk_of("06-collection-frees-nothing", 60)["beyondPods"] == beyond
    assert disk_of("06-collection-frees-nothing", 60, disk_time=46 * SECOND)["beyondPods"] == beyond
    assert disk_of("06-collection-frees-nothing", 60, disk_time=44 * SECOND)["beyondPods"] is None, (
        "a pod may have grown"
    )


def test_it_is_not_said_where_the_growth_of_pods_is_known_and_where_pods_may_have_taken_it() -> None:
    later = disk_of("06-collection-frees-nothing", 80)
    assert later["growing"]["elsewhere"] > 0
    assert later["beyondPods"] is None
    assert disk_of("06-collection-frees-nothing", 30)["beyondPods"] is None, "no pod was measured"
    for name, seconds in (("12-container-log", 100), ("27-control-volume-writer", 100)):
        assert disk_of(name, seconds)["beyondPods"] is None


def test_what_grew_on_a_disk_belongs_to_no_pod_only_where_every_pod_was_read_since() -> None:
    """It was never said before a threshold was met, so the advice was to end pods that did not grow."""

    def elsewhere(**changed: Any) -> int | None:
        found: int | None = disk_of("02-host-path-writer", 200, **changed)["growing"]["elsewhere"]
        return found

    assert elsewhere() == 200 * (200 << 20)
    assert elsewhere(disk_time=151 * SECOND) is not None
    assert elsewhere(disk_time=149 * SECOND) is None, "what a pod took since seems to belong to no pod"
    assert elsewhere(layers_time=None) is elsewhere(disk_at_least=True) is None


def test_a_pod_that_holds_again_what_it_held_before_a_kill_did_not_grow() -> None:
    """The advice was to limit a static pod that took its 600Mi again, above its request, while a host service leaked."""
    static = WorldPod(
        pod=pod("api", memory="512Mi", source=PodSource.STATIC), behaviours=(Hold(of=Usage.MEMORY, amount=600 * MI),)
    )
    agent = HostUse(name="agent", behaviours=(Grow(of=Usage.MEMORY, rate=2 * MI),), oom_score_adj=-900)
    of = world(static, host=(agent,), memory=2 * GI, duration=20 * MINUTE)
    near = snapshot_at(play(of, config(hard={"memory.available": "500Mi"})), 1050)
    (entry,) = [each for each in status_of(near, near.at)["signals"] if each["signal"] == "memory.available"]
    assert near.state.holdings[Signal.MEMORY_AVAILABLE].growing["api"].grown == 600 * MI, (
        "it was killed, and runs again"
    )
    assert (entry["growing"]["pods"], entry["growing"]["elsewhere"]) == ([], 20 * MI)


@pytest.mark.parametrize(("used", "grown", "said"), [(65, 700, 65), (900, 800, 800), (-10, 790, 790)])
def test_what_belongs_to_no_pod_did_not_grow_by_more_than_it_holds(used: int, grown: int, said: int) -> None:
    """A pod freed bytes that the disk showed before its usage was read again: the advice was to free space outside pods."""
    of = world(hog(rate=2 * MI, memory="1Mi"), memory=GI, duration=3 * MINUTE)
    near = snapshot_at(play(of, config(hard={"memory.available": "500Mi"})), 30)
    held = near.state.holdings[Signal.MEMORY_AVAILABLE]
    assert held.elsewhere is not None
    lowest = (used - grown) * MI
    rest = held.elsewhere._replace(used=used * MI, lowest=lowest, lowest_before=lowest)
    holdings = {Signal.MEMORY_AVAILABLE: replace(held, elsewhere=rest)}
    seen = replace(near, state=replace(near.state, holdings=holdings), trends=replace(near.trends, usage={}))
    memory = next(each for each in status_of(seen, seen.at)["signals"] if each["signal"] == "memory.available")
    assert memory["growing"]["elsewhere"] == said * MI


@pytest.mark.parametrize("seconds", [300, 400, 500])
def test_a_pod_that_grows_no_more_is_not_the_one_that_fills_memory(seconds: int) -> None:
    """The advice was to end a pod that had stopped to grow minutes ago, while another one filled memory."""
    stopped = WorldPod(
        pod=pod("stopped", memory="100Mi", priority=100),
        behaviours=(Grow(of=Usage.MEMORY, rate=10 * MI, bound=800 * MI),),
    )
    of = world(stopped, hog(rate=2 * MI, memory="1Mi"), memory=3000 * MI, duration=10 * MINUTE)
    near = snapshot_at(play(of, config(hard={"memory.available": "500Mi"})), seconds)
    (entry,) = [each for each in status_of(near, near.at)["signals"] if each["signal"] == "memory.available"]
    assert entry["growing"]["pods"][0]["pod"] == "default/hog"


@pytest.mark.parametrize("seconds", [735, 760])
def test_the_cause_is_what_grows_at_the_rate_that_the_time_is_of(seconds: int) -> None:
    """The advice was to free memory outside pods, which had grown for twelve minutes at a fifteenth of the rate of a pod now."""
    slab = HostUse(name="slab", behaviours=(Grow(of=Usage.MEMORY, rate=2 * MI),))
    job = WorldPod(pod=pod("job", memory="100Mi"), behaviours=(Grow(of=Usage.MEMORY, rate=30 * MI, start=12 * MINUTE),))
    run = play(
        world(job, host=(slab,), memory=5 * GI, duration=20 * MINUTE), config(hard={"memory.available": "500Mi"})
    )
    near = snapshot_at(run, seconds)
    (entry,) = [each for each in status_of(near, near.at)["signals"] if each["signal"] == "memory.available"]
    assert entry["growing"]["ofPods"] > entry["growing"]["elsewhere"]
    assert entry["growing"]["pods"][0]["pod"] == "default/job"
    assert remedies(status_of(near, near.at))[0].startswith("end, move or limit default/job, which grew the most")
