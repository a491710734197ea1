"""The document behind `evictd status`."""

import json

from evictd.core.duration import SECOND
from evictd.daemon.status_page import status_document
from tests.daemon.world import GI, NOW, snapshot


def test_it_is_plain_json() -> None:
    document = status_document(snapshot(GI // 2), NOW)
    assert json.loads(json.dumps(document)) == document


def test_signals_come_with_their_thresholds_and_how_they_stand() -> None:
    memory = status_document(snapshot(GI + 1), NOW)["signals"][0]
    assert (memory["signal"], memory["available"], memory["capacity"]) == ("memory.available", GI + 1, 8 * GI)
    soft, hard = memory["thresholds"]
    assert (soft["kind"], soft["met"], soft["graceLeftSeconds"], soft["limit"]) == ("soft", True, 90.0, 2 * GI)
    assert (hard["kind"], hard["met"], hard["graceLeftSeconds"]) == ("hard", False, None)


def test_a_signal_that_cannot_be_read_is_listed_as_such() -> None:
    signals = {entry["signal"]: entry for entry in status_document(snapshot(4 * GI), NOW)["signals"]}
    assert signals["pid.available"]["observed"] is False
    assert "imagefs.available" not in signals


def test_who_would_be_next_leaves_out_the_protected() -> None:
    signals = {entry["signal"]: entry for entry in status_document(snapshot(4 * GI), NOW)["signals"]}
    assert [row["pod"] for row in signals["memory.available"]["next"]] == ["default/hog", "default/web"]


def test_who_is_leaving_already_is_not_next() -> None:
    document = status_document(snapshot(GI // 2), NOW)
    assert [row["pod"] for row in document["leaving"]] == ["default/hog"]
    memory = next(entry for entry in document["signals"] if entry["signal"] == "memory.available")
    assert [row["pod"] for row in memory["next"]] == ["default/web"]
    assert document["phase"]["name"] == "CleaningUp"


def test_conditions_say_how_long_they_will_stay() -> None:
    conditions = {entry["type"]: entry for entry in status_document(snapshot(GI // 2), NOW + SECOND)["conditions"]}
    assert conditions["MemoryPressure"] == {"type": "MemoryPressure", "status": "True", "staysSeconds": 299.0}
    assert conditions["PIDPressure"] == {"type": "PIDPressure", "status": "False", "staysSeconds": None}


def test_the_last_decisions_are_told() -> None:
    document = status_document(snapshot(4 * GI), NOW)
    assert document["decisions"] == [{"at": "2023-11-14T22:13:20Z", "kind": "EvictPod", "text": "evict default/hog"}]
