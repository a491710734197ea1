"""The thresholds that only EvictdConfiguration has; those of `pressure` are tested with `config.build`."""

import pytest

from evictd.codec.config.pressure_fields import SwapFields, swap_problems, swap_thresholds
from evictd.codec.strict import Duration
from evictd.core.units.duration import SECOND


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (SwapFields(), 'swap[1].available: ""'),
        (SwapFields(available="-1Mi"), "swap[1].available"),
        (SwapFields(available="101%"), "swap[1].available"),
        (SwapFields(available="10%", for_=Duration(-SECOND)), "swap[1].for: -1s: is negative"),
    ],
)
def test_each_fault_of_a_swap_threshold_is_named(fields: SwapFields, told: str) -> None:
    [problem] = swap_problems([SwapFields(available="10%"), fields])
    assert told in str(problem)


def test_swap_thresholds_are_soft_unless_they_are_hard_and_may_be_switched_off() -> None:
    fields = [
        SwapFields(available="10%"),
        SwapFields(available="10%", hard=True),
        SwapFields(available="10%", for_=Duration(0)),
        SwapFields(available="0%"),
    ]
    assert [(each.grace_period // SECOND, each.hard) for each in swap_thresholds(fields)] == [
        (30, False),
        (30, True),
        (0, True),
    ]
