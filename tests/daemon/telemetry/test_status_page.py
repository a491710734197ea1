"""The document behind `evictd status`."""

import json
from dataclasses import replace

from evictd.core.eviction.refusals.keep_away import kept_away
from evictd.core.model.signal import NodeCondition
from evictd.core.model.state import Comeback
from evictd.core.model.stats import ContainerStats, DiskUsage
from evictd.core.units.duration import MINUTE, SECOND
from evictd.daemon.telemetry.findings_log import changes, topics
from evictd.render.status.times.timing import conditions
from tests.daemon.status import status_of
from tests.daemon.world import GI, NOW, snapshot


def test_it_is_plain_json() -> None:
    document = status_of(snapshot(GI // 2), NOW)
    assert json.loads(json.dumps(document)) == document


def test_signals_come_with_their_thresholds_and_how_they_stand() -> None:
    memory = status_of(snapshot(GI + 1), NOW)["signals"][0]
    assert (memory["signal"], memory["available"], memory["capacity"]) == ("memory.available", GI + 1, 8 * GI)
    soft, hard = memory["thresholds"]
    assert (soft["kind"], soft["met"], soft["graceLeftSeconds"], soft["limit"]) == ("soft", True, 90.0, 2 * GI)
    assert (hard["kind"], hard["met"], hard["graceLeftSeconds"]) == ("hard", False, None)


def test_a_signal_that_cannot_be_read_is_listed_as_such() -> None:
    signals = {entry["signal"]: entry for entry in status_of(snapshot(4 * GI), NOW)["signals"]}
    assert signals["pid.available"]["observed"] is False
    assert "imagefs.available" not in signals


def test_the_next_pod_is_the_first_that_is_not_protected() -> None:
    signals = {entry["signal"]: entry for entry in status_of(snapshot(4 * GI), NOW)["signals"]}
    assert signals["memory.available"]["next"] == {
        "pod": "default/hog",
        "why": "requests none and uses 6Gi, while default/web exceeds its request by only 4Gi",
        "priority": 0, "usage": 6 * GI, "request": 0, "gracePeriodSeconds": 1,
        "budgetMayRefuse": True, "refusedSecondsAgo": None,
    }  # fmt: skip


def test_a_pod_that_was_not_walked_is_not_measured() -> None:
    """The daemon walks no pod of a calm disk; the layer alone, which the runtime reports, read as "uses 0"."""
    seen = snapshot(4 * GI)
    layer = ContainerStats("main", None, DiskUsage(0, 0), None)
    stats = {uid: replace(stats, containers=(layer,)) for uid, stats in seen.observation.pod_stats.items()}
    document = status_of(replace(seen, observation=replace(seen.observation, pod_stats=stats)), NOW)
    disk = next(entry for entry in document["signals"] if entry["signal"] == "nodefs.available")
    assert disk["next"] is None or disk["next"]["usage"] is None


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
