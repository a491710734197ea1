"""Checks what repeats in a list of events: refusals, reclaims that found nothing, and the events of one owner's pods."""

from evictd.render.history.folded_events import (
    folded_events,
    without_empty_reclaims,
    without_repeated_reasons,
    without_repeated_refusals,
)
from evictd.render.history.history import EventKind, HistoryEvent


def kills(*seconds: int) -> list[HistoryEvent]:
    """Kills of one pod at these times."""
    times = (f"2026-07-27T10:{each // 60:02}:{each % 60:02}Z" for each in seconds)
    return [HistoryEvent(at=at, kind=EventKind.KERNEL, pod="default/web", uid="w", text="killed") for at in times]


def test_the_first_and_the_last_stand_beside_a_count_and_the_time_between_two() -> None:
    first, middle, last = folded_events(kills(0, 10, 20, 30), "--all")
    assert middle == "... the same 2 more times, every 10s; the last time (--all lists each):"
    assert [each.at[-3:] for each in (first, last) if isinstance(each, HistoryEvent)] == ["00Z", "30Z"]


def test_where_the_times_are_uneven_the_least_and_the_most_are_said() -> None:
    """A pause of ten minutes after eleven seconds was "every 5m11s" (world 14)."""
    _, text, _ = folded_events(kills(0, 11, 22, 633), "--all")
    assert text == "... the same 2 more times, 11s to 10m11s apart; the last time (--all lists each):"
    _, even, _ = folded_events(kills(0, 4, 6, 9), "--all")
    assert even == "... the same 2 more times, every 3s; the last time (--all lists each):"


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


def test_a_reason_for_no_eviction_is_listed_once_until_a_pod_goes() -> None:
    reasons = [HistoryEvent(at=f"2026-07-27T10:0{n}:00Z", kind=EventKind.NO_ACTION, text="none") for n in range(4)]
    assert [each.text for each in without_repeated_reasons(reasons)] == ["none; the same 3 more times until 10:03:00"]
    found = without_repeated_reasons([*reasons[:2], EVICTED, *reasons[2:3]])
    assert [each.text for each in found] == ["none; the same again at 10:01:00", "evict", "none"]
