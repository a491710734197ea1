"""Which conditions does the node have, and for how long do they stay?

A condition appears with the first reading that meets a threshold, grace period or not, and stays for the transition period
after the last one, so that it does not flap (kubelet `nodeConditions`, `nodeConditionsLastObservedAt`,
`nodeConditionsObservedSince`).
"""

from collections.abc import Iterable, Mapping

from evictd.core.signal import SIGNAL_TO_CONDITION, NodeCondition
from evictd.core.threshold import Threshold


def node_conditions(met: Iterable[Threshold]) -> tuple[NodeCondition, ...]:
    """Give the conditions that these thresholds stand for, each once."""
    return tuple(dict.fromkeys(SIGNAL_TO_CONDITION[threshold.signal] for threshold in met))


def node_conditions_last_observed_at(
    conditions: Iterable[NodeCondition], last: Mapping[NodeCondition, int], now: int
) -> dict[NodeCondition, int]:
    """Set those observed now to `now`; all others keep their time."""
    return {**last, **dict.fromkeys(conditions, now)}


def node_conditions_observed_since(
    observed_at: Mapping[NodeCondition, int], period: int, now: int
) -> tuple[NodeCondition, ...]:
    """Pick the conditions observed less than the period ago, in the API's order.

    Strictly less: with a period of zero no condition is ever reported (spec 14, point 8).
    """
    return tuple(
        condition for condition in NodeCondition if condition in observed_at and now - observed_at[condition] < period
    )
