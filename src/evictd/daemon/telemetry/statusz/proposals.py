"""Tells the evictions that the API server has not agreed to: those are asked for, and no pod leaves yet (law Consent)."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from evictd.codec.times import rfc3339
from evictd.core.eviction.accounts.ledger import is_asked_for
from evictd.core.eviction.refusals.backoff import patience_with_budget
from evictd.core.model.finding import RankedPod, ThresholdFinding
from evictd.core.model.signal import Signal
from evictd.core.model.state import Victim
from evictd.core.units.duration import SECOND
from evictd.daemon.telemetry.snapshot import Refusals, Snapshot
from evictd.daemon.telemetry.statusz.victim_rows import signal_left_for

Order = Mapping[Signal, Sequence[RankedPod]]
"""The pods in rank order, by signal."""


def proposed(snapshot: Snapshot) -> frozenset[str]:
    """Return the uids of the pods that the API server is asked to evict, and has not agreed to."""
    state, outcomes = snapshot.state, snapshot.observation.outcomes
    return frozenset(each.uid for each in state.in_flight if is_asked_for(each, state, outcomes, snapshot.at))


def asked_document(snapshot: Snapshot, uids: frozenset[str], order: Order, *, now: int) -> list[dict[str, Any]]:
    """Make the rows of these `proposed` pods, with how often the API server refused since the last eviction, and which pods.

    `refusedFirst` is the refused pod that comes first in `order`: it is the one that should go. Empty where it is not known.
    `budgetEndsInSeconds`: from then on, counted from `now`, evictd may pass over the budget that refuses that pod.
    """
    others = (each for each in reversed(snapshot.recent) if each.uid not in uids)
    refused = [each.refusals for each in takewhile(lambda each: not each.uid, others) if each.refusals] if uids else []
    since = min((each.since for each in refused), default=None)
    return [
        {
            "pod": victim.full_name,
            "signal": signal_left_for(victim, snapshot),
            "refusals": sum(each.count for each in refused),
            "refusedPods": len(refused),
            "refusedFirst": (first := _first(refused, victim, order)),
            "budgetEndsInSeconds": _budget_ends(snapshot, victim, first, now),
            "refusedSince": None if since is None else rfc3339(since),
        }
        for victim in snapshot.state.in_flight
        if victim.uid in uids
    ]


def _budget_ends(snapshot: Snapshot, victim: Victim, first: str, now: int) -> float | None:
    """Return in how many seconds evictd no longer waits for the budget that refuses a pod; `None` where none does."""
    uid = next((pod.uid for pod in snapshot.observation.pods if pod.full_name == first), "")
    budget = snapshot.state.backoff.budgets.get(uid)
    if budget is None:
        return None
    of_victim = (each for each in snapshot.findings if isinstance(each, ThresholdFinding))
    hard = any(each.met and each.threshold.hard and each.threshold.signal is victim.cause for each in of_victim)
    until = budget.first_at + patience_with_budget(snapshot.config, hard=hard)
    return round((until - now) / SECOND, 1)


def _first(refused: Sequence[Refusals], victim: Victim, order: Order) -> str:
    """Return the full name of the refused pod that comes first for the signal that a pod is asked for."""
    names = {each.pod for each in refused}
    rows = () if victim.cause is None else order.get(victim.cause, ())
    return next((name for row in rows if (name := row.pod.full_name) in names), "")
