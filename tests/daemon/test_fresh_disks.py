"""Nobody is chosen on old measurements: a short disk waits for everybody to be walked, within a bound."""

from dataclasses import replace

from evictd.core.config import ImageReclaim, Policy
from evictd.core.duration import SECOND
from evictd.core.observation import Observation, Outcomes
from evictd.core.release import RECLAIM_TIMEOUT
from evictd.core.signal import Filesystem, Signal
from evictd.core.state import Reclaiming, State
from evictd.daemon.fresh_disks import LONGEST, hold_for_walks, not_calm
from tests.daemon.world import CONFIG, DISK, GI, NOW, observe, step

NO_RECLAIM = replace(CONFIG, reclaim_containers=False, reclaim_images=ImageReclaim.OFF)
RECLAIMED = Outcomes(reclaimed=())


def walked(observation: Observation, at: int | None) -> Observation:
    stats = {uid: replace(each, disk_time=at) for uid, each in observation.pod_stats.items()}
    return replace(observation, pod_stats=stats)


def reclaiming(observation: Observation) -> State:
    return State(phase=Reclaiming(threshold=DISK, due=(DISK,), before=observation, until=NOW + RECLAIM_TIMEOUT))


def test_everybody_is_measured_while_any_filesystem_is_near_its_threshold() -> None:
    assert not_calm(step(4 * GI, disk=90).findings, State()) == frozenset()
    assert not_calm(step(4 * GI, disk=59).findings, State()) == frozenset(Filesystem)
    assert not_calm((), State()) == frozenset(Filesystem)


def test_everybody_is_measured_while_collectors_are_at_work() -> None:
    state = reclaiming(observe(4 * GI))
    assert not_calm(step(4 * GI, disk=90).findings, state) == frozenset(Filesystem)


def test_after_a_collection_the_walks_since_it_began_are_waited_for() -> None:
    seen = replace(observe(4 * GI, disk=40), outcomes=RECLAIMED)
    state = reclaiming(seen)
    assert hold_for_walks(walked(seen, NOW - 1), state, CONFIG, NOW + 1).outcomes.reclaimed is None
    assert hold_for_walks(walked(seen, None), state, CONFIG, NOW + 1).outcomes.reclaimed is None
    fresh = walked(seen, NOW + 1)
    assert hold_for_walks(fresh, state, CONFIG, NOW + 2) is fresh


def test_walks_are_not_waited_for_beyond_the_bound() -> None:
    seen = walked(replace(observe(4 * GI, disk=40), outcomes=RECLAIMED), None)
    assert hold_for_walks(seen, reclaiming(seen), CONFIG, NOW + LONGEST) is seen


def test_where_nothing_is_collected_first_the_reading_counts_as_no_news() -> None:
    seen = walked(observe(4 * GI, NOW + SECOND, disk=40), NOW - 1)
    state = step(4 * GI, disk=90).state
    held = hold_for_walks(seen, state, NO_RECLAIM, NOW + SECOND)
    assert held.node is not None
    assert held.node.fs is not None
    assert held.node.fs.time == state.last_observations[Signal.NODEFS_AVAILABLE].time
    fresh = walked(seen, NOW + SECOND)
    assert hold_for_walks(fresh, state, NO_RECLAIM, NOW + SECOND) is fresh


def test_a_calm_disk_holds_nothing_back() -> None:
    seen = walked(observe(4 * GI, disk=90), None)
    assert hold_for_walks(seen, State(), NO_RECLAIM, NOW) is seen


def test_the_kubelet_does_not_wait() -> None:
    seen = walked(replace(observe(4 * GI, disk=40), outcomes=RECLAIMED), None)
    kubelet = replace(CONFIG, policy=Policy.KUBELET)
    assert hold_for_walks(seen, reclaiming(seen), kubelet, NOW) is seen


def test_pods_without_stats_are_not_waited_for() -> None:
    seen = replace(observe(4 * GI, disk=40), outcomes=RECLAIMED, pod_stats={})
    assert hold_for_walks(seen, reclaiming(seen), CONFIG, NOW) is seen
