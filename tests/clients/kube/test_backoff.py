"""Delays double, have jitter, and honour Retry-After."""

from evictd.clients.kube.backoff import RetryBackoff
from evictd.core.units.duration import SECOND


def test_doubles_up_to_the_last_step() -> None:
    """In the middle of the jitter the delays are the steps themselves."""
    backoff = RetryBackoff(lambda: 0.5, first=SECOND, last=8 * SECOND)
    assert [backoff.next() // SECOND for _ in range(6)] == [1, 2, 4, 8, 8, 8]
    backoff.reset()
    assert backoff.next() == SECOND


def test_jitter_spreads_from_half_to_one_and_a_half() -> None:
    """Two nodes with different luck do not come back together."""
    assert RetryBackoff(lambda: 0.0, first=SECOND).next() == SECOND // 2
    assert RetryBackoff(lambda: 0.999, first=SECOND).next() > 1.4 * SECOND


def test_retry_after_is_a_lower_bound() -> None:
    """Never earlier than the server asked for."""
    assert RetryBackoff(lambda: 0.0, first=SECOND).next(7) == 7 * SECOND
    assert RetryBackoff(lambda: 0.0, first=60 * SECOND, last=60 * SECOND).next(7) == 30 * SECOND
