"""Defines the state of refusals and of owners that recreate evicted pods (`core.eviction.backoff` has the rules).

A part of `State`, so that it survives a restart. Times are `now` values in nanoseconds.
"""

from collections.abc import Mapping
from dataclasses import field

from evictd.core.frozen import frozen


@frozen
class OwnerBackoff:
    """The evictions of one owner's pods on this node."""

    level: int
    """Number of evictions in a row of recreated pods; 0 after a first eviction."""
    evicted_at: int
    until: int
    """`now` until which the owner's recreated pods are skipped."""
    siblings: frozenset[str] = frozenset()
    """Uids of the owner's pods that were here when the eviction was noted: none of them is a recreation."""


@frozen
class BudgetRefusal:
    """The refusals of one pod's eviction by a PodDisruptionBudget."""

    first_at: int
    last_at: int
    until: int
    """`now` from which the server may be asked again."""
    held_until: int
    """`now` until which soft thresholds evict other pods first."""


@frozen
class Backoff:
    """Which pods are skipped for a while."""

    owners: Mapping[str, OwnerBackoff] = field(default_factory=dict)
    """By `namespace/Kind/name` of the controlling owner."""
    budgets: Mapping[str, BudgetRefusal] = field(default_factory=dict)
    """By pod uid."""
