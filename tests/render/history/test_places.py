"""Checks the place of one pod in the order of eviction at each eviction of another one, or says that it was not recorded."""

from evictd.codec.records.journal_record import decode_record
from evictd.commands.played.world_journal import journal_lines
from evictd.core.units.duration import SECOND
from evictd.render.history.pod.places import places_then, unrecorded_place
from tests.render.played_worlds import incident_run
from tests.render.recorded_incident import OLD, recorded


def test_the_place_is_known_at_each_eviction_of_another_pod_that_counts() -> None:
    records = recorded()
    evicted = {("2026-01-01T00:00:30Z", OLD.uid)}
    ((at, place),) = places_then(records, "default/web", evicted)
    assert (at, place.victim, place.number, place.pods) == ("2026-01-01T00:00:30Z", "default/hog-old", 2, 2)
    assert places_then(records, "default/hog-old", evicted) == ()
    assert places_then(records, "default/web", ()) == (), "one that was refused"


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
