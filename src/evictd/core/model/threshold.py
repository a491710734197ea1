"""Declares thresholds and computes which of them are met, and since when.

Kubelet `pkg/kubelet/eviction/api/types.go` and the threshold half of `helpers.go`. `threshold_config` makes thresholds from the
configuration's maps.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field

from evictd.core.frozen import frozen
from evictd.core.model.observation import SignalObservation
from evictd.core.model.signal import ALL_OF_THE_TIME, MEMORY_SIGNALS, STALLS, IdentityEnum, Signal
from evictd.core.units.quantity import NANO, Format, Quantity, of_count


class Operator(IdentityEnum):
    """Comparison of a signal; `NONE` marks an inert containerfs entry, whose source threshold is missing."""

    LESS_THAN = "LessThan"
    NONE = ""


class Origin(IdentityEnum):
    """Where a threshold came from, as `evictd check` shows it."""

    SET = "set"
    DEFAULT = "default"
    MERGED = "merged"
    DERIVED = "derived"


@frozen
class ThresholdValue:
    """A quantity, or a fraction of the capacity held in single precision; never both."""

    quantity: Quantity | None = None
    fraction: float = 0.0
    known_hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "known_hash", hash((self.quantity, self.fraction)))

    def __hash__(self) -> int:
        return self.known_hash  # thresholds are keys, and looked up some fifty times in a cycle

    def __str__(self) -> str:
        """Format the value as in a configuration, percentages with six digits: `500Mi`, `1.3Gi`, `10%`."""
        return self.quantity.written_text if self.quantity is not None else f"{self.fraction * 100:.6g}%"

    def resolve(self, capacity: Quantity) -> Quantity:
        """Return the amount for this capacity (`GetThresholdQuantity`): a percentage is truncated and has the binary format.

        `NaN%`, `Inf%` and what exceeds 64 bits become the least int64, as on amd64.
        """
        if self.quantity is not None:
            return self.quantity
        amount = float(capacity.value()) * self.fraction
        return Quantity((int(amount) if abs(amount) < 2**63 else -(2**63)) * NANO, Format.BINARY_SI)


@frozen
class Threshold:
    """One eviction threshold. `grace_period` is in nanoseconds; zero makes the threshold hard."""

    signal: Signal
    value: ThresholdValue
    operator: Operator = Operator.LESS_THAN
    grace_period: int = 0
    min_reclaim: ThresholdValue | None = None
    origin: Origin = Origin.SET
    hard_after_grace: bool = False
    """A threshold on a signal of evictd's own that grants the pod the shortest grace period although it has one itself."""
    identity: tuple[Signal, Operator, int, ThresholdValue, bool] = field(init=False, repr=False, compare=False)
    """Key by which two thresholds are equal: every field but min-reclaim and origin (`compareThreshold`)."""
    known_hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        identity = (self.signal, self.operator, self.grace_period, self.value, self.hard_after_grace)
        object.__setattr__(self, "identity", identity)
        object.__setattr__(self, "known_hash", hash((identity, self.min_reclaim, self.origin)))

    def __hash__(self) -> int:
        return self.known_hash

    @property
    def hard(self) -> bool:
        """Whether it grants the pod the shortest grace period; every threshold without a grace period of its own does."""
        return self.grace_period == 0 or self.hard_after_grace

    def __str__(self) -> str:
        """Format it as the kubelet's flag does: `memory.available<1Gi`; for a stall signal `pods.io.full.avg10>20%`."""
        return f"{self.signal.value}{self.bound}"

    @property
    def bound(self) -> str:
        """The comparison that it makes: `<1Gi`, or `>20%` of the time for a stall signal."""
        quantity = self.value.quantity
        if self.signal in STALLS and quantity is not None:
            return f">{(ALL_OF_THE_TIME - quantity.value()) / 100:g}%"
        return f"<{self.value}"

    def configured_above(self, limit: Quantity) -> Quantity | None:
        """Return the configured amount of memory where the limit of a soft threshold is less (docs/adr/0017-formula-auto.md)."""
        configured = self.value.quantity
        return configured if self.signal in MEMORY_SIGNALS and configured is not None and limit < configured else None


def stall_threshold(signal: Signal, above: int, *, duration: int, hard: bool) -> Threshold:
    """Make a threshold that is met while tasks stall for more than `above` hundredths of a percent.

    They must do so for `duration` nanoseconds before it is acted on.
    """
    value = ThresholdValue(quantity=of_count(ALL_OF_THE_TIME - above))
    return Threshold(signal=signal, value=value, grace_period=duration, hard_after_grace=hard and duration > 0)


def limit_of(threshold: Threshold, observation: SignalObservation, *, with_min_reclaim: bool = False) -> Quantity:
    """Return the amount below which the threshold is met on this node; `with_min_reclaim` adds the minimum reclaim.

    A soft threshold goes by the documented formula: where that has more than `available`, its limit is lower by as much.
    """
    limit = threshold.value.resolve(observation.capacity)
    if observation.unallocatable is not None and not threshold.hard:
        limit -= observation.unallocatable
    if with_min_reclaim and threshold.min_reclaim is not None:
        return limit + threshold.min_reclaim.resolve(observation.capacity)
    return limit


def is_met(threshold: Threshold, observation: SignalObservation, *, with_min_reclaim: bool = False) -> bool:
    """Whether `available` is below the limit; equal is not met."""
    if threshold.operator is not Operator.LESS_THAN:
        return False
    return observation.available < limit_of(threshold, observation, with_min_reclaim=with_min_reclaim)


def thresholds_met(
    thresholds: Iterable[Threshold], observations: Mapping[Signal, SignalObservation], *, with_min_reclaim: bool = False
) -> tuple[Threshold, ...]:
    """Select the thresholds that are met, in order; one on an unobserved signal is not met (kubelet `thresholdsMet`)."""
    return tuple(
        threshold
        for threshold in thresholds
        if (observation := observations.get(threshold.signal)) is not None
        and is_met(threshold, observation, with_min_reclaim=with_min_reclaim)
    )


def thresholds_first_observed_at(
    met: Iterable[Threshold], first_observed_at: Mapping[Threshold, int], now: int
) -> dict[Threshold, int]:
    """Keep the time of those already known, start the others now, and drop those that are not met any more."""
    known = {threshold.identity: at for threshold, at in first_observed_at.items()}
    return {threshold: known.get(threshold.identity, now) for threshold in met}


def thresholds_met_grace_period(first_observed_at: Mapping[Threshold, int], now: int) -> tuple[Threshold, ...]:
    """Pick the thresholds that have been met for their whole grace period; exactly the period is enough."""
    return tuple(threshold for threshold, at in first_observed_at.items() if now - at >= threshold.grace_period)


def thresholds_updated_stats(
    thresholds: Iterable[Threshold],
    observations: Mapping[Signal, SignalObservation],
    last_observations: Mapping[Signal, SignalObservation],
) -> tuple[Threshold, ...]:
    """Pick the thresholds whose numbers are newer than at the last cycle (kubernetes/kubernetes#51516)."""
    return tuple(
        threshold
        for threshold in thresholds
        if (observation := observations.get(threshold.signal)) is not None
        and _is_newer(observation, last_observations.get(threshold.signal))
    )


def _is_newer(observation: SignalObservation, last: SignalObservation | None) -> bool:
    if last is None or not observation.time:
        return True
    return last.time is None or observation.time > last.time


def merge_thresholds(first: Iterable[Threshold], second: Iterable[Threshold]) -> tuple[Threshold, ...]:
    """Join both lists, each threshold once (kubelet `mergeThresholds`)."""
    merged: dict[tuple[object, ...], Threshold] = {}
    for threshold in (*first, *second):
        merged.setdefault(threshold.identity, threshold)
    return tuple(merged.values())


def sort_by_eviction_priority(thresholds: Iterable[Threshold], *, as_kubelet: bool) -> tuple[Threshold, ...]:
    """Order thresholds for eviction: memory first, otherwise as configured (kubelet `byEvictionPriority`).

    The kubelet's comparison puts a memory threshold before any other one, also before another memory threshold, and its sort is
    not stable. In effect it reverses the memory thresholds; `as_kubelet` does the same.
    """
    memory = [threshold for threshold in thresholds if threshold.signal in MEMORY_SIGNALS]
    others = [threshold for threshold in thresholds if threshold.signal not in MEMORY_SIGNALS]
    return (*(reversed(memory) if as_kubelet else memory), *others)
