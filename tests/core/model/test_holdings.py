"""What is remembered of who holds a supply: growth, and which pods grew."""

from evictd.core.model.holdings import MeasuredLevel, SupplyHoldings
from evictd.core.units.duration import SECOND


def level(used: int, lowest: int, lowest_before: int) -> MeasuredLevel:
    return MeasuredLevel(60 * SECOND, used, 30 * SECOND, lowest, lowest_before, 0)


def test_growth_is_the_rise_above_the_lowest_of_both_halves() -> None:
    assert (level(700, 400, 100).grown, level(700, 400, 100).rate) == (600, 10)
    assert level(700, 700, 700).grown == 0


def test_pods_that_grew_are_found_once() -> None:
    pods = {"still": level(5, 5, 5), "earlier": level(5, 5, 4), "now": level(5, 4, 6), "shrank": level(5, 5, 9)}
    assert set(SupplyHoldings(pods=pods).growing) == {"earlier", "now"}
