"""Finds thresholds that would evict pods of a healthy node: met already, met always, or with a minimum reclaim out of reach.

The kubelet accepts each of them and evicts pod after pod.
"""

from collections.abc import Iterator, Sequence

from evictd.config.lint_model import Lint, LintFinding, Surroundings, amount_on, limit_on
from evictd.core.model.signal import SIGNALS, Filesystem
from evictd.core.model.threshold import Threshold
from evictd.core.units.quantity import Quantity

_HALF = 2
"""A threshold above one half of the capacity evicts while most of it is unused."""


def lethal(thresholds: Sequence[Threshold], around: Surroundings) -> Iterator[LintFinding]:
    """Return at most one finding for the limit of each threshold, and one for its minimum reclaim."""
    for threshold in thresholds:
        spec = SIGNALS[threshold.signal]
        limit, capacity = limit_on(threshold, around.capacities), around.capacities.get(threshold.signal)
        # The thresholds of containerfs repeat those of the filesystem that it follows.
        if limit is None or spec.filesystem is Filesystem.CONTAINERFS or spec.stall is not None:
            continue
        yield from _limit(threshold, limit, capacity, around.available.get(threshold.signal))
        if capacity is not None:
            yield from _min_reclaim(threshold, limit, capacity)


def _limit(
    threshold: Threshold, limit: Quantity, capacity: Quantity | None, available: Quantity | None
) -> Iterator[LintFinding]:
    signal, value = threshold.signal, threshold.value
    whole = "" if capacity is None else amount_on(capacity, signal)
    if capacity is not None and limit >= capacity:
        yield LintFinding(
            lint=Lint.NOT_BELOW_CAPACITY,
            signal=signal,
            message=f"{value} is not below the capacity of {whole}: always met, so every pod is evicted",
            remedy="set it well below the capacity",
        )
    elif available is not None and available < limit:
        yield LintFinding(
            lint=Lint.MET_ALREADY,
            signal=signal,
            message=f"{value} is met already on this node: {amount_on(available, signal)} left",
            remedy="lower it, or free what is short before evictd starts",
        )
    elif capacity is not None and limit.nano * _HALF > capacity.nano:
        yield LintFinding(
            lint=Lint.ABOVE_HALF_OF_CAPACITY,
            signal=signal,
            message=f"{value} is above half of the capacity of {whole}: pods are evicted while most is unused",
            remedy="lower it; it is what must stay available, not what may be used",
        )


def _min_reclaim(threshold: Threshold, limit: Quantity, capacity: Quantity) -> Iterator[LintFinding]:
    if threshold.min_reclaim is None:
        return
    target = limit + threshold.min_reclaim.resolve(capacity)
    if target.nano * _HALF > capacity.nano >= limit.nano * _HALF:
        wanted, whole = amount_on(target, threshold.signal), amount_on(capacity, threshold.signal)
        yield LintFinding(
            lint=Lint.RECLAIM_TOO_LARGE,
            signal=threshold.signal,
            message=(
                f"with evictionMinimumReclaim {wanted} must be left, above half of the capacity of {whole}: once the threshold "
                "is met, pod after pod is evicted"
            ),
            remedy="lower evictionMinimumReclaim",
        )
