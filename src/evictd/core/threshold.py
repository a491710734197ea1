"""What a threshold is, when it is met, and which thresholds a configuration makes.

Kubelet `pkg/kubelet/eviction/api/types.go` and the threshold half of `helpers.go`. Parsing from the maps of the configuration
is here too, because it is a rule, not a file format: `ParseThresholdConfig`.
"""

import math
import struct
from dataclasses import dataclass
from enum import Enum

from evictd.core.quantity import NANO, Format, Quantity
from evictd.core.signal import Signal


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
