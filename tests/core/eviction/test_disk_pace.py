"""When a disk is read again between two cycles."""

import pytest

from evictd.core.eviction.disk_pace import SHORTEST, until_next_reading
from evictd.core.units.duration import SECOND


@pytest.mark.parametrize(
    ("distance", "rate", "expected"),
    [(1000, 200, 5 * SECOND), (1000, 1, 10 * SECOND), (1, 1000, SHORTEST), (0, 200, SHORTEST), (-5, 200, SHORTEST)],
    ids=["when it could be short", "at the latest", "no more often", "short", "below its limit"],
)
def test_the_time_until_the_until_next_reading(distance: int, rate: int, expected: int) -> None:
    assert until_next_reading(distance, rate, 10 * SECOND) == expected
