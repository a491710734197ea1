"""A rate is taken since the last jump."""

from collections.abc import Sequence

import pytest

from evictd.render.jump import since_jump


def timed(amounts: Sequence[int]) -> list[tuple[float, int]]:
    return [(10.0 * number, amount) for number, amount in enumerate(amounts)]


@pytest.mark.parametrize(
    ("amounts", "kept"),
    [
        ([100, 79, 58, 234, 213, 192], 3),
        ([100, 79, 120, 234, 213, 192], 3),
        ([100, 79, 58, 383, 383, 383], 3),
        ([100, 79, 58, 234], 1),
        ([100, 79, 58, 37], 4),
        ([100, 60, 100, 60, 100], 5),
        ([100_000, 100_000, 100_001, 100_001], 4),
        ([100, 150, 300], 3),
        ([500, 500], 2),
        ([500], 1),
        ([], 0),
    ],
    ids=[
        "a reclaim", "in two steps", "and then calm", "just now", "a fall", "a saw", "a little",
        "a rise that goes on", "still", "one", "none"
    ],
)  # fmt: skip
def test_only_a_rise_that_stands_out_is_a_jump(amounts: list[int], kept: int) -> None:
    points = timed(amounts)
    assert since_jump(points) == points[len(points) - kept :]


def test_the_end_of_a_pod_within_a_second_is_a_jump() -> None:
    """246Mi came back within 0.2 s beside a fall of 200Mi in 10 s: 17Mi a second were said, and 20Mi fell (world 07)."""
    points = [(0.0, 928), (10.0, 728), (20.0, 528), (21.4, 499), (21.6, 745), (31.6, 545), (33.9, 499)]
    assert since_jump(points) == points[4:]
    slow = [(0.0, 928), (10.0, 728), (20.0, 528), (21.4, 499), (31.4, 745), (41.4, 545), (43.7, 499)]
    assert since_jump(slow) == slow


def test_the_end_of_a_pod_within_two_seconds_is_a_jump() -> None:
    """The reading of the eviction itself gives way to the one after it, within 2 s (world 07)."""
    points = [(0.0, 928), (10.0, 728), (20.0, 528), (21.6, 745)]
    assert since_jump(points) == points[3:]


def test_the_last_of_two_evictions_within_a_minute_is_the_jump() -> None:
    """Neither stood out beside the other, and the mean over both was a rate of 10.8Mi a second where 20Mi fell (world 07)."""
    points = [(0.0, 928), (10.0, 728), (20.0, 528), (21.6, 745), (31.6, 545), (33.9, 499), (34.1, 745), (44.1, 545)]
    assert since_jump(points) == points[6:]
    rises = [(0.0, 100), (10.0, 110), (20.0, 120), (30.0, 120), (40.0, 130), (50.0, 140)]
    assert since_jump(rises) == rises, "it has no fall that a rise would hide"
