"""Writes the events of an incident: those that evictd wrote to the cluster, and those of the journal around it."""

from collections.abc import Iterator, Sequence

from evictd.codec.records.journal_record import JournalRecord
from evictd.render.deciding import evicted_because, refused_before
from evictd.render.history.folded_events import folded_events
from evictd.render.history.history import HistoryEvent, event_line
from evictd.render.text import clean


def events_written(record: JournalRecord, event: HistoryEvent) -> Iterator[tuple[str, str]]:
    """Yield reason and message of each event that evictd wrote with an eviction."""
    for decision in record.decisions:
        if decision.get("kind") == "RecordEvent":
            yield clean(str(decision.get("reason"))), clean(str(decision.get("message")))
    if not event.dry_run:
        why = evicted_because(event.evidence, record.findings, for_tenant=True)
        message = clean(str(event.evidence.get("message", ""))).strip()
        yield "Evicted", " ".join(filter(None, (message, why, refused_before(event.evidence))))


def dated_lines(events: Sequence[HistoryEvent]) -> Iterator[tuple[str, str]]:
    """Yield time and text of each event; what one owner's pods repeat is counted, in a line without a time."""
    for event in folded_events(events, "`evictd history --all`"):
        yield ("", event) if isinstance(event, str) else (clean(event.at), event_line(event))
