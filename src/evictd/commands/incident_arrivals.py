"""Counts the pods that came in the minute before an eviction, from the state after its cycle."""

from dataclasses import replace

from evictd.commands.incident_holdings import holdings_of
from evictd.core.model.signal import Signal
from evictd.core.model.state import State
from evictd.render.incident.record.arrivals import NewPods


def with_arrivals_before(known: NewPods, now: int, state: State | None, signal: Signal | None) -> NewPods:
    """Return the arrivals with those before the eviction, and what they held of what was short."""
    if signal is None or state is None or (held := holdings_of(state, signal)) is None:
        return known
    amount = sum(held.used.get(uid, 0) for uid in held.arrived)
    return replace(known, before=len(held.arrived), over=now - held.since, held=amount)
