"""Names the settings with which a configuration may act before another one, or for longer; of its thresholds the added ones.

A journal has only the cycles in which something was decided. `evictd replay` under other settings says which of them might have
acted between these cycles.
"""

from collections.abc import Iterator, Sequence

from evictd.core.model.config import EvictionConfig, FastFill, MemoryFormula, memory_formula, own_thresholds
from evictd.core.model.threshold import Origin, Threshold, ThresholdValue
from evictd.core.model.threshold_config import MINIMUM_RECLAIM

_NEVER_MORE = {
    MemoryFormula.WORKING_SET: {MemoryFormula.AUTO, MemoryFormula.LOWEST},
    MemoryFormula.MEM_AVAILABLE: {MemoryFormula.LOWEST},
    MemoryFormula.AUTO: {MemoryFormula.LOWEST},
    MemoryFormula.LOWEST: set[MemoryFormula](),
}
"""The formulas whose `memory.available` is at no time more than that of the first."""


TRANSITION_PERIOD = "evictionPressureTransitionPeriod"
"""The setting with which conditions end sooner, so that pods are scheduled, and evicted, again sooner."""


def sooner_settings(then: EvictionConfig, now: EvictionConfig) -> Iterator[str]:
    """Yield the names of the settings of `now` that may act before those of `then`, or where those do not any more."""
    formula, other = memory_formula(then), memory_formula(now)
    if formula is not other and formula not in _NEVER_MORE[other]:
        yield "memory.formula"
    leads = (("memory.lead", then.memory_lead, now.memory_lead), ("disk.lead", then.disk_lead, now.disk_lead))
    yield from (name for name, before, after in leads if after is not before and after is not FastFill.OFF)
    if now.monitoring_period < then.monitoring_period:
        yield "evictionMonitoringPeriod"
    if now.pressure_transition_period < then.pressure_transition_period:
        yield TRANSITION_PERIOD
    if any(_reclaims_more(then.thresholds, each) for each in now.thresholds):
        yield MINIMUM_RECLAIM  # with more of it a threshold acts for longer, and no sooner


def added_thresholds(then: EvictionConfig, now: EvictionConfig) -> Iterator[Threshold]:
    """Yield the thresholds of `now` on a signal that `then` has none on, or none of this kind: hard or soft."""
    kinds = {(each.signal, each.grace_period > 0) for each in own_thresholds(then)}
    own = (each for each in own_thresholds(now) if each.origin is not Origin.DERIVED)
    yield from (each for each in own if (each.signal, each.grace_period > 0) not in kinds)


def _reclaims_more(then: Sequence[Threshold], threshold: Threshold) -> bool:
    """Whether a minimum reclaim may be larger than all that others have for the signal; of a percentage and an amount it may."""
    reclaim = threshold.min_reclaim
    if reclaim is None or not _positive(reclaim):
        return False
    known = [each.min_reclaim for each in then if each.signal is threshold.signal and each.min_reclaim is not None]
    return not any(_at_least(each, reclaim) for each in known)


def _positive(value: ThresholdValue) -> bool:
    return value.fraction > 0 if value.quantity is None else value.quantity.value() > 0


def _at_least(value: ThresholdValue, other: ThresholdValue) -> bool:
    if value.quantity is None or other.quantity is None:
        return value.quantity is other.quantity and value.fraction >= other.fraction
    return value.quantity >= other.quantity
