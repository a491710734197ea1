"""Checks what is found to have come at once before the minute of which growth is measured."""

from typing import Any

import msgspec
import pytest

from evictd.codec.records.journal_record import (
    JournalRecord,
    RecordedDisk,
    RecordedReference,
    RecordedSummary,
    RecordedUsage,
)
from evictd.core.model.signal import Signal
from evictd.render.incident.record.step_before import StepBefore, step_before
from tests.render.recorded_incident import recorded
from tests.stories import GI

IMAGE = ((-150.0, 45 * GI), (-140.0, 45 * GI), (-130.0, 15 * GI), (-60.0, 15 * GI), (0.0, 14 * GI))


def record(seconds: int, **held: int) -> JournalRecord:
    """A record at a time before the eviction, with what each pod holds on the disk."""
    used = tuple(RecordedUsage(pod_ref=RecordedReference(uid), disk=RecordedDisk(each)) for uid, each in held.items())
    first = recorded()[0]
    observation = msgspec.structs.replace(first.observation, summary=RecordedSummary(pods=used))
    wall = f"2026-01-01T00:{10 - seconds // 60:02}:00Z"
    return msgspec.structs.replace(first, wall=wall, observation=observation)


def step(*records: JournalRecord, points: Any = IMAGE, signal: Signal = Signal.IMAGEFS_AVAILABLE) -> StepBefore | None:
    return step_before(records, signal, points, 100 * GI)


def test_what_came_at_once_and_belongs_to_no_pod_is_found() -> None:
    """An image of 30Gi came two minutes before, and only the pod was named that grew by 200Mi in the last minute."""
    before, at_eviction = record(240, web=24 * GI), record(0, web=24 * GI, log=GI)
    assert before.observation.disk == {"web": 24 * GI}
    assert step(before, at_eviction) == StepBefore(-130.0, 29 * GI)
    assert step(record(0, web=10 * GI)) == StepBefore(-130.0, 20 * GI), "all that they hold may have come then"


def test_what_pods_took_is_no_step_of_no_pod() -> None:
    assert step(record(240, web=GI), record(0, web=24 * GI)) is None
    assert step(record(0, web=24 * GI)) is None


@pytest.mark.parametrize(
    "points",
    [
        (),
        ((-150.0, 15 * GI), (0.0, 14 * GI)),
        ((-150.0, 18 * GI), (-140.0, 15 * GI), (0.0, 14 * GI)),
        ((-50.0, 45 * GI), (-40.0, 15 * GI), (0.0, 14 * GI)),
        ((-150.0, 45 * GI), (-140.0, 15 * GI), (-70.0, 30 * GI), (0.0, 14 * GI)),
        ((-150.0, 45 * GI), (-140.0, 35 * GI), (0.0, 14 * GI)),
    ],
    ids=["no readings", "none", "little", "in the last minute", "given back", "less than since"],
)
def test_no_step_is_found_where_it_is_not_most(points: tuple[tuple[float, int], ...]) -> None:
    assert step(record(0), points=points) is None


def test_only_bytes_of_a_disk_count() -> None:
    assert step(record(0), signal=Signal.MEMORY_AVAILABLE) is None
    assert step() is None
