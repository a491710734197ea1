"""Counts the pods that came in the minute before an eviction, from its whole cycle."""

from dataclasses import replace

from evictd.codec.journal import JournalEntry
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.signal import SIGNALS, Signal
from evictd.errors import EvictdError
from evictd.render.arrivals import NewPods


def with_arrivals_before(known: NewPods, entry: JournalEntry, signal: Signal | None) -> NewPods:
    """Return the arrivals with those before the eviction, and what they held of what was short."""
    if signal is None:
        return known
    try:
        holdings = synchronize(entry.state, entry.observation, entry.config, entry.now).state.holdings
    except (EvictdError, ArithmeticError, LookupError, ValueError):  # a damaged record
        return known
    resource = SIGNALS[signal].resource
    held = next((each for key, each in holdings.items() if SIGNALS[key].resource is resource), None)
    if held is None:
        return known
    amount = sum(held.used.get(uid, 0) for uid in held.arrived)
    return replace(known, before=len(held.arrived), over=entry.now - held.since, held=amount)
