"""Checks who filled what is short when the node reports a condition, from the holders that the journal keeps at that time."""

import msgspec

from evictd.codec.records.journal_record import JournalRecord, RecordedHoldings, RecordedLevel, decode_record
from evictd.commands.played.world_journal import journal_lines
from evictd.core.units.duration import SECOND
from evictd.render.history.cause.condition_cause import filled_at_begin, soft_met_text
from tests.daemon.world import GI
from tests.render.played_worlds import incident_run
from tests.render.recorded_journal import journal

NOW = 3600 * SECOND


def begun(**changes: object) -> JournalRecord:
    """The record in which the condition begins, with what the pods held in the minute before."""
    level = RecordedLevel(20 * GI, 20 * GI, 20 * GI, NOW - 30 * SECOND)
    held = RecordedHoldings(
        used={"uid-hog": 5 * GI, "uid-web": GI},
        lowest={"uid-hog": 4 * GI, "uid-web": GI},
        lowest_before={"uid-hog": GI, "uid-web": GI},
        since=NOW - 40 * SECOND,
        elsewhere=level,
    )
    held = msgspec.structs.replace(held, **changes)
    record = msgspec.structs.replace(journal()[0], wall="2026-01-01T01:00:00Z", now=NOW)
    unread = msgspec.structs.replace(record.observation, summary=None)
    return msgspec.structs.replace(
        record, observation=unread, holdings={"memory.available": held, "nodefs.available": held}
    )


def test_the_pod_that_grew_in_the_minute_before_is_named() -> None:
    """A collection of images was enough, and history did not say what had filled the disk (world 41)."""
    assert filled_at_begin(begun()) == (
        "Of 4Gi that filled memory since 00:59:20, pods took 4Gi (all of it default/hog); nothing else grew."
    )


def test_a_pod_that_came_within_the_minute_is_counted_from_its_first_measurement() -> None:
    assert filled_at_begin(begun(arrived={"uid-hog": NOW - 8 * SECOND})) == (
        "Of 4Gi that filled memory since 00:59:52, pods took 4Gi (all of it default/hog); nothing else grew."
    )


def test_what_belongs_to_no_pod_is_named_as_such() -> None:
    level = RecordedLevel(20 * GI, 20 * GI, 16 * GI, NOW - 50 * SECOND)
    text = filled_at_begin(begun(lowest_before={"uid-hog": 5 * GI}, lowest={}, elsewhere=level))
    assert text == "Of 4Gi that filled memory since 00:59:10, pods took 0; 4Gi belong to no pod."


def test_what_a_pod_took_since_the_reading_before_counts_and_a_grace_period_is_named() -> None:
    """A pod took 4.6Gi within five seconds, and only the begin of the condition was told (world 34)."""
    lines = journal_lines(incident_run("34-control-burst-within-grace"), end=1_800_000_000 * SECOND)
    (record,) = (each for each in map(decode_record, lines) if each.holdings)
    text = filled_at_begin(record)
    assert text.startswith("Of 4.58Gi that filled memory since ")
    assert text.endswith(
        ", pods took 4.58Gi (all of it default/batch); nothing else grew. default/batch held most, 4.58Gi. The soft threshold "
        "of memory.available was met with 1m30s of its grace period left then, so no pod had to go yet."
    )
    unread = msgspec.structs.replace(record, observation=msgspec.structs.replace(record.observation, summary=None))
    assert filled_at_begin(unread).startswith("The soft threshold of memory.available was met"), (
        "the holders are not known"
    )


def test_it_is_empty_where_the_journal_does_not_know_it() -> None:
    assert filled_at_begin(msgspec.structs.replace(begun(), holdings={})) == ""
    assert filled_at_begin(msgspec.structs.replace(begun(), findings=())) == "", "no threshold is met"
    assert filled_at_begin(msgspec.structs.replace(begun(), wall="damaged")) == ""


def test_a_line_is_read_and_damaged_holdings_are_left_out() -> None:
    line = (
        b'{"kind":"evictd.io/journal/v1","wall":"2026-01-01T01:00:00Z","now":1,"observation":{},'
        b'"decisions":[{"kind":"ReportConditions","conditions":["DiskPressure"]}],"state":{"holdings":{"nodefs.available":'
        b'{"used":{"u":2},"lowest":{"u":1},"lowestBefore":{"u":1},"since":1,"elsewhere":{"used":1,"lowest":1,'
        b'"lowestBefore":0,"since":0}}}}}'
    )
    held = decode_record(line).holdings["nodefs.available"]
    assert held.lowest_of_both("u") == 1
    assert held.elsewhere == RecordedLevel(1, 1, 0, 0)
    assert decode_record(line.replace(b'"u":2', b'"u":[]')).holdings == {}
    assert decode_record(line.replace(b'["DiskPressure"]', b"[]")).holdings == {}, "the condition ends"


def said(*left: int | None, met: bool = True) -> str:
    """What is said of thresholds of memory with so many seconds of their grace period left."""
    findings = tuple(
        {
            "threshold": {"signal": "memory.available"},
            "met": met,
            "graceLeftNanoseconds": None if each is None else each * SECOND,
        }
        for each in left
    )
    return soft_met_text(msgspec.structs.replace(journal()[0], findings=findings))


def test_what_is_left_of_the_grace_period_is_named() -> None:
    """A condition began without an eviction, and nothing said that a grace period went on (world 34)."""
    assert said(90) == (
        "the soft threshold of memory.available was met with 1m30s of its grace period left then, so no pod had to go yet"
    )


def test_nothing_is_said_where_none_goes_on() -> None:
    assert said(90, met=False) == ""
    assert said(None) == ""
    assert said(90, 0) == "", "a hard threshold is met as well"
    assert soft_met_text(msgspec.structs.replace(journal()[0], findings=({"met": True},))) == ""
