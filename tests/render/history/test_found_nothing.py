"""Reclaims that found nothing to delete."""

from evictd.render.history.found_nothing import without_empty_reclaims
from evictd.render.history.history import EventKind, HistoryEvent

RECLAIM = HistoryEvent(at="t", kind=EventKind.RECLAIM, text="delete unused containers and images for nodefs.available")
EVICTED = HistoryEvent(at="t", kind=EventKind.EVICTED, text="evict")


def result(removed: int = 0, error: str = "") -> HistoryEvent:
    return HistoryEvent(at="t", kind=EventKind.RECLAIMED, text="deleted", evidence={"removed": removed, "error": error})


def texts(*events: HistoryEvent) -> list[str]:
    return [each.text for each in without_empty_reclaims(events)]


def test_reclaims_that_deleted_nothing_are_one_line() -> None:
    """They were half of a history."""
    nothing = (RECLAIM, result(), result())
    found_none = "for unused containers and images for nodefs.available: nothing"
    assert texts(*nothing) == [f"looked {found_none}"]
    assert texts(*nothing, *nothing, EVICTED, *nothing) == [
        f"looked 2 times {found_none}",
        "evict",
        f"looked {found_none}",
    ]


def test_a_reclaim_that_deleted_or_failed_or_has_no_result_yet_stays() -> None:
    for results in ((result(1), result()), (result(), result(error="timeout")), ()):
        assert texts(RECLAIM, *results) == [each.text for each in (RECLAIM, *results)]
    assert texts(result(), EVICTED) == ["deleted", "evict"], "the journal begins after its reclaim"
