"""What a threshold is, when it is met, and which thresholds a configuration makes.

Kubelet `pkg/kubelet/eviction/api/types.go` and the threshold half of `helpers.go`. How the configuration's maps become
thresholds stands in `threshold_config`.
"""

import math
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from evictd.core.observation import SignalObservation
from evictd.core.quantity import NANO, Format, Quantity
from evictd.core.signal import MEMORY_SIGNALS, Signal


class Operator(Enum):
    """How a signal is compared; `NONE` is the inert entry that a missing source leaves for containerfs."""

    LESS_THAN = "LessThan"
    NONE = ""


class Origin(Enum):
    """Where a threshold came from, for the people who read `evictd check`."""

    SET = "set"
    DEFAULT = "default"
    MERGED = "merged"
    DERIVED = "derived"


def float32(value: float) -> float:
    """Round to single precision, as every percentage of the kubelet's is."""
    if math.isnan(value) or math.isinf(value):
        return value
    return float(struct.unpack("f", struct.pack("f", value))[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdValue:
    """A quantity, or a fraction of the capacity held in single precision; never both."""

    quantity: Quantity | None = None
    fraction: float = 0.0

    def resolve(self, capacity: Quantity) -> Quantity:
        """Give the amount for this capacity (`GetThresholdQuantity`): truncated, and binary where it is a fraction."""
        if self.quantity is not None:
            return self.quantity
        if math.isnan(self.fraction):
            return Quantity(-(2**63) * NANO, Format.BINARY_SI)
        return Quantity(int(float(capacity.value()) * self.fraction) * NANO, Format.BINARY_SI)


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """One eviction threshold. `grace_period` in nanoseconds; zero is what makes it hard."""

    signal: Signal
    value: ThresholdValue
    operator: Operator = Operator.LESS_THAN
    grace_period: int = 0
    min_reclaim: ThresholdValue | None = None
    origin: Origin = Origin.SET

    @property
    def hard(self) -> bool:
        """Whether it acts at once, and with the shortest grace for the pod."""
        return self.grace_period == 0

    @property
    def identity(self) -> tuple[Signal, Operator, int, ThresholdValue]:
        """What makes two thresholds the same one: everything but min-reclaim (`compareThreshold`)."""
        return (self.signal, self.operator, self.grace_period, self.value)


def limit_of(threshold: Threshold, observation: SignalObservation, *, with_min_reclaim: bool = False) -> Quantity:
    """Give the amount that `available` must not fall below on this node, with the minimum reclaim on top where asked."""
    limit = threshold.value.resolve(observation.capacity)
    if with_min_reclaim and threshold.min_reclaim is not None:
        return limit + threshold.min_reclaim.resolve(observation.capacity)
    return limit


def is_met(threshold: Threshold, observation: SignalObservation, *, with_min_reclaim: bool = False) -> bool:
    """Whether the limit lies above what is available; exactly equal is not met."""
    if threshold.operator is not Operator.LESS_THAN:
        return False
    return observation.available < limit_of(threshold, observation, with_min_reclaim=with_min_reclaim)


def thresholds_met(
    thresholds: Iterable[Threshold], observations: Mapping[Signal, SignalObservation], *, with_min_reclaim: bool = False
) -> tuple[Threshold, ...]:
    """Pick the thresholds that are met, in order; an unobserved signal meets nothing (kubelet `thresholdsMet`)."""
    return tuple(
        threshold
        for threshold in thresholds
        if (observation := observations.get(threshold.signal)) is not None
        and is_met(threshold, observation, with_min_reclaim=with_min_reclaim)
    )


def merge_thresholds(first: Iterable[Threshold], second: Iterable[Threshold]) -> tuple[Threshold, ...]:
    """Both lists, each threshold once (kubelet `mergeThresholds`)."""
    merged: dict[tuple[object, ...], Threshold] = {}
    for threshold in (*first, *second):
        merged.setdefault(threshold.identity, threshold)
    return tuple(merged.values())


def sort_by_eviction_priority(thresholds: Iterable[Threshold], *, as_kubelet: bool = False) -> tuple[Threshold, ...]:
    """Memory first, since running out of it hurts most; otherwise as configured (kubelet `byEvictionPriority`).

    The kubelet's order among equals is left to chance. Its comparison puts a memory threshold before any other, another memory
    threshold included, so that its sort turns the memory thresholds around: most often the last one stands first.
    """
    memory = [threshold for threshold in thresholds if threshold.signal in MEMORY_SIGNALS]
    others = [threshold for threshold in thresholds if threshold.signal not in MEMORY_SIGNALS]
    return (*(reversed(memory) if as_kubelet else memory), *others)
