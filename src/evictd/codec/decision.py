"""Decisions and findings as plain values: what a journal records, what `--output json` prints.

One way only: a recorded decision is compared with a fresh one in this form, it is never performed again.
"""

from typing import Any, assert_never

from evictd.codec.threshold import encode_threshold
from evictd.core.decision import (
    Because,
    ContainerFsIgnored,
    Decision,
    EvictPod,
    Finding,
    RankedPod,
    Ranking,
    ReclaimNode,
    RecordEvent,
    ReportConditions,
    SignalUnobserved,
    Silent,
    Spared,
    StatsMissing,
    ThresholdFinding,
    Wait,
)
from evictd.core.pod import Pod
from evictd.core.quantity import NANO, Quantity

Plain = dict[str, Any]


def encode_decision(decision: Decision) -> Plain:
    """Write one decision with its reason."""
    match decision:
        case ReportConditions():
            return {"kind": "ReportConditions", "conditions": [c.value for c in decision.conditions]}
        case RecordEvent():
            return {
                "kind": "RecordEvent",
                "type": decision.type,
                "reason": decision.reason,
                "message": decision.message,
            }
        case ReclaimNode():
            return {
                "kind": "ReclaimNode",
                "actions": [action.value for action in decision.actions],
                "threshold": encode_threshold(decision.threshold),
                "wantedBytes": decision.wanted_bytes,
            }
        case EvictPod():
            return _eviction(decision)
        case Wait():
            return {"kind": "Wait", "nanoseconds": decision.nanoseconds}
        case _:
            assert_never(decision)


def _eviction(decision: EvictPod) -> Plain:
    condition = decision.condition
    return {
        "kind": "EvictPod",
        "pod": _pod(decision.pod),
        "gracePeriodSeconds": decision.grace_period_seconds,
        "message": decision.message,
        "annotations": dict(decision.annotations),
        "condition": None
        if condition is None
        else {
            "type": condition.type,
            "status": condition.status,
            "reason": condition.reason,
            "message": condition.message,
            "observedGeneration": condition.observed_generation,
        },
        "because": _because(decision.because),
        "shortens": decision.shortens,
    }


def _because(because: Because) -> Plain:
    return {
        "reason": because.reason.value,
        "signal": because.signal_label,
        "threshold": None if because.threshold is None else encode_threshold(because.threshold),
        "limit": _text(because.limit),
        "available": _text(because.available),
        "usage": _text(because.usage),
        "request": _text(because.request),
        "subject": because.subject,
    }


def _pod(pod: Pod) -> Plain:
    return {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid}


def _text(quantity: Quantity | None) -> str | None:
    return None if quantity is None else str(quantity)


def encode_finding(finding: Finding, *, rows: int | None = None) -> Plain:
    """Write one finding; of a ranking at most so many rows, all if `None`."""
    match finding:
        case ThresholdFinding():
            return {
                "kind": "Threshold",
                "threshold": encode_threshold(finding.threshold),
                "limit": str(finding.limit),
                "available": str(finding.available),
                "capacity": str(finding.capacity),
                "met": finding.met,
                "keptByMinReclaim": finding.kept_by_min_reclaim,
                "graceLeftNanoseconds": finding.grace_left,
                "stale": finding.stale,
            }
        case SignalUnobserved():
            return {"kind": "SignalUnobserved", "signal": finding.signal.value}
        case Ranking():
            return {
                "kind": "Ranking",
                "signal": finding.signal.value,
                "resource": finding.resource.value,
                "rows": [encode_row(row) for row in finding.rows[:rows]],
                "pods": len(finding.rows),
            }
        case Silent():
            return {
                "kind": "Silent",
                "why": finding.why.value,
                "signal": None if finding.threshold is None else finding.threshold.signal.value,
                "pod": None if finding.pod is None else _pod(finding.pod),
                "needed": _text(finding.needed),
                "reachable": _text(finding.reachable),
                "detail": finding.detail,
            }
        case StatsMissing():
            return {"kind": "StatsMissing", "pods": [_pod(pod) for pod in finding.pods]}
        case Spared():
            return {"kind": "Spared", "pod": _pod(finding.pod)}
        case ContainerFsIgnored():
            return {"kind": "ContainerFsIgnored", "threshold": encode_threshold(finding.threshold)}
        case _:
            assert_never(finding)


def encode_row(row: RankedPod) -> Plain:
    """Write one row of a ranking: who, and the keys it was ranked by."""
    return {
        **_pod(row.pod),
        "exceedsRequest": None if row.usage is None else row.first == 1,
        "priority": row.priority,
        "usage": row.usage,
        "request": row.request // NANO,
        "protected": row.pod.critical,
        "specKnown": row.pod.spec_known,
    }
