"""When thresholds act, and how long conditions stay."""

from evictd.render.timing import approaches, conditions, ends, time_lines
from tests.daemon.status import status_of
from tests.daemon.world import GI
from tests.render.test_node_page import blocked, calm, play


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


def test_below_a_hard_threshold_it_is_said_when_nothing_is_left_and_what_happens_then() -> None:
    short = blocked()
    status = status_of(short, short.at)
    last = "At 93.9Mi a second the 512Mi of memory.available last 5.5s; then the kernel's OOM killer kills processes"
    assert ends(status) == [last]
    (memory,) = [each for each in status["signals"] if each["signal"] == "memory.available"]
    assert ends({**status, "signals": [{**memory, "fillRate": 1}]}) == [], "no rate lasts that long"
    assert ends({**status, "signals": [{**memory, "fillRate": None}]}) == []
    assert ends(status_of(calm(), calm().at)) == []
