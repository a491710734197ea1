"""Walks pause during observations and keep to their budget."""

import threading

from evictd.core.units.duration import SECOND
from evictd.observe.disk_usage.rate_limiter import BudgetedRateLimiter, RateLimiter


class Stopped(threading.Event):
    """Notes how long it was asked to wait, and does not."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.asked.append(timeout)
        return False


def test_a_walk_must_pause_only_while_the_limiter_is_held() -> None:
    limiter = RateLimiter()
    seen = [limiter.due]
    with limiter:
        seen.append(limiter.due)
    seen.append(limiter.due)
    assert seen == [False, True, False]
    limiter.pause()


def test_a_paused_walk_continues_when_the_limiter_is_released() -> None:
    limiter, gone_on = RateLimiter(), threading.Event()

    def walk() -> None:
        limiter.pause()
        gone_on.set()

    with limiter:
        thread = threading.Thread(target=walk)
        thread.start()
        assert not gone_on.is_set()
    assert gone_on.wait(60)
    thread.join(60)


def test_entries_are_counted_so_that_a_hanging_walk_shows() -> None:
    limiter = RateLimiter()
    limiter.spent(3)
    limiter.spent(4)
    assert limiter.entries == 7


def test_what_is_walked_too_soon_is_slept_off() -> None:
    stopped, now = Stopped(), [0]
    limiter = BudgetedRateLimiter(entries_per_second=1000, clock=lambda: now[0], stopped=stopped)
    limiter.spent(500)
    assert stopped.asked == [0.5]
    now[0] = SECOND // 2
    limiter.spent(100)
    assert stopped.asked[1:] == [0.1]
    assert limiter.entries == 600


def test_time_without_a_walk_is_not_saved_up() -> None:
    stopped, now = Stopped(), [0]
    limiter = BudgetedRateLimiter(entries_per_second=1000, clock=lambda: now[0], stopped=stopped)
    now[0] = 100 * SECOND
    limiter.spent(1)
    assert stopped.asked == []
    limiter.spent(1000)
    assert stopped.asked == [1.0]


def test_a_small_debt_is_carried_on_until_it_is_worth_a_sleep() -> None:
    stopped = Stopped()
    limiter = BudgetedRateLimiter(entries_per_second=100_000, clock=lambda: 0, stopped=stopped)
    for _ in range(7):
        limiter.spent(64)
    assert stopped.asked == []
    limiter.spent(64)
    assert stopped.asked == [0.00512]
