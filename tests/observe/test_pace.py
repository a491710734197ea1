"""Walks make room, and keep to their budget."""

import threading

from evictd.core.duration import SECOND
from evictd.observe.pace import BudgetedPace, Pace


class Stopped(threading.Event):
    """Notes how long it was asked to wait, and does not."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.asked.append(timeout)
        return False


def test_a_walk_is_due_to_pause_only_while_someone_holds_the_pace() -> None:
    pace = Pace()
    seen = [pace.due]
    with pace:
        seen.append(pace.due)
    seen.append(pace.due)
    assert seen == [False, True, False]
    pace.pause()


def test_a_paused_walk_goes_on_when_there_is_room() -> None:
    pace, gone_on = Pace(), threading.Event()

    def walk() -> None:
        pace.pause()
        gone_on.set()

    with pace:
        thread = threading.Thread(target=walk)
        thread.start()
        assert not gone_on.is_set()
    assert gone_on.wait(10)
    thread.join(10)


def test_entries_are_counted_so_that_a_hanging_walk_shows() -> None:
    pace = Pace()
    pace.spent(3)
    pace.spent(4)
    assert pace.entries == 7


def test_what_is_walked_too_soon_is_slept_off() -> None:
    stopped, now = Stopped(), [0]
    pace = BudgetedPace(entries_per_second=1000, clock=lambda: now[0], stopped=stopped)
    pace.spent(500)
    assert stopped.asked == [0.5]
    now[0] = SECOND // 2
    pace.spent(100)
    assert stopped.asked[1:] == [0.1]
    assert pace.entries == 600


def test_time_without_a_walk_is_not_saved_up() -> None:
    stopped, now = Stopped(), [0]
    pace = BudgetedPace(entries_per_second=1000, clock=lambda: now[0], stopped=stopped)
    now[0] = 100 * SECOND
    pace.spent(1)
    assert stopped.asked == []
    pace.spent(1000)
    assert stopped.asked == [1.0]


def test_a_small_debt_is_carried_on_until_it_is_worth_a_sleep() -> None:
    stopped = Stopped()
    pace = BudgetedPace(entries_per_second=100_000, clock=lambda: 0, stopped=stopped)
    for _ in range(7):
        pace.spent(64)
    assert stopped.asked == []
    pace.spent(64)
    assert stopped.asked == [0.00512]
