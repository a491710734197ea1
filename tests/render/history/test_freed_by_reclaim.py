"""Checks how much of what was short came back when unused containers and images were deleted."""

import msgspec
import pytest

from evictd.codec.records.journal_record import (
    JournalRecord,
    RecordedCollection,
    RecordedExtra,
    RecordedOutcome,
    RecordedState,
    decode_record,
)
from evictd.commands.played.world_journal import journal_lines
from evictd.core.units.duration import SECOND
from evictd.render.history.cause.freed_by_reclaim import InodesFreed, held_by_unused, inodes_freed
from evictd.render.history.history import EventKind, event_line, history
from evictd.render.history.pod.why_cause import cause_lines
from tests.render.played_worlds import incident_run
from tests.render.recorded_incident import recorded
from tests.stories import GI


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


def test_an_eviction_of_a_dry_run_after_a_reclaim_is_said_to_depend_on_that() -> None:
    """The log said `unless this reclaim frees enough`, and `history` that the pod would have gone."""
    evicted = ((each, one) for each in recorded(dry_run=True) for one in each.decisions if one["kind"] == "EvictPod")
    decided, eviction = next(evicted)
    for signal, state, depends in (
        ("nodefs.available", RecordedState(collections={"nodefs": RecordedCollection()}), True),
        ("nodefs.available", RecordedState(), False),
        ("memory.available", RecordedState(collections={"nodefs": RecordedCollection()}), False),
    ):
        because = {**eviction["because"], "signal": signal}
        changed = {"decisions": ({**eviction, "because": because},), "state": state}
        for dry_run in (True, False):
            extra = RecordedExtra(dry_run=dry_run)
            events = history([msgspec.structs.replace(decided, extra=extra, **changed)])
            (event,) = (each for each in events if each.kind is EventKind.EVICTED)
            assert event.unless_reclaim == (depends and dry_run)
            unless = "unless the reclaim before frees enough, would evict " if depends else "would evict "
            assert event_line(event).startswith(unless if dry_run else "evict ")


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


IMAGES = RecordedOutcome(action="images", freed_bytes=30 * GI, removed=2)

HELD = "unused containers held 40Gi of the 90Gi in use: their deletion gave that back"


def of_bytes(*outcomes: RecordedOutcome, met: bool = True, available: str = "10Gi") -> JournalRecord:
    """A cycle in which a disk of 60Gi is short, with what was deleted before it."""
    finding = {"threshold": {"signal": "nodefs.available"}, "met": met, "available": available, "capacity": "60Gi"}
    first = recorded()[0]
    observation = msgspec.structs.replace(first.observation, reclaimed=outcomes)
    return msgspec.structs.replace(first, observation=observation, findings=(finding,))


def test_the_pod_that_grew_is_not_named_without_the_containers_that_held_most() -> None:
    """A pod of 3.9Gi took the blame for a disk on which dead containers held 40Gi (world 28)."""
    lines = journal_lines(incident_run("28-control-dead-containers"), end=1_800_000_000 * SECOND)
    records = [decode_record(line) for line in lines]
    assert cause_lines(records, "default/app")[1:] == (HELD,)
    (begun,) = (each.filled for each in history(records) if each.filled)
    assert begun.endswith(f"nothing else grew. {HELD.capitalize().replace('gi', 'Gi')}.")


def test_bytes_are_named_where_bytes_were_short() -> None:
    assert held_by_unused(of_bytes(), of_bytes(IMAGES)) == (
        "unused images held 30Gi, most of the 50Gi in use: their deletion gave that back"
    )
    containers = RecordedOutcome(action="containers", freed_bytes=GI, removed=1)
    assert held_by_unused(of_bytes(), of_bytes(containers, IMAGES)).startswith("unused containers and images held 31Gi")
    assert "599000" in held_by_unused(record(10, "20900", met=True), record(40, "619900")), "of inodes"


def test_nothing_is_said_of_what_did_not_come_back_held_by_unused() -> None:
    assert held_by_unused(of_bytes(), of_bytes()) == ""
    assert held_by_unused(of_bytes(met=False), of_bytes(IMAGES)) == ""
    assert held_by_unused(of_bytes(IMAGES), of_bytes(IMAGES)) == "", "of an earlier deletion"
    assert held_by_unused(of_bytes(available="damaged"), of_bytes(IMAGES)) == ""
