"""Checks what the event of a reason for which no pod is evicted says beside the recorded message."""

from evictd.codec.records.journal_record import JournalRecord
from evictd.core.units.duration import MINUTE
from evictd.render.history.cause.recorded_reason import recorded_reason_text
from tests.render.recorded_journal import journal

MESSAGE = {"message": "No pod is evicted for memory.available: wait"}


def test_it_says_until_when_the_reason_holds() -> None:
    record: JournalRecord = next(iter(journal()))
    assert recorded_reason_text(record, MESSAGE, {}, ()) == MESSAGE["message"]
    until = {"until": record.now + MINUTE}
    assert recorded_reason_text(record, MESSAGE, until, ()).startswith(f"{MESSAGE['message']}; until ")
    paused = {**until, "why": "EvictionsDoNotHelp"}
    assert recorded_reason_text(record, MESSAGE, paused, ()).endswith(" at the latest")
