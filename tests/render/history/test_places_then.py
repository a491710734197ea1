"""The place of a pod at the evictions of others."""

from evictd.render.history.places_then import places_then
from tests.render.recorded_incident import OLD, recorded


def test_the_place_is_known_at_each_eviction_of_another_pod_that_counts() -> None:
    records = recorded()
    evicted = {("2026-01-01T00:00:30Z", OLD.uid)}
    ((at, place),) = places_then(records, "default/web", evicted)
    assert (at, place.victim, place.number, place.pods) == ("2026-01-01T00:00:30Z", "default/hog-old", 2, 2)
    assert places_then(records, "default/hog-old", evicted) == ()
    assert places_then(records, "default/web", ()) == (), "one that was refused"
