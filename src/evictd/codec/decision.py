"""Encodes decisions and findings as plain values, for the journal and for `--output json`.

A decoded decision serves to be shown: `replay` compares the plain values, and performs none. Of a pod it has the name only.
"""

from dataclasses import replace
from typing import Any

from evictd.codec.config.eviction_config import THRESHOLD_VIEWS
from evictd.codec.plain import Form, View
from evictd.codec.scalars import Plain
from evictd.core.model.attribution import Attribution
from evictd.core.model.decision import Decision, EvictionCause, EvictPod
from evictd.core.model.finding import (
    Finding,
    KeptAway,
    NoAction,
    RankedPod,
    Ranking,
    RankPlace,
    SignalUnobserved,
    Standing,
    ThresholdFinding,
    WaitingForMeasurement,
)
from evictd.core.model.pod import Pod
from evictd.core.units.quantity import MAX_INT64, NANO


def encode_decision(decision: Decision) -> Plain:
    """Encode one decision with its reason."""
    plain: Plain = DECISION_FORM.encode(Decision, decision)
    return plain


def decode_decision(plain: Any) -> Decision:
    """Decode a decision to show it; raises `InputError` for anything that no `encode_decision` would have written."""
    decision: Decision = DECISION_FORM.decode(Decision, plain, "decision")
    return decision


def encode_finding(finding: Finding, *, rows: int | None = None) -> Plain:
    """Encode one finding; of a ranking, and of the pods that are waited for, at most `rows`, or all if `None`."""
    if isinstance(finding, WaitingForMeasurement):
        finding = replace(finding, pods=finding.pods[:rows])
    if not isinstance(finding, Ranking):
        plain: Plain = DECISION_FORM.encode(Finding, finding)
        return plain
    return {**DECISION_FORM.encode(Finding, replace(finding, rows=finding.rows[:rows])), "pods": len(finding.rows)}


def encode_row(row: RankedPod) -> Plain:
    """Encode one row of a ranking: the pod and its sort keys."""
    return {
        **_encode_pod(row.pod),
        "exceedsRequest": None if row.usage is None else row.standing is Standing.EXCEEDS,
        **({"preference": row.preference} if row.preference else {}),
        "priority": row.priority,
        "usage": row.usage,
        "request": min(row.request // NANO, MAX_INT64),
        "protected": row.pod.critical,
        "specKnown": row.pod.spec_known,
        **({} if row.stall is None else {"stall": row.stall}),
        **({} if row.file_pages is None else {"filePages": row.file_pages}),
        **({"stallsLittle": True} if row.place is RankPlace.LAST and row.usage is not None else {}),
    }


def _encode_pod(pod: Pod) -> Plain:
    return {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid}


def _of_cause(cause: EvictionCause) -> Plain:
    fitted = {} if cause.time_left is None else {"graceFitted": cause.fitted}
    return {"signal": cause.signal_label, **fitted}


def _of_no_action(finding: NoAction) -> Plain:
    return {"signal": None if finding.threshold is None else finding.threshold.signal.value}


DECISION_FORM = Form(
    {
        **THRESHOLD_VIEWS,
        Pod: View(encode=_encode_pod),
        EvictionCause: View(
            keys={"time_left": "timeLeftNanoseconds", "fitted": "graceFitted", "usage_age": "usageAgeNanoseconds"},
            brief=frozenset({"usage_age", "fill_rate", "time_left", "fitted", "file_pages", "node_file_pages"}),
            also=_of_cause,
        ),
        EvictPod: View(brief=frozenset({"freeze"})),
        ThresholdFinding: View(
            tag=("kind", "Threshold"), keys={"grace_left": "graceLeftNanoseconds"}, brief=frozenset({"led"})
        ),
        SignalUnobserved: View(brief=frozenset({"absent"})),
        NoAction: View(apart=frozenset({"threshold"}), also=_of_no_action),
        KeptAway: View(keys={"period": "periodNanoseconds"}),
        Attribution: View(
            keys={"over": "overNanoseconds", "unread": "unreadNanoseconds"},
            brief=frozenset({"reclaimable", "unread"}),
        ),
        Ranking: View(apart=frozenset({"due"})),
        RankedPod: View(encode=encode_row),
    }
)
