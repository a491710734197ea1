"""When thresholds act, and how long conditions stay."""

from evictd.render.timing import approaches, conditions, time_lines
from tests.daemon.status import status_of
from tests.daemon.world import GI
from tests.render.test_node_page import play


def test_a_grace_period_says_when_it_ends_and_what_would_end_it_early() -> None:
    soft = play([3 * GI // 2])
    status = status_of(soft, soft.at)
    assert "memory.available: the soft threshold acts in 1m30s at the latest, unless 512Mi come back" in tuple(
        time_lines(status)
    )
    assert next(conditions(status)).startswith("MemoryPressure stays for at least 5m0s; it ends when no threshold")


def test_the_next_threshold_of_a_signal_that_falls_is_told_with_its_time() -> None:
    falling = play([5 * GI, 9 * GI // 2, 4 * GI])
    status = status_of(falling, falling.at)
    assert tuple(time_lines(status)) == ("memory.available reaches its soft threshold 2Gi in 2m0s at the present rate",)
    assert approaches(status, within=60) == []
