"""The round numbers of a chart."""

import pytest

from evictd.core.model.signal import Signal
from evictd.render.axis import axis_top, nice_step

MI, GI = 1 << 20, 1 << 30


@pytest.mark.parametrize(
    ("highest", "top"),
    [(6 * GI, 6 * GI), (6 * GI + 1, 7 * GI), (33 * GI, 35 * GI), (110 * MI, 120 * MI), (1900 * MI, 2 * GI), (0, 1)],
)
def test_an_axis_ends_at_a_round_number_of_its_unit(highest: int, top: int) -> None:
    assert axis_top(highest, Signal.MEMORY_AVAILABLE) == top


def test_inodes_end_at_a_round_decimal_number() -> None:
    assert axis_top(652_345, Signal.NODEFS_INODES_FREE) == 700_000


def test_a_share_of_time_ends_where_no_task_stalls() -> None:
    assert axis_top(9_000, Signal.PODS_MEMORY_FULL_10) == 10_000


@pytest.mark.parametrize(("binary", "step"), [(True, 256 * MI), (False, 500_000_000)])
def test_ticks_are_at_most_four(binary: bool, step: int) -> None:
    assert nice_step(GI, binary=binary) == step
