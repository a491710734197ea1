"""The pods whose bytes on a disk came back together, and the next eviction after that."""

import msgspec
import pytest

from evictd.codec.records.journal_record import JournalRecord
from evictd.codec.times import parse_time, rfc3339
from evictd.core.model.signal import Signal
from evictd.core.units.duration import SECOND
from evictd.render.incident.record.aftermath import AFTER
from evictd.render.incident.record.read_together import read_together
from tests.render.recorded_incident import OLD, recorded

MEMORY, DISK = Signal.MEMORY_AVAILABLE, Signal.NODEFS_AVAILABLE


def test_the_next_eviction_is_found_by_the_clock_that_goes_on() -> None:
    """750Mi were said to come back of a pod of 250Mi: two others were evicted within the same second."""
    records = recorded()
    assert read_together(records, 1, MEMORY, OLD.uid) == (AFTER / SECOND, None)
    soon = msgspec.structs.replace(records[1], now=records[1].now + SECOND // 5)
    assert read_together([records[1], soon, *records[2:]], 0, MEMORY, OLD.uid) == (0.2, None)
    booted = msgspec.structs.replace(records[1], now=7, wall="2026-01-01T00:00:40Z")
    assert read_together([records[1], booted], 0, MEMORY, OLD.uid) == (10.0, None)


def at(record: JournalRecord, seconds: float, uid: str = "other") -> JournalRecord:
    """The record of another eviction so many seconds later."""
    evicts = {"kind": "EvictPod", "pod": {"uid": uid}, "because": {"signal": DISK.value, "usage": "5"}}
    now, wall = record.now + int(seconds * SECOND), rfc3339(parse_time(record.wall) + int(seconds) * SECOND)
    return msgspec.structs.replace(record, now=now, wall=wall, decisions=(evicts,), findings=())


@pytest.mark.parametrize(
    ("seconds", "found"),
    [
        (-20, (AFTER / SECOND, None)),
        (-1, (AFTER / SECOND, 5)),
        (1, (AFTER / SECOND, 5)),
        (20, (20, None)),
    ],
)
def test_a_pod_is_evicted_before_the_bytes_of_another_one_on_a_disk_had_been_read(
    seconds: float, found: tuple[float, int | None]
) -> None:
    record = recorded()[1]
    records = sorted((record, at(record, seconds)), key=lambda each: each.now)
    assert read_together(records, records.index(record), DISK, OLD.uid) == found
    assert read_together([at(record, -1, uid=OLD.uid), record], 1, DISK, OLD.uid) == (AFTER / SECOND, None)
