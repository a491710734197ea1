"""Encodes decisions and findings as plain values, for the journal and for `--output json`.

A decoded decision serves to be shown: `replay` compares the plain values, and performs none.
"""

from collections.abc import Mapping
from typing import Any, assert_never

from evictd.codec.threshold import decode_threshold, encode_threshold
from evictd.core.model.decision import (
    ContainerFsIgnored,
    Decision,
    EvictionCause,
    EvictionReason,
    EvictPod,
    Finding,
    NoAction,
    PodSkipped,
    PreferenceApplied,
    ProtectedPodSkipped,
    RankedPod,
    Ranking,
    ReclaimNode,
    RecordEvent,
    ReportConditions,
    SignalUnobserved,
    StatsMissing,
    ThresholdFinding,
    Wait,
    WaitingForMeasurement,
)
from evictd.core.model.observation import Reclaim
from evictd.core.model.pod import Pod
from evictd.core.model.signal import NodeCondition, Signal
from evictd.core.units.quantity import MAX_INT64, NANO, Quantity, parse_quantity

Plain = dict[str, Any]


def encode_decision(decision: Decision) -> Plain:
    """Encode one decision with its reason."""
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
                "device": None if decision.device is None else decision.device.value,
                "wantedBytes": decision.wanted_bytes,
            }
        case EvictPod():
            return _eviction(decision)
        case Wait():
            return {"kind": "Wait", "nanoseconds": decision.nanoseconds}
        case _:
            assert_never(decision)


def decode_decision(plain: Mapping[str, Any]) -> Decision:
    """Decode a decision to show it: of a pod its name, and no annotations and no condition.

    Raises `ValueError`, `TypeError`, `KeyError`, `AttributeError` or `InvalidValueError` on anything that `encode_decision` did
    not write.
    """
    match plain["kind"]:
        case "ReportConditions":
            return ReportConditions(conditions=tuple(map(NodeCondition, plain["conditions"])))
        case "RecordEvent":
            return RecordEvent(type=plain["type"], reason=plain["reason"], message=plain["message"])
        case "ReclaimNode":
            actions, threshold = tuple(map(Reclaim, plain["actions"])), decode_threshold(plain["threshold"])
            return ReclaimNode(actions=actions, threshold=threshold, wanted_bytes=plain.get("wantedBytes"))
        case "EvictPod":
            return EvictPod(
                pod=Pod(**plain["pod"]),
                grace_period_seconds=plain["gracePeriodSeconds"],
                message=plain["message"],
                because=_decode_because(plain["because"]),
                shortens=plain["shortens"],
            )
        case "Wait":
            return Wait(nanoseconds=plain["nanoseconds"])
        case kind:
            raise ValueError(f"no decision: {kind!r}")


def _decode_because(plain: Mapping[str, Any]) -> EvictionCause:
    limit, available, usage, request = (
        None if plain.get(name) is None else parse_quantity(plain[name])
        for name in ("limit", "available", "usage", "request")
    )
    return EvictionCause(
        reason=EvictionReason(plain["reason"]),
        threshold=None if plain["threshold"] is None else decode_threshold(plain["threshold"]),
        limit=limit,
        available=available,
        usage=usage,
        request=request,
        fill_rate=plain.get("fillRate"),
        time_left=plain.get("timeLeftNanoseconds"),
        fitted=plain.get("graceFitted", False),
    )


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
        "refusedSince": decision.refused_since,
    }


def _because(because: EvictionCause) -> Plain:
    plain: Plain = {
        "reason": because.reason.value,
        "signal": because.signal_label,
        "threshold": None if because.threshold is None else encode_threshold(because.threshold),
        "limit": _text(because.limit),
        "available": _text(because.available),
        "usage": _text(because.usage),
        "request": _text(because.request),
        "subject": because.subject,
    }
    if because.time_left is not None:
        plain["fillRate"], plain["timeLeftNanoseconds"] = because.fill_rate, because.time_left
        plain["graceFitted"] = because.fitted
    return plain


def _pod(pod: Pod) -> Plain:
    return {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid}


def _name(signal: Signal | None) -> str | None:
    return None if signal is None else signal.value


def _text(quantity: Quantity | None) -> str | None:
    return None if quantity is None else str(quantity)


def encode_finding(finding: Finding, *, rows: int | None = None) -> Plain:
    """Encode one finding; of a ranking at most `rows` rows, or all if `None`."""
    match finding:
        case ThresholdFinding():
            return {
                "kind": "Threshold",
                "threshold": encode_threshold(finding.threshold),
                "limit": str(finding.limit),
                "available": str(finding.available),
                "capacity": str(finding.capacity),
                "met": finding.met,
                **({"led": True} if finding.led else {}),
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
        case NoAction():
            return {
                "kind": "NoAction",
                "why": finding.why.value,
                "signal": None if finding.threshold is None else finding.threshold.signal.value,
                "pod": None if finding.pod is None else _pod(finding.pod),
                "needed": _text(finding.needed),
                "reachable": _text(finding.reachable),
                "detail": finding.detail,
            }
        case StatsMissing():
            signals = [signal.value for signal in finding.signals]
            return {"kind": "StatsMissing", "signals": signals, "pods": [_pod(pod) for pod in finding.pods]}
        case ProtectedPodSkipped():
            return {"kind": "ProtectedPodSkipped", "signal": _name(finding.signal), "pod": _pod(finding.pod)}
        case PodSkipped():
            return {
                "kind": "PodSkipped",
                "signal": _name(finding.signal),
                "pod": _pod(finding.pod),
                "reason": finding.reason.value,
                "until": finding.until,
            }
        case PreferenceApplied():
            return {"kind": "PreferenceApplied", "pod": _pod(finding.pod), "insteadOf": _pod(finding.instead_of)}
        case WaitingForMeasurement():
            return _waiting(finding, rows)
        case ContainerFsIgnored():
            return {"kind": "ContainerFsIgnored", "threshold": encode_threshold(finding.threshold)}
        case _:
            assert_never(finding)


def _waiting(finding: WaitingForMeasurement, rows: int | None) -> Plain:
    return {
        "kind": "WaitingForMeasurement",
        "threshold": encode_threshold(finding.threshold),
        "what": list(finding.what),
        "pods": [_pod(pod) for pod in finding.pods[:rows]],
        "since": finding.since,
        "until": finding.until,
    }


def encode_row(row: RankedPod) -> Plain:
    """Encode one row of a ranking: the pod and its sort keys."""
    return {
        **_pod(row.pod),
        "exceedsRequest": None if row.usage is None else row.first == 1,
        **({"preference": row.preference} if row.preference else {}),
        "priority": row.priority,
        "usage": row.usage,
        "request": min(row.request // NANO, MAX_INT64),
        "protected": row.pod.critical,
        "specKnown": row.pod.spec_known,
        **({} if row.stall is None else {"stall": row.stall}),
    }
