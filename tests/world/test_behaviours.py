"""Checks how much each behaviour holds at an age, and when its growth changes."""

from dataclasses import replace

import pytest

from evictd.core.units.duration import SECOND
from evictd.world.behaviours import (
    Burst,
    Grow,
    Hold,
    LeakAndRelease,
    TakeRest,
    Taking,
    Usage,
    amount,
    is_now,
    most,
    next_change,
    slope,
    within,
    within_pids,
)

MEMORY = Usage.MEMORY
GROW = Grow(of=MEMORY, rate=10, start=5 * SECOND, bound=100)
SAW = LeakAndRelease(of=MEMORY, rate=10, low=20, peak=120)
BURST = Burst(of=MEMORY, amount=100, start=10 * SECOND, duration=5 * SECOND, every=20 * SECOND, rate=100)


@pytest.mark.parametrize(
    ("behaviour", "seconds", "held", "growth", "change"),
    [
        (Hold(of=MEMORY, amount=7), 100, 7, 0, None),
        (GROW, 0, 0, 0, 5),
        (GROW, 5, 0, 10, 15),
        (GROW, 10, 50, 10, 15),
        (GROW, 20, 100, 0, None),
        (Grow(of=MEMORY, rate=10), 20, 200, 10, None),
        (SAW, 0, 20, 10, 10),
        (SAW, 9, 110, 10, 10),
        (SAW, 10, 20, 10, 20),
        (BURST, 0, 0, 0, 10),
        (BURST, 10, 0, 100, 11),
        (BURST, 12, 100, 0, 15),
        (BURST, 16, 0, 0, 30),
        (BURST, 32, 100, 0, 35),
    ],
)
def test_amount_growth_and_next_change(
    behaviour: Taking, seconds: int, held: int, growth: int, change: int | None
) -> None:
    age = seconds * SECOND
    assert amount(behaviour, age) == held
    assert slope(behaviour, age) == growth
    assert next_change(behaviour, age) == (None if change is None else change * SECOND)


@pytest.mark.parametrize(("age", "now"), [(0, False), (5, True), (7, False), (15, True), (18, False)])
def test_a_window_that_is_repeated(age: int, now: bool) -> None:
    assert is_now(5, 2, 10, age) is now


def test_a_window_without_an_end() -> None:
    assert is_now(5, None, None, 10**12)


def test_several_behaviours_share_a_bound() -> None:
    """What is held from the beginning comes first; other usages are left as they are."""
    files, smaller = Grow(of=Usage.MEMORY_VOLUME, rate=10), Grow(of=Usage.MEMORY_VOLUME, rate=10, bound=3)
    assert within((smaller, files, GROW), Usage.MEMORY_VOLUME, 5) == (smaller, replace(files, bound=2), GROW)
    hold = Hold(of=Usage.MEMORY_VOLUME, amount=9)
    assert within((files, hold), Usage.MEMORY_VOLUME, 5) == (replace(hold, amount=5), replace(files, bound=0))


def test_a_pid_limit_bounds_the_processes_of_a_pod() -> None:
    """The kubelet writes `podPidsLimit` to the pod's `pids.max`: one process of its own, what it holds, then the rest."""
    pids = Usage.PROCESSES
    fork, hold = Grow(of=pids, rate=5), Hold(of=pids, amount=10)
    assert within_pids((fork, GROW, hold), 101) == (hold, replace(fork, bound=90), GROW)
    assert within_pids((replace(fork, bound=7),), 101) == (replace(fork, bound=7),)
    assert within_pids((hold, fork), 4) == (replace(hold, amount=3), replace(fork, bound=0))
    saw = LeakAndRelease(of=pids, rate=5, low=10, peak=50)
    assert within_pids((saw,), 51) == (saw,)
    assert within_pids((saw,), 31) == (hold, replace(fork, bound=20)), "it never comes to the peak"
    burst = Burst(of=pids, amount=60, start=0, duration=SECOND)
    assert within_pids((burst, burst), 101) == (burst, replace(burst, amount=40))


def test_the_most_that_is_ever_held() -> None:
    """A bound of one usage says nothing of another, and a growth without one has none."""
    assert most((GROW, SAW, BURST, Hold(of=MEMORY, amount=7)), (MEMORY,)) == 100 + 120 + 100 + 7
    assert most((replace(GROW, bound=None), TakeRest(rate=1)), (Usage.LOGS,)) == 0
    assert most((replace(GROW, bound=None),), (MEMORY,)) is None
    assert most((TakeRest(rate=1),), (MEMORY,)) is None
