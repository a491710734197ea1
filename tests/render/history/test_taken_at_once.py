"""What the last two evicted pods held, where growth took it."""

from typing import Any

import msgspec
import pytest

from evictd.codec.journal_record import JournalRecord, RecordedEffect
from evictd.render.history.taken_at_once import taken_at_once
from tests.render.recorded_incident import recorded

MI = 1 << 20
SIGNAL = "nodefs.available"
FINDING: dict[str, Any] = {"signal": SIGNAL, "needed": "4Gi"}
TAKEN = "; the two pods held 600Mi, and what grew took as much at once"


def paused(*missing: int, freed: int = 0) -> JournalRecord:
    """A record after evictions of pods of 300Mi, at which so much was missing."""
    effects = tuple(RecordedEffect(uid=str(each), held=300 * MI, freed=freed, missing=each) for each in missing)
    record = recorded()[-1]
    return msgspec.structs.replace(record, state=msgspec.structs.replace(record.state, effects={SIGNAL: effects}))


def test_what_evicted_pods_held_and_growth_took_is_said() -> None:
    """Two pods of 300Mi "gave back 0", as if their files had stayed (world 02)."""
    assert taken_at_once(paused(1 << 40, MI, 2 * MI), FINDING) == TAKEN
    assert taken_at_once(paused(MI, MI, freed=100 * MI), FINDING) == TAKEN.replace("as much", "the rest")


@pytest.mark.parametrize(
    ("record", "finding"),
    [
        (paused(MI), FINDING),
        (paused(MI, MI, freed=300 * MI), FINDING),
        (paused(1 << 40, MI), FINDING),
        (paused(MI, MI), {**FINDING, "needed": "damaged"}),
        (paused(MI, MI), {**FINDING, "signal": "of tomorrow"}),
    ],
    ids=["one", "freed", "less is missing", "damaged", "signal"],
)
def test_nothing_is_said_where_that_is_not_known(record: JournalRecord, finding: dict[str, Any]) -> None:
    assert taken_at_once(record, finding) == ""
