"""Encodes thresholds and signal observations as plain values, for state files and journals."""

from collections.abc import Mapping
from typing import Any

from evictd.core.model.observation import SignalObservation
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Operator, Origin, Threshold, ThresholdValue
from evictd.core.units.quantity import parse_quantity

Plain = dict[str, Any]


def encode_threshold(threshold: Threshold) -> Plain:
    """Encode a threshold; durations in nanoseconds, percentages as the exact single-precision fraction."""
    plain: Plain = {
        "signal": threshold.signal.value,
        "operator": threshold.operator.value,
        "value": _encode_value(threshold.value),
        "gracePeriodNanoseconds": threshold.grace_period,
        "origin": threshold.origin.value,
    }
    if threshold.hard_after_grace:
        plain["hardAfterGrace"] = True
    if threshold.min_reclaim is not None:
        plain["minReclaim"] = _encode_value(threshold.min_reclaim)
    return plain


def decode_threshold(plain: Mapping[str, Any]) -> Threshold:
    """Decode a threshold; raises `KeyError`, `ValueError` or `TypeError` on anything that `encode_threshold` did not write."""
    min_reclaim = plain.get("minReclaim")
    return Threshold(
        signal=Signal(plain["signal"]),
        operator=Operator(plain["operator"]),
        value=_decode_value(plain["value"]),
        grace_period=plain["gracePeriodNanoseconds"],
        min_reclaim=None if min_reclaim is None else _decode_value(min_reclaim),
        origin=Origin(plain["origin"]),
        hard_after_grace=plain.get("hardAfterGrace", False),
    )


def _encode_value(value: ThresholdValue) -> Plain:
    if value.quantity is not None:
        return {"quantity": str(value.quantity)}
    return {"fraction": value.fraction.hex()}  # exact, and it can write NaN


def _decode_value(plain: Mapping[str, Any]) -> ThresholdValue:
    if "quantity" in plain:
        return ThresholdValue(quantity=parse_quantity(plain["quantity"]))
    return ThresholdValue(fraction=float.fromhex(plain["fraction"]))


def encode_signal_observation(observation: SignalObservation) -> Plain:
    """Encode one signal observation."""
    return {
        "available": str(observation.available),
        "capacity": str(observation.capacity),
        "time": observation.time,
    }


def decode_signal_observation(plain: Mapping[str, Any]) -> SignalObservation:
    """Decode a signal observation; the quantities are exact, their formats follow from their texts."""
    return SignalObservation(
        available=parse_quantity(plain["available"]), capacity=parse_quantity(plain["capacity"]), time=plain["time"]
    )
