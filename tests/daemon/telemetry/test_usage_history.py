"""What each pod held over the last hour."""

from dataclasses import replace

import pytest

from evictd.core.model.holdings import MeasuredLevel, SupplyHoldings
from evictd.core.model.signal import Signal
from evictd.core.units.duration import MINUTE
from evictd.daemon.telemetry.usage_history import UsageHistory, UsageSample, most_held, sample_before, usage_recorded
from tests.playbook import pod

MEMORY = Signal.MEMORY_AVAILABLE


def kept(minutes: int) -> tuple[UsageSample, ...]:
    history: UsageHistory = {}
    for at in range(0, minutes * MINUTE, MINUTE):
        rest = MeasuredLevel(at=at, used=7, begun=at, lowest=7, lowest_before=7, since=at)
        history = usage_recorded(history, {MEMORY: SupplyHoldings(at=at, used={"a": at}, elsewhere=rest)}, (pod("a"),))
    return history[MEMORY]


def test_a_sample_is_kept_every_two_minutes_for_an_hour() -> None:
    assert [each.at // MINUTE for each in kept(6)] == [0, 2, 4]
    assert len(kept(600)) == 30
    assert kept(1)[0] == UsageSample(at=0, used={"a": 0}, elsewhere=7)


def test_a_supply_that_is_no_longer_followed_is_forgotten() -> None:
    history = usage_recorded({}, {MEMORY: SupplyHoldings()}, ())
    assert history[MEMORY][0].elsewhere is None
    assert usage_recorded(history, {}, ()) == {}


def test_the_sample_before_a_time_is_the_last_one_that_is_not_after_it() -> None:
    samples = kept(6)
    assert sample_before(samples, 3 * MINUTE) is samples[1]
    assert sample_before(samples, -MINUTE) is samples[0]
    assert sample_before((), 0) is None


def test_the_next_sample_is_the_one_before_a_fall_that_it_is_nearer_to() -> None:
    """Of a pod that was killed just before a fall, what it took since was hidden, so a smaller one seemed to grow the most."""
    samples = kept(6)
    assert sample_before(samples, 7 * MINUTE // 2) is samples[2]
    assert sample_before(samples, 4 * MINUTE) is samples[2]


def test_a_sample_from_before_a_release_says_nothing_of_the_fall_that_followed() -> None:
    """A pod that was killed and grew again seemed not to grow, so the advice was to end the largest of the others."""
    full, free = (UsageSample(at=at * MINUTE, used={"a": used}, elsewhere=7) for at, used in ((0, 90), (2, 10)))
    assert sample_before((full, free), MINUTE, 50) is free
    assert sample_before((full,), MINUTE, 97) is None
    assert sample_before((full, free), MINUTE, 98) is full
    unknown = replace(full, elsewhere=None)
    assert sample_before((unknown, free), MINUTE, 50) is unknown


@pytest.mark.parametrize(
    ("held", "found"),
    [
        ((600, 600, 600, 0, 0), (600, True)),
        ((100, 300, 500, 700, 0), (700, False)),
        ((600, 0), (600, False)),
        ((), (0, False)),
    ],
)
def test_what_a_pod_held_steadily_is_told_from_what_it_reached(held: tuple[int, ...], found: tuple[int, bool]) -> None:
    """A pod that the kernel had killed and that held as much again was named as what grew, because it exceeds its request."""
    samples = [UsageSample(at=at, used={"a": used}, elsewhere=7) for at, used in enumerate(held)]
    assert most_held(samples, "a") == found


def test_a_pod_that_came_later_grew_by_all_that_it_holds_and_one_without_a_measurement_is_left_out() -> None:
    history = usage_recorded({}, {MEMORY: SupplyHoldings(used={"a": 1})}, (pod("a"), pod("unread")))
    assert history[MEMORY][0].grown({"a": 5, "unread": 6, "later": 7}) == {"a": 4, "later": 7}
