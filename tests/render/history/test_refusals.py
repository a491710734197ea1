"""Refusals of one pod that repeat."""

from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.history.refusals import without_repeated_refusals

ASK, REFUSE, GONE = EventKind.REQUESTED, EventKind.REFUSED, EventKind.EVICTED


def events(*found: tuple[str, EventKind]) -> list[HistoryEvent]:
    """Events of pods, one a second."""
    return [
        HistoryEvent(at=f"2026-01-01T00:00:{second:02}Z", kind=kind, uid=uid, text=f"{kind.value} {uid}")
        for second, (uid, kind) in enumerate(found)
    ]


def told(*found: tuple[str, EventKind]) -> list[str]:
    return [each.text for each in without_repeated_refusals(events(*found))]


def test_the_first_refusal_counts_those_that_repeat_it() -> None:
    """`why` of a guarded pod printed the same two lines ten times, and `incident` left 1669 out (world 42)."""
    a, b = (("a", ASK), ("a", REFUSE)), (("b", ASK), ("b", REFUSE))
    assert told(*a, *b, *b, *a, *a) == [
        "Requested a", "Refused a, and 2 times more until 00:00:09", "Requested b", "Refused b", "Requested b", "Refused b",
    ]  # fmt: skip


def test_a_request_without_an_answer_and_what_comes_of_it_stay() -> None:
    a = (("a", ASK), ("a", REFUSE))
    assert told(*a, *a, *a, ("a", ASK)) == ["Requested a", "Refused a, and 2 times more until 00:00:05", "Requested a"]
    assert told(*a, *a, ("a", GONE), *a, *a).count("Requested a") == 4, "two and two, with its eviction between"
    assert told() == []
