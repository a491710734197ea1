"""What a supply lost beyond all that pods hold."""

from dataclasses import replace
from typing import Any

from evictd.core.units.duration import SECOND
from tests.daemon.status import status_of
from tests.render.snapshots import incident_snapshot

MI = 1 << 20


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
