"""What the last two evicted pods held, where growth took it."""

from typing import Any

import msgspec
import pytest

from evictd.codec.journal_record import JournalRecord, RecordedEffect
from evictd.render.history.taken_at_once import with_taken
from tests.render.recorded_incident import recorded

MI = 1 << 20
SIGNAL = "nodefs.available"
FINDING: dict[str, Any] = {"signal": SIGNAL, "needed": "4Gi"}
TEXT = "4Gi is missing and the last two evictions gave back 0; that is too little, so evictions pause"
TAKEN = "gave back 0 (they held 600Mi, and what grew took as much at once);"


def paused(*missing: int, freed: int = 0) -> JournalRecord:
    """A record after evictions of pods of 300Mi, at which so much was missing."""
    effects = tuple(RecordedEffect(uid=str(each), held=300 * MI, freed=freed, missing=each) for each in missing)
    record = recorded()[-1]
    return msgspec.structs.replace(record, state=msgspec.structs.replace(record.state, effects={SIGNAL: effects}))


def test_what_evicted_pods_held_and_growth_took_is_said() -> None:
    """Two pods of 300Mi "gave back 0", as if their files had stayed (world 02)."""
    record = paused(1 << 40, MI, 2 * MI)
    assert with_taken(TEXT, record, FINDING) == TEXT.replace("gave back 0;", TAKEN)
    none = TEXT.replace("gave back 0", "left no more available")
    assert "left no more available (they held 600Mi," in with_taken(none, record, FINDING)


@pytest.mark.parametrize(
    ("record", "finding", "text"),
    [
        (paused(MI), FINDING, TEXT),
        (paused(MI, MI, freed=300 * MI), FINDING, TEXT),
        (paused(1 << 40, MI), FINDING, TEXT),
        (paused(MI, MI), {**FINDING, "needed": "damaged"}, TEXT),
        (paused(MI, MI), {**FINDING, "signal": "of tomorrow"}, TEXT),
        (paused(MI, MI), FINDING, "evictions pause"),
    ],
    ids=["one", "freed", "less is missing", "damaged", "signal", "text"],
)
def test_the_message_stays_where_that_is_not_known(record: JournalRecord, finding: dict[str, Any], text: str) -> None:
    assert with_taken(text, record, finding) == text
