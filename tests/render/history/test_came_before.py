"""Which pods came shortly before an eviction at which nothing that was there had grown."""

import msgspec
import pytest

from evictd.codec.records.journal_record import (
    JournalRecord,
    RecordedHoldings,
    RecordedMemory,
    RecordedObservation,
    RecordedReference,
    RecordedSummary,
    RecordedUsage,
)
from evictd.core.units.duration import SECOND
from evictd.render.history.cause.came_before import came_before
from tests.daemon.world import GI
from tests.render.recorded_journal import journal

NOW = 3600 * SECOND
BECAUSE = {"signal": "memory.available", "limit": "2Gi", "available": "1Gi"}


def seen(*arrived: str) -> JournalRecord:
    """A record before which these pods came; `late` is measured in its cycle for the first time."""
    held = RecordedHoldings(used={"a": GI, "b": GI}, arrived=dict.fromkeys(arrived, NOW), since=NOW - 35 * SECOND)
    late = RecordedUsage(pod_ref=RecordedReference(uid="late"), memory=RecordedMemory(working_set_bytes=GI // 2))
    observation = RecordedObservation(summary=RecordedSummary(pods=(late,)))
    record = msgspec.structs.replace(journal()[0], now=NOW, observation=observation)
    return msgspec.structs.replace(record, holdings={"memory.available": held, "nodefs.available": held})


def test_the_pods_that_came_are_counted_with_what_they_hold() -> None:
    """The history named an eviction and not the seven pods that had come before it (world 22)."""
    assert came_before(seen("a", "b"), BECAUSE) == (
        "3 pods came in the 35s before it and hold 2.5Gi together; nothing else grew."
    )
    assert came_before(seen("a", "b"), {**BECAUSE, "signal": "nodefs.available"}).startswith("2 pods came")


@pytest.mark.parametrize(
    ("record", "because"),
    [
        (seen(), BECAUSE),
        (seen("a", "b"), {**BECAUSE, "limit": "8Gi"}),
        (seen("a", "b"), {**BECAUSE, "available": "3Gi"}),
        (seen("a", "b"), {**BECAUSE, "limit": "damaged"}),
        (seen("a", "b"), {"signal": ""}),
        (msgspec.structs.replace(seen("a", "b"), holdings={}), BECAUSE),
    ],
    ids=["one came", "more is missing", "nothing is missing", "damaged", "no signal", "no holders"],
)
def test_it_is_empty_where_they_are_not_the_cause(record: JournalRecord, because: dict[str, str]) -> None:
    assert came_before(record, because) == ""
