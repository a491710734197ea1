"""Encoding of the core's configuration, thresholds and observations among them."""

import json
import math

import pytest
from hypothesis import given

from evictd.codec.config.eviction_config import THRESHOLD_VIEWS, decode_eviction_config, encode_eviction_config
from evictd.codec.plain import Form
from evictd.core.model.config import ContainerGCPolicy, EvictionConfig, ImageGCPolicy
from evictd.core.model.observation import SignalObservation
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Threshold, ThresholdValue
from evictd.core.units.quantity import parse_quantity
from evictd.errors import InputError
from tests.strategies import configs, thresholds

FORM = Form(THRESHOLD_VIEWS)


@given(configs)
def test_configurations_survive(config: EvictionConfig) -> None:
    """Through JSON text."""
    assert decode_eviction_config(json.loads(json.dumps(encode_eviction_config(config)))) == config


def test_the_collectors_policies_survive() -> None:
    """And the uid of evictd's own pod."""
    config = EvictionConfig(
        image_gc=ImageGCPolicy(keep=("registry/*",), max_age=5),
        container_gc=ContainerGCPolicy(min_age=1, max_per_pod_container=2, max_containers=3),
        protected_pods=frozenset({"b", "a"}),
    )
    assert decode_eviction_config(encode_eviction_config(config)) == config


def test_how_an_older_evictd_ended_pods_is_not_known() -> None:
    """Its journal has no `podTermination`, and the default was taken for what was in effect."""
    plain = encode_eviction_config(EvictionConfig())
    assert plain["podTermination"] == "Auto"
    del plain["podTermination"]
    assert decode_eviction_config(plain).pod_termination is None


def test_a_foreign_configuration_is_refused() -> None:
    """In one line."""
    with pytest.raises(InputError, match=r"^config: "):
        decode_eviction_config({"thresholds": 5})


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
        {"signal": "pid.available", "value": {"fraction": "one"}},
    ],
)
def test_foreign_values_are_refused(plain: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"^threshold: "):
        FORM.decode(Threshold, plain, "threshold")
