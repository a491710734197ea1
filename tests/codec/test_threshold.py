"""Thresholds and observations are encoded exactly."""

import json
import math

import pytest
from hypothesis import given

from evictd.codec.plain import Form
from evictd.codec.threshold import THRESHOLD_VIEWS
from evictd.core.model.observation import SignalObservation
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Threshold, ThresholdValue
from evictd.core.units.quantity import parse_quantity
from evictd.errors import InputError
from tests.strategies import thresholds

FORM = Form(THRESHOLD_VIEWS)


@given(thresholds())
def test_thresholds_survive(given_thresholds: tuple[Threshold, ...]) -> None:
    """Fractions to the last bit, quantities to the last digit."""
    for threshold in given_thresholds:
        again = FORM.decode(Threshold, json.loads(json.dumps(FORM.encode(Threshold, threshold))), "threshold")
        assert again == threshold


def test_not_a_number_survives() -> None:
    """The kubelet accepts `NaN%`."""
    inert = Threshold(signal=Signal.PID_AVAILABLE, value=ThresholdValue(fraction=math.nan))
    assert math.isnan(FORM.decode(Threshold, FORM.encode(Threshold, inert), "threshold").value.fraction)


def test_observations_survive() -> None:
    """With or without a time."""
    for time in (None, 12345678901234567):
        seen = SignalObservation(available=parse_quantity("-1Gi"), capacity=parse_quantity("1500m"), time=time)
        assert FORM.decode(SignalObservation, FORM.encode(SignalObservation, seen), "seen") == seen


@pytest.mark.parametrize(
    "plain",
    [
        {},
        {"signal": "x", "operator": "LessThan", "value": {"quantity": "1"}},
        {"signal": "pid.available", "value": {}},
        {"signal": "pid.available", "value": {"quantity": "1GB"}},
        {"signal": "pid.available", "value": {"fraction": "inf"}},
    ],
)
def test_foreign_values_are_refused(plain: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"^threshold: "):
        FORM.decode(Threshold, plain, "threshold")
