"""Thresholds and signal observations as plain values, for state files and journals."""

from collections.abc import Mapping
from typing import Any

from evictd.core.observation import SignalObservation
from evictd.core.quantity import Quantity, parse_quantity
from evictd.core.signal import Signal
from evictd.core.threshold import Operator, Origin, Threshold, ThresholdValue

Plain = dict[str, Any]


def encode_threshold(threshold: Threshold) -> Plain:
    """Write a threshold; durations in nanoseconds, percentages as the exact single-precision fraction."""
    plain: Plain = {
        "signal": threshold.signal.value,
        "operator": threshold.operator.value,
        "value": _encode_value(threshold.value),
        "gracePeriodNanoseconds": threshold.grace_period,
        "origin": threshold.origin.value,
    }
    if threshold.min_reclaim is not None:
        plain["minReclaim"] = _encode_value(threshold.min_reclaim)
    return plain


def decode_threshold(plain: Mapping[str, Any]) -> Threshold:
    """Read a threshold back; raises `KeyError`, `ValueError` or `TypeError` on anything that `encode_threshold` did not write."""
    min_reclaim = plain.get("minReclaim")
    return Threshold(
        signal=Signal(plain["signal"]),
        operator=Operator(plain["operator"]),
        value=_decode_value(plain["value"]),
        grace_period=int(plain["gracePeriodNanoseconds"]),
        min_reclaim=None if min_reclaim is None else _decode_value(min_reclaim),
        origin=Origin(plain["origin"]),
    )


def _encode_value(value: ThresholdValue) -> Plain:
    if value.quantity is not None:
        return {"quantity": str(value.quantity)}
    return {"fraction": value.fraction.hex()}  # exact, and NaN has a spelling


def _decode_value(plain: Mapping[str, Any]) -> ThresholdValue:
    if "quantity" in plain:
        return ThresholdValue(quantity=parse_quantity(plain["quantity"]))
    return ThresholdValue(fraction=float.fromhex(plain["fraction"]))


def encode_signal_observation(observation: SignalObservation) -> Plain:
    """Write what was read of one signal."""
    return {
        "available": str(observation.available),
        "capacity": str(observation.capacity),
        "time": observation.time,
    }


def decode_signal_observation(plain: Mapping[str, Any]) -> SignalObservation:
    """Read it back; the format of a quantity follows from its text, its value is exact."""
    return SignalObservation(
        available=_exact(plain["available"]), capacity=_exact(plain["capacity"]), time=plain["time"]
    )


def _exact(text: str) -> Quantity:
    return parse_quantity(text)
