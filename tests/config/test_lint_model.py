"""Amounts and values of thresholds, as findings write them."""

from evictd.config.lint_model import amount_on, limit_on
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Threshold
from evictd.core.model.threshold_config import ThresholdMaps, parse_threshold_config
from evictd.core.units.quantity import of_bytes, of_count


def thresholds(hard: dict[str, str], soft: dict[str, str] | None = None) -> tuple[Threshold, ...]:
    soft = soft or {}
    maps = ThresholdMaps(hard=hard, soft=soft, soft_grace_period=dict.fromkeys(soft, "1m"))
    found, problems = parse_threshold_config(maps)
    assert problems == ()
    return found


def test_a_percentage_of_an_unknown_capacity_has_no_amount() -> None:
    (threshold,) = thresholds({"nodefs.available": "10%"})
    assert limit_on(threshold, {}) is None
    assert limit_on(threshold, {Signal.NODEFS_AVAILABLE: of_bytes(1000)}) == of_bytes(100)


def test_amounts_are_bytes_or_counts() -> None:
    assert amount_on(of_bytes(3 * 2**30 + 1), Signal.MEMORY_AVAILABLE) == "3Gi"
    assert amount_on(of_count(32768), Signal.PID_AVAILABLE) == "32768"
