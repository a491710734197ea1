"""What is said of signals that cannot be read."""

from typing import Any

from evictd.render.status.times.unread_since import (
    last_amount,
    last_read_texts,
    unread,
    unread_remedy,
    unread_text,
    was_short,
)

FELL = {
    "available": 400_000, "agoSeconds": 15.0, "fillRate": 4000, "kind": "hard", "limit": 300_000, "secondsToThreshold": 10.0
}  # fmt: skip


def entry(signal: str = "nodefs.inodesFree", **last: Any) -> dict[str, Any]:
    """A signal that cannot be read; `last` replaces something of a last reading that fell."""
    return {"signal": signal, "observed": False, "absent": False, "thresholds": [], "lastReading": {**FELL, **last}}


STEADY = entry("nodefs.available", available=2 << 30, fillRate=None, secondsToThreshold=None)


def test_a_signal_that_fell_has_its_last_amount_and_when_its_threshold_is_met() -> None:
    """The headline had said when the threshold is met; from the first failed reading on it said only that none can be tested."""
    status = {"signals": [STEADY, entry()]}
    fell = (
        "nodefs.inodesFree was 400k inodes 15s ago; at the rate then (4000 inodes a second) it reaches its hard threshold "
        "300k inodes in 10s"
    )
    assert unread_text(status) == f"nodefs.available, nodefs.inodesFree cannot be read: {fell}"
    assert last_read_texts(status) == [fell, "nodefs.available was 2Gi 15s ago"]


def test_a_time_that_has_passed_is_said_as_passed() -> None:
    text = unread_text({"signals": [entry(secondsToThreshold=-125.0)]})
    assert text.endswith(
        "at the rate then (4000 inodes a second) it would have reached its hard threshold 300k inodes 2m5s ago"
    )


def test_without_a_fall_only_a_single_signal_has_its_last_amount() -> None:
    assert unread_text({"signals": [STEADY]}) == "nodefs.available cannot be read: nodefs.available was 2Gi 15s ago"
    other = {**STEADY, "signal": "memory.available"}
    assert unread_text({"signals": [STEADY, other]}) == "nodefs.available, memory.available cannot be read"
    assert unread_text({"signals": []}) == ""


def test_a_signal_that_this_node_has_not_is_none_of_them() -> None:
    absent = {**entry(), "absent": True}
    assert unread({"signals": [absent, STEADY]}) == ["nodefs.available"]
    assert last_amount(absent) == ""
    assert last_amount(STEADY) == "; 2Gi 15s ago"


def test_a_document_of_an_older_daemon_has_no_last_reading() -> None:
    old = {key: value for key, value in STEADY.items() if key != "lastReading"}
    assert unread_text({"signals": [old]}) == "nodefs.available cannot be read"
    assert (last_amount(old), last_read_texts({"signals": [old]})) == ("", [])


def test_a_signal_that_was_below_its_hard_threshold_is_said_to_have_been() -> None:
    """Memory was 66.6Mi at its last reading, and the page said that no threshold is met that can be tested."""
    short = entry("memory.available", available=70 << 20, below={"kind": "hard", "limit": 500 << 20})
    status = {"signals": [short], "problems": [{"source": "memory of the node", "detail": "no anon"}]}
    assert unread_text(status).endswith(" ago, below its hard threshold 500Mi")
    assert was_short(status)
    do = unread_remedy(status)
    assert do.startswith(
        "find out why memory.available cannot be read (problem: memory of the node); until then evictd evicts"
    )
    assert do.endswith("no pod for it: it was short: end, move or limit one of the largest pods yourself")


def test_a_signal_that_can_be_read_needs_no_remedy() -> None:
    assert unread_remedy({"signals": [], "problems": []}) == ""
    assert not was_short({"signals": [entry()]})
