"""What unused containers and images had held of a filesystem that was short."""

import msgspec

from evictd.codec.journal_record import JournalRecord, RecordedOutcome, decode_record
from evictd.commands.world_journal import journal_lines
from evictd.core.units.duration import SECOND
from evictd.render.history.held_by_unused import held_by_unused
from evictd.render.history.history import history
from evictd.render.history.why_cause import cause_lines
from tests.render.history.test_inodes_freed import record as of_inodes
from tests.render.played_worlds import incident_run
from tests.render.recorded_incident import recorded
from tests.stories import GI

IMAGES = RecordedOutcome(action="images", freed_bytes=30 * GI, removed=2)
HELD = "unused containers held 40Gi of the 90Gi in use: their deletion gave that back"


def record(*outcomes: RecordedOutcome, met: bool = True, available: str = "10Gi") -> JournalRecord:
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
    assert held_by_unused(record(), record(IMAGES)) == (
        "unused images held 30Gi, most of the 50Gi in use: their deletion gave that back"
    )
    containers = RecordedOutcome(action="containers", freed_bytes=GI, removed=1)
    assert held_by_unused(record(), record(containers, IMAGES)).startswith("unused containers and images held 31Gi")
    assert "599000" in held_by_unused(of_inodes(10, "20900", met=True), of_inodes(40, "619900")), "of inodes"


def test_nothing_is_said_of_what_did_not_come_back() -> None:
    assert held_by_unused(record(), record()) == ""
    assert held_by_unused(record(met=False), record(IMAGES)) == ""
    assert held_by_unused(record(IMAGES), record(IMAGES)) == "", "of an earlier deletion"
    assert held_by_unused(record(available="damaged"), record(IMAGES)) == ""
