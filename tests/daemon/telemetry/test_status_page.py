"""The document behind `evictd status`."""

import json
from dataclasses import replace
from typing import Any

from evictd.core.eviction.keep_away import kept_away
from evictd.core.model.signal import NodeCondition, Signal
from evictd.core.model.state import Comeback
from evictd.core.model.stats import ContainerStats, DiskUsage
from evictd.core.units.duration import MINUTE, SECOND
from evictd.daemon.telemetry.findings_log import changes, topics
from evictd.daemon.telemetry.trends import Point, Trend, Trends
from evictd.render.status.timing import conditions
from tests.daemon.status import status_of
from tests.daemon.world import GI, NOW, snapshot
from tests.render.snapshots import incident_snapshot


def test_it_is_plain_json() -> None:
    document = status_of(snapshot(GI // 2), NOW)
    assert json.loads(json.dumps(document)) == document


def test_signals_come_with_their_thresholds_and_how_they_stand() -> None:
    memory = status_of(snapshot(GI + 1), NOW)["signals"][0]
    assert (memory["signal"], memory["available"], memory["capacity"]) == ("memory.available", GI + 1, 8 * GI)
    soft, hard = memory["thresholds"]
    assert (soft["kind"], soft["met"], soft["graceLeftSeconds"], soft["limit"]) == ("soft", True, 90.0, 2 * GI)
    assert (hard["kind"], hard["met"], hard["graceLeftSeconds"]) == ("hard", False, None)


def rated(*points: tuple[int, int]) -> dict[str, Any]:
    """The entry of memory after readings at these seconds, of which so many MiB were left."""
    recent = tuple(Point(NOW + (at - points[-1][0]) * SECOND, left << 20) for at, left in points)
    seen = replace(
        snapshot(recent[-1].available), trends=Trends(signals={Signal.MEMORY_AVAILABLE: Trend(recent=recent)})
    )
    entry: dict[str, Any] = status_of(seen, NOW)["signals"][0]
    return entry


def times(entry: dict[str, Any]) -> list[float | None]:
    return [each["secondsToThreshold"] for each in entry["thresholds"]]


def test_a_rate_of_two_readings_is_not_stated_unless_a_threshold_is_near() -> None:
    """39 s after the start the page said that PIDs fall by one a second."""
    slow = rated((0, 6000), (5, 5990))
    assert (slow["fillRate"], times(slow)) == (None, [None, None])
    steep = rated((0, 6000), (5, 5900))
    assert steep["fillRate"] == 20 << 20
    assert times(steep) == [192.6, 243.8]
    met = rated((0, 6000), (5, 1800))
    assert met["fillRate"] == 840 << 20


def test_times_count_from_now_and_not_from_the_reading() -> None:
    """Ten seconds after the reading of a calm node they were ten seconds too long, beside those of conditions, which were not."""
    recent = tuple(Point(NOW + at * SECOND, left << 20) for at, left in ((-5, 6000), (0, 5900)))
    seen = replace(
        snapshot(recent[-1].available), trends=Trends(signals={Signal.MEMORY_AVAILABLE: Trend(recent=recent)})
    )
    assert times(status_of(seen, NOW + 10 * SECOND)["signals"][0]) == [182.6, 233.8]
    assert times(status_of(seen, NOW + 60 * SECOND)["signals"][0]) == [132.6, 183.8]
    soft = snapshot(3 * GI // 2)
    graces = [
        status_of(soft, NOW + age * SECOND)["signals"][0]["thresholds"][0]["graceLeftSeconds"] for age in (0, 10, 95)
    ]
    assert graces == [90.0, 80.0, 0.1], "it acts in the next cycle"


def test_a_rate_within_scatter_is_none_unless_a_threshold_is_near() -> None:
    noisy = rated((0, 6000), (20, 5700), (40, 6100), (60, 5850))
    assert (noisy["fillRate"], times(noisy)) == (0, [None, None])
    steady = rated((0, 6000), (20, 5950), (40, 5960), (60, 5880))
    assert steady["fillRate"] == 2 << 20
    assert times(steady) == [1916.0, 2428.0]
    steep = rated((0, 4000), (20, 5000), (40, 4500), (60, 2300))
    assert times(steep)[0] == 8.9, "it rose by 1000 first"


def test_the_rate_of_a_minute_that_has_passed_is_no_present_rate() -> None:
    points = tuple(Point(at * SECOND, left * GI) for at, left in ((900, 6), (950, 5), (1000, 4)))
    seen = replace(snapshot(4 * GI), trends=Trends(signals={Signal.MEMORY_AVAILABLE: Trend(recent=points)}))
    assert None not in times(status_of(seen, NOW + MINUTE)["signals"][0])
    late = status_of(seen, NOW + MINUTE + SECOND)["signals"][0]
    assert (late["fillRate"], times(late)) == (None, [None, None])


def test_a_signal_that_cannot_be_read_is_listed_as_such() -> None:
    signals = {entry["signal"]: entry for entry in status_of(snapshot(4 * GI), NOW)["signals"]}
    assert signals["pid.available"]["observed"] is False
    assert "imagefs.available" not in signals


def test_the_next_pod_is_the_first_that_is_not_protected() -> None:
    signals = {entry["signal"]: entry for entry in status_of(snapshot(4 * GI), NOW)["signals"]}
    assert signals["memory.available"]["next"] == {
        "pod": "default/hog", "priority": 0, "usage": 6 * GI, "request": 0, "refusedSecondsAgo": None
    }  # fmt: skip


def test_a_pod_that_was_not_walked_is_not_measured() -> None:
    """The daemon walks no pod of a calm disk; the layer alone, which the runtime reports, read as "uses 0"."""
    seen = snapshot(4 * GI)
    layer = ContainerStats("main", None, DiskUsage(0, 0), None)
    stats = {uid: replace(stats, containers=(layer,)) for uid, stats in seen.observation.pod_stats.items()}
    document = status_of(replace(seen, observation=replace(seen.observation, pod_stats=stats)), NOW)
    disk = next(entry for entry in document["signals"] if entry["signal"] == "nodefs.available")
    assert disk["next"] is None or disk["next"]["usage"] is None


def test_what_grew_on_a_disk_belongs_to_no_pod_only_where_every_pod_was_read_since() -> None:
    """It was never said before a threshold was met, so the advice was to end pods that did not grow."""
    seen = incident_snapshot("02-host-path-writer", 200)

    def elsewhere(**changed: Any) -> int | None:
        stats = {uid: replace(each, **changed) for uid, each in seen.observation.pod_stats.items()}
        changes = replace(seen, observation=replace(seen.observation, pod_stats=stats))
        disk = next(e for e in status_of(changes, seen.at)["signals"] if e["signal"] == "nodefs.available")
        found: int | None = disk["growing"]["elsewhere"]
        return found

    assert elsewhere() == 200 * (200 << 20)
    assert elsewhere(disk_time=151 * SECOND) is not None
    assert elsewhere(disk_time=149 * SECOND) is None, "what a pod took since seems to belong to no pod"
    assert elsewhere(layers_time=None) is elsewhere(disk_at_least=True) is None


def test_the_reason_why_no_pod_is_next_is_shown() -> None:
    disk = next(e for e in status_of(snapshot(4 * GI), NOW)["signals"] if e["signal"] == "nodefs.available")
    assert (disk["next"], disk["stopReason"]) == (None, "NoPodMeasured")
    assert disk["stop"] == "no evictable pod is measured for this signal, so none is chosen"


def test_a_pod_that_is_being_evicted_is_not_next() -> None:
    document = status_of(snapshot(GI // 2), NOW)
    assert [(row["pod"], row["held"], row["missing"]) for row in document["leaving"]] == [
        ("default/hog", 6 * GI, GI // 2)
    ]
    memory = next(entry for entry in document["signals"] if entry["signal"] == "memory.available")
    assert memory["next"]["pod"] == "default/web"
    assert document["phase"]["name"] == "CleaningUp"


def test_conditions_say_how_long_they_will_stay() -> None:
    conditions = {entry["type"]: entry for entry in status_of(snapshot(GI // 2), NOW + SECOND)["conditions"]}
    memory, pids = conditions["MemoryPressure"], conditions["PIDPressure"]
    assert (memory["type"], memory["status"], memory["staysSeconds"]) == ("MemoryPressure", "True", 299.0)
    assert (pids["status"], pids["staysSeconds"], pids["since"], pids["until"]) == ("False", None, None, None)


def test_the_last_decisions_are_shown() -> None:
    document = status_of(snapshot(4 * GI), NOW)
    (decision,) = document["decisions"]
    assert (decision["at"], decision["kind"], decision["text"], decision["why"]) == (
        "2023-11-14T22:13:20Z", "EvictPod", "evict default/hog", ""
    )  # fmt: skip


def test_a_condition_that_stays_longer_than_configured_says_why() -> None:
    comeback = Comeback(
        owner="default/ReplicaSet/hog", condition=NodeCondition.MEMORY_PRESSURE, evicted_at=(NOW,), evictions=4,
        period=20 * MINUTE,
    )  # fmt: skip
    seen = snapshot(GI // 2)
    config, state = replace(seen.config, keep_away=True), replace(seen.state, comebacks=(comeback,))
    seen = replace(seen, config=config, state=state, findings=(*seen.findings, *kept_away(state, config, NOW)))
    memory, disk, _ = status_of(seen, NOW)["conditions"]
    assert (memory["staysSeconds"], disk["why"]) == (1200.0, "")
    assert memory["why"] == (
        "MemoryPressure and its taint stay 20m0s after the shortage, because pods of default/ReplicaSet/hog come back when "
        "they end: 4 were evicted"
    )
    assert memory["why"] in list(conditions(status_of(seen, NOW)))
    assert any("come back when they end" in line.event for line in changes({}, topics(seen.findings, (), {})))
