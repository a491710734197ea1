"""The plain form of thresholds, which configuration, state and decisions have in common."""

from collections.abc import Mapping
from typing import Any

from evictd.codec.plain import Form, View
from evictd.codec.scalars import Plain
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
