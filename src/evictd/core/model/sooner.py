"""Names the settings beside thresholds with which a configuration may act before another one."""

from collections.abc import Iterator

from evictd.core.model.config import EvictionConfig, FastFill, MemoryFormula, memory_formula

_NEVER_MORE = {
    MemoryFormula.WORKING_SET: {MemoryFormula.AUTO, MemoryFormula.LOWEST},
    MemoryFormula.MEM_AVAILABLE: {MemoryFormula.LOWEST},
    MemoryFormula.AUTO: {MemoryFormula.LOWEST},
    MemoryFormula.LOWEST: set[MemoryFormula](),
}
"""The formulas whose `memory.available` is at no time more than that of the first."""


def sooner_settings(then: EvictionConfig, now: EvictionConfig) -> Iterator[str]:
    """Yield the names of the settings of `now` that may act where, or before, those of `then` do."""
    formula, other = memory_formula(then), memory_formula(now)
    if formula is not other and formula not in _NEVER_MORE[other]:
        yield "memory.formula"
    leads = (("memory.lead", then.memory_lead, now.memory_lead), ("disk.lead", then.disk_lead, now.disk_lead))
    yield from (name for name, before, after in leads if after is not before and after is not FastFill.OFF)
    if now.monitoring_period < then.monitoring_period:
        yield "evictionMonitoringPeriod"
