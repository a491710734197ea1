"""The history as an HTML file."""

from dataclasses import replace

from evictd.render.history.condition_spans import condition_spans
from evictd.render.history.history import history
from evictd.render.history.page import history_page
from tests.render.recorded_journal import journal


def test_events_and_conditions_are_there_and_nothing_comes_from_elsewhere() -> None:
    events = list(history(journal()))
    text = history_page(events, condition_spans(events))
    assert "<h1>1 eviction, 1 refusal" in text
    assert "evict default/hog (grace period" in text
    assert f"<strong>{next(each.why for each in events if each.why)}</strong>" in text, "as the table has it"
    assert "<strong>MemoryPressure</strong> from <time" in text
    assert "http" not in text.replace('http-equiv="', "")
    assert "<script" not in text


def test_hostile_texts_are_text() -> None:
    event = replace(next(history(journal())), text='<script>alert("1")</script>\x1b', at='"><b>')
    text = history_page([event], ())
    assert "<script" not in text
    assert "<b>" not in text
    assert "\x1b" not in text


def test_a_journal_without_events_says_so() -> None:
    text = history_page([], ())
    assert "The journal has none." in text
    assert "None was reported." in text
