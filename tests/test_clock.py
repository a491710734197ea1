"""The clocks."""

from evictd.clock import boot_clock, monotonic_clock, thread_clock, wall_clock
from evictd.core.units.duration import SECOND


def test_the_clocks() -> None:
    assert monotonic_clock() <= boot_clock()
    assert wall_clock() > 1_600_000_000 * SECOND
    assert 0 < thread_clock() < monotonic_clock()
