"""The events of an incident: those written to the cluster, and the lines around it."""

from dataclasses import replace

from evictd.render.history.evictions import evictions_of
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.incident.events import dated_lines, events_written
from tests.render.recorded_incident import recorded


def test_the_evicted_event_has_the_message_and_why_this_pod_went() -> None:
    records = recorded()
    (event,) = evictions_of(records)
    reason, message = list(events_written(records[1], event))[-1]
    assert reason == "Evicted"
    assert message.startswith("The node was low on resource: memory.")
    assert "Evicted default/hog-old (6Gi): " in message
    past = replace(event, evidence={**event.evidence, "refusedSince": 1})
    *_, (_, after) = events_written(records[1], past)
    assert after == f"{message} A disruption budget had refused it before."


def test_a_line_has_its_time() -> None:
    gone = HistoryEvent(at="2026-01-01T00:00:32Z", kind=EventKind.GONE, text="default/hog-old is gone")
    assert list(dated_lines([gone, replace(gone, kind=EventKind.BOOT, text="the machine was started again")])) == [
        ("2026-01-01T00:00:32Z", "default/hog-old is gone"),
        ("2026-01-01T00:00:32Z", "the machine was started again"),
    ]
