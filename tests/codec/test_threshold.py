"""Thresholds and observations are encoded exactly."""

import json
import math

import pytest
from hypothesis import given

from evictd.codec.threshold import (
    decode_signal_observation,
    decode_threshold,
    encode_signal_observation,
    encode_threshold,
)
from evictd.core.model.observation import SignalObservation
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Threshold, ThresholdValue
from evictd.core.units.quantity import parse_quantity
from tests.strategies import thresholds


@given(thresholds())
def test_thresholds_survive(given_thresholds: tuple[Threshold, ...]) -> None:
    """Fractions to the last bit, quantities to the last digit."""
    for threshold in given_thresholds:
        again = decode_threshold(json.loads(json.dumps(encode_threshold(threshold))))
        assert again == threshold


def test_not_a_number_survives() -> None:
    """The kubelet accepts `NaN%`."""
    inert = Threshold(signal=Signal.PID_AVAILABLE, value=ThresholdValue(fraction=math.nan))
    assert math.isnan(decode_threshold(encode_threshold(inert)).value.fraction)


def test_observations_survive() -> None:
    """With or without a time."""
    for time in (None, 12345678901234567):
        seen = SignalObservation(available=parse_quantity("-1Gi"), capacity=parse_quantity("1500m"), time=time)
        assert decode_signal_observation(encode_signal_observation(seen)) == seen


@pytest.mark.parametrize("plain", [{}, {"signal": "x", "operator": "LessThan", "value": {}}])
def test_foreign_values_are_refused(plain: dict[str, object]) -> None:
    """With an exception that the reader of the state maps to one line."""
    with pytest.raises((KeyError, ValueError)):
        decode_threshold(plain)
