"""Encodes the core's configuration as plain values; every journal holds the configuration of its decisions.

Its thresholds have the same form in the state and in decisions.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evictd.codec.plain import Form, View
from evictd.codec.scalars import Plain
from evictd.core.model.config import EvictionConfig
from evictd.core.model.threshold import Threshold, ThresholdValue
from evictd.errors import InputError

_AS_DECLARED = Form({})


def _encode_value(value: ThresholdValue) -> Plain:
    plain: Plain = _AS_DECLARED.encode(ThresholdValue, value)
    del plain["fraction" if value.quantity is not None else "quantity"]
    return plain


def _decode_value(plain: Any) -> ThresholdValue:
    value: ThresholdValue = _AS_DECLARED.decode(ThresholdValue, plain, "threshold")
    if not plain.keys() & {"quantity", "fraction"}:
        raise InputError("threshold: want a quantity or a fraction")
    return value


THRESHOLD_VIEWS: Mapping[type, View] = {
    Threshold: View(
        keys={"grace_period": "gracePeriodNanoseconds"}, brief=frozenset({"hard_after_grace", "min_reclaim"})
    ),
    ThresholdValue: View(encode=_encode_value, decode=_decode_value),
}

_KEYS = {"preferences": "ranking", "image_gc": "imageGC", "container_gc": "containerGC"}
_FORM = Form({**THRESHOLD_VIEWS, EvictionConfig: View(keys=_KEYS)})


def encode_eviction_config(config: EvictionConfig) -> Plain:
    """Encode the configuration; durations are nanoseconds."""
    plain: Plain = _FORM.encode(EvictionConfig, config)
    return plain


def decode_eviction_config(plain: Any) -> EvictionConfig:
    """Decode a configuration; raises `InputError` for anything that no `encode_eviction_config` would have written."""
    config: EvictionConfig = _FORM.decode(EvictionConfig, plain, "config")
    return config if "podTermination" in plain else replace(config, pod_termination=None)
