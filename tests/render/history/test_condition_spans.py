"""Checks how long each node condition was reported, from the events of a history."""

import msgspec

from evictd.codec.records.journal_record import RecordedExtra
from evictd.render.history.condition_spans import condition_spans
from evictd.render.history.history import event_line, history
from tests.render.recorded_journal import journal


def test_conditions_have_their_begin_and_end() -> None:
    (span,) = condition_spans(history(journal()))
    assert (span.type, span.since, span.until) == ("MemoryPressure", "2026-01-01T00:16:00Z", "2026-01-01T00:26:00Z")


def test_a_condition_that_stands_when_a_dry_run_ends_begins_then() -> None:
    """Live, nothing was listed, and `MemoryPressure since` had the time at which the dry run would have reported it."""
    decided = {"kind": "ReportConditions", "conditions": ["MemoryPressure"]}
    records = [
        msgspec.structs.replace(journal()[0], wall=wall, decisions=(decided,), extra=RecordedExtra(dry_run=dry_run))
        for wall, dry_run in (("2026-01-01T00:00:00Z", True), ("2026-01-01T01:00:00Z", False))
    ]
    events = list(history(records))
    assert [event_line(each) for each in events] == [
        "MemoryPressure begins; a dry run reports no condition",
        "MemoryPressure begins",
    ]
    assert [(each.since, each.until) for each in condition_spans(events)] == [
        ("2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"),
        ("2026-01-01T01:00:00Z", None),
    ]


def test_a_condition_of_a_dry_run_ends_where_evictd_goes_live_without_it() -> None:
    """It was listed as reported ever since."""
    records = [
        msgspec.structs.replace(
            journal()[0],
            wall=wall,
            decisions=({"kind": "ReportConditions", "conditions": conditions},),
            extra=RecordedExtra(dry_run=dry_run),
        )
        for wall, dry_run, conditions in (
            ("2026-01-01T00:00:00Z", True, ["MemoryPressure"]),
            ("2026-01-01T01:00:00Z", False, []),
        )
    ]
    events = list(history(records))
    assert [event_line(each) for each in events][1:] == ["MemoryPressure ends"]
    assert [each.until for each in condition_spans(events)] == ["2026-01-01T01:00:00Z"]
