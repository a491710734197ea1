"""Checks that a time without readings that is over counts as no reason."""

from evictd.render.history.blindness import without_ended_blindness
from evictd.render.history.history import history
from tests.render.recorded_journal import journal, of_blindness


def test_a_time_without_readings_counts_until_it_has_ended() -> None:
    calm, blind, after = of_blindness()
    assert [each.evidence["reason"] for each in without_ended_blindness(history((calm, blind)))] == ["NoStats"]
    assert not without_ended_blindness(history((calm, blind, after)))


def test_other_events_stay() -> None:
    events = tuple(history(journal()))
    assert without_ended_blindness(events) == events
