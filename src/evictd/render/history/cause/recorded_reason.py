"""Writes a reason for which no pod is evicted as its event has it, with who may be the cause and until when it holds."""

from collections.abc import Collection, Mapping
from typing import Any

from evictd.codec.records.journal_record import JournalRecord
from evictd.codec.times import parse_time, rfc3339
from evictd.core.model.finding import NoActionReason
from evictd.render.attribution import clock_text
from evictd.render.history.cause.pause import pause_text
from evictd.render.history.cause.suspects import suspects_of, suspects_text
from evictd.render.text import clean

Plain = Mapping[str, Any]


def recorded_reason_text(
    record: JournalRecord, decision: Plain, finding: Plain, evicted: Collection[tuple[str, str]]
) -> str:
    """Return the message of the event with what the finding of the same reason adds; `evicted` as of `pause_text`."""
    text, until = clean(str(decision["message"])), finding.get("until")
    paused = finding.get("why") == NoActionReason.EVICTIONS_DO_NOT_HELP.value
    if paused:
        text = pause_text(text, record, finding, evicted)
    if suspected := suspects_text(suspects_of(record, str(finding.get("signal") or "")) if paused else ()):
        text += f"; {suspected}"
    if isinstance(until, int):
        sooner = " at the latest" if paused else ""  # it ends when what is short was clear for a minute, as after kills
        text += f"; until {clock_text(rfc3339(parse_time(record.wall) + until - record.now))}{sooner}"
    return text
