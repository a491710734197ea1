"""What is remembered of who holds a supply: growth, and which pods grew."""

from evictd.core.model.holdings import MeasuredLevel, SupplyHoldings
from evictd.core.units.duration import SECOND


def level(used: int, lowest: int, lowest_before: int) -> MeasuredLevel:
    return MeasuredLevel(60 * SECOND, used, 30 * SECOND, lowest, lowest_before, 0)


def test_growth_is_the_rise_above_the_lowest_of_both_halves() -> None:
    assert (level(700, 400, 100).grown, level(700, 400, 100).rate) == (600, 10)
    assert level(700, 700, 700).grown == 0


def test_pods_that_grew_are_found_once() -> None:
    pods = {"still": (5, 5), "earlier": (5, 4), "now": (4, 6), "shrank": (5, 9)}
    lowest, before = ({uid: each[half] for uid, each in pods.items()} for half in (0, 1))
    found = SupplyHoldings(used=dict.fromkeys(pods, 5), lowest=lowest, lowest_before=before)
    assert {uid: each.grown for uid, each in found.growing.items()} == {"earlier": 1, "now": 1}


def test_a_pod_has_the_times_of_the_reading_except_where_it_has_its_own() -> None:
    amounts = {"old": 5, "new": 5}
    found = SupplyHoldings(
        at=60 * SECOND,
        used=amounts,
        begun=30 * SECOND,
        lowest=amounts,
        lowest_before=amounts,
        last_measured={"old": 50 * SECOND},
        arrived={"new": 20 * SECOND},
    )
    assert found.level("old") == MeasuredLevel(50 * SECOND, 5, 30 * SECOND, 5, 5, 0)
    assert found.level("new") == MeasuredLevel(60 * SECOND, 5, 30 * SECOND, 5, 5, 20 * SECOND)
    assert found.level("other") is None
    assert (found.measured_at(60 * SECOND), found.measured_at(61 * SECOND)) == ({"new": 5}, {})
