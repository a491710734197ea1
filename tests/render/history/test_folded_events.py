"""Events of one owner that repeat."""

from evictd.render.history.folded_events import folded_events
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
