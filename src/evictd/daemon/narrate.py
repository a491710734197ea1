"""How is a decision said in one line?

The daemon's own words for its log, its status page and the terminal; `offline.explain` says more, from the same data.
"""

from typing import assert_never

from evictd.core.decision import (
    Decision,
    EvictionReason,
    EvictPod,
    ReclaimNode,
    RecordEvent,
    ReportConditions,
    Wait,
)


def kind_of(decision: Decision) -> str:
    """Name the kind, as the journal does."""
    return type(decision).__name__


def narrate(decision: Decision) -> str:
    """Say what is decided; one line, no final stop."""
    match decision:
        case ReportConditions():
            names = ", ".join(condition.value for condition in decision.conditions)
            return f"report {names}" if names else "report no pressure"
        case RecordEvent():
            return f"{decision.reason}: {decision.message}"
        case ReclaimNode():
            what = " and ".join(action.value for action in decision.actions)
            return f"collect unused {what} for {decision.threshold.signal.value}"
        case EvictPod():
            return _eviction(decision)
        case Wait():
            return "look again later"
        case _:
            assert_never(decision)


def _eviction(decision: EvictPod) -> str:
    because, pod = decision.because, decision.pod
    grace = f"{max(decision.grace_period_seconds, 0)}s of grace"
    if decision.shortens:
        return f"give {pod.full_name} no more than {grace}"
    if because.reason is not EvictionReason.PRESSURE:
        return f"evict {pod.full_name} with {grace}: {decision.message.strip()}"
    used = "unknown" if because.usage is None else str(because.usage)
    return (
        f"evict {pod.full_name} with {grace} for {because.signal_label}: "
        f"{because.available} left, threshold {because.limit}; it uses {used}, requests {because.request}"
    )
