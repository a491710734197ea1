"""How many inodes came back with the deletion of images."""

import msgspec
import pytest

from evictd.codec.journal_record import JournalRecord, RecordedExtra
from evictd.core.units.duration import SECOND
from evictd.render.history.inodes_freed import InodesFreed, inodes_freed
from tests.render.recorded_incident import recorded


def record(second: int, available: str, *, met: bool = False, signal: str = "nodefs.inodesFree") -> JournalRecord:
    finding = {
        "kind": "Threshold",
        "threshold": {"signal": signal},
        "available": available,
        "capacity": "1M",
        "met": met,
    }
    bytes_left = {**finding, "threshold": {"signal": "nodefs.available"}, "met": True}
    return msgspec.structs.replace(recorded()[0], now=second * SECOND, findings=(bytes_left, finding))


BEGUN = record(10, "49900", met=True)


def test_what_came_back_counts_from_the_fewest_that_were_free_meanwhile() -> None:
    """12Gi were said to have been freed on a node that had 67Gi left, and inodes were short (world 40)."""
    found = inodes_freed(BEGUN, record(40, "619900"))
    assert found is not None
    assert found.text == "nodefs.inodesFree rose from 49900 to 619900"
    trend: dict[str, tuple[tuple[float, int], ...]] = {
        "nodefs.inodesFree": ((0.0, 100), (1.0, 20900), (30.0, 49900), (31.0, 7))
    }
    ended = msgspec.structs.replace(record(40, "619900"), extra=RecordedExtra(trend=trend))
    found = inodes_freed(BEGUN, ended)
    assert found is not None
    assert found.text == "nodefs.inodesFree rose from 20900 to 619900"
    assert found.held_clause == (
        "unused containers and images held 599000, most of the 979100 in use: their deletion gave them back"
    )
    fewer = InodesFreed(signal="nodefs.inodesFree", before=20900, after=30900, capacity=1_000_000)
    assert "held 10000 of the 979100 in use:" in fewer.held_clause


@pytest.mark.parametrize(
    ("begun", "ended"),
    [
        (record(10, "49900"), record(40, "619900")),
        (BEGUN, record(40, "49900")),
        (BEGUN, record(40, "619900", signal="imagefs.inodesFree")),
        (BEGUN, record(40, "damaged")),
    ],
    ids=["none was short", "nothing came back", "of another filesystem", "damaged"],
)
def test_nothing_is_said_of_what_did_not_come_back(begun: JournalRecord, ended: JournalRecord) -> None:
    assert inodes_freed(begun, ended) is None
