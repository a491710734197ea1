"""A pod whose place in a long order of eviction the journal did not record."""

from evictd.codec.journal_record import decode_record
from evictd.commands.world_journal import journal_lines
from evictd.core.units.duration import SECOND
from evictd.render.history.unrecorded_place import unrecorded_place
from tests.render.played_worlds import incident_run


def test_a_pod_behind_the_recorded_places_was_ranked_all_the_same() -> None:
    """`no eviction of the journal concerned it` was said of one of 58 ranked pods (world 22)."""
    lines = journal_lines(incident_run("22-minimum-reclaim"), end=1_800_000_000 * SECOND)
    records = [decode_record(line) for line in lines]
    behind = "behind the first 20 in the order of eviction, whose places the journal keeps"
    assert (
        unrecorded_place(records, "default/stress-40") == f"at 5 evictions of other pods default/stress-40 was {behind}"
    )
    assert unrecorded_place(records, "default/unknown") == ""
    assert unrecorded_place(records[:1], "default/stress-40") == ""
