"""What does `/statusz` say, and through it `evictd status`?

The latest snapshot as one JSON document: signals against thresholds, conditions and how long they stay, grace timers,
who would be next for each signal, victims, the last decisions. Ranking is done here, when somebody asks, never in a
calm cycle.
"""

from typing import Any

from evictd.act.report import rfc3339
from evictd.core.decision import SignalUnobserved, ThresholdFinding
from evictd.core.duration import SECOND
from evictd.core.evict import is_protected
from evictd.core.observation import Filesystems, signal_observations
from evictd.core.rank import rank
from evictd.core.reclaim import layout_of
from evictd.core.signal import NodeCondition, Signal
from evictd.core.state import CleaningUp, Reclaiming
from evictd.daemon.snapshot import Snapshot

API_VERSION = "evictd.io/v1alpha1"

_NEXT_PODS = 3


def status_document(snapshot: Snapshot, now: int) -> dict[str, Any]:
    """Make the document; `now` on the clock of the snapshot's `at`. Amounts are ints, in the signal's own unit."""
    state, node = snapshot.state, snapshot.observation.node
    return {
        "apiVersion": API_VERSION,
        "kind": "Status",
        "version": snapshot.version,
        "node": "" if node is None else node.name,
        "at": rfc3339(snapshot.wall),
        "ageSeconds": round((now - snapshot.at) / SECOND, 3),
        "policy": snapshot.config.policy.value,
        "dryRun": snapshot.dry_run,
        "phase": {"name": state.phase.name.value, **_phase_detail(snapshot, now)},
        "signals": _signals(snapshot),
        "conditions": [_condition(snapshot, condition, now) for condition in NodeCondition],
        "leaving": [
            {
                "pod": release.full_name,
                "signal": "" if release.signal is None else release.signal.value,
                "gracePeriodSeconds": release.grace_period_seconds,
                "gone": release.gone_at is not None,
            }
            for release in state.releases
            if release.uid
        ],
        "pods": len(snapshot.observation.pods),
        "problems": [{"source": p.source, "detail": p.detail} for p in snapshot.observation.problems],
        "decisions": [{"at": rfc3339(d.wall), "kind": d.kind, "text": d.text} for d in snapshot.recent],
    }


def _phase_detail(snapshot: Snapshot, now: int) -> dict[str, Any]:
    phase = snapshot.state.phase
    if isinstance(phase, Reclaiming):
        return {"signal": phase.threshold.signal.value, "endsInSeconds": round((phase.until - now) / SECOND, 1)}
    if isinstance(phase, CleaningUp):
        return {"endsInSeconds": round((phase.until - now) / SECOND, 1)}
    return {}


def _signals(snapshot: Snapshot) -> list[dict[str, Any]]:
    node = snapshot.observation.node
    seen = {} if node is None else signal_observations(node)
    wanted = [f.threshold.signal for f in snapshot.findings if isinstance(f, ThresholdFinding)]
    missing = [f.signal for f in snapshot.findings if isinstance(f, SignalUnobserved)]
    entries: list[dict[str, Any]] = []
    for signal in Signal:
        if signal in missing:
            entries.append({"signal": signal.value, "observed": False, "thresholds": [], "next": []})
        elif signal in seen and signal in wanted:
            observation = seen[signal]
            entries.append(
                {
                    "signal": signal.value,
                    "observed": True,
                    "available": observation.available.value(),
                    "capacity": observation.capacity.value(),
                    "thresholds": _thresholds(snapshot, signal),
                    "next": _next_pods(snapshot, signal),
                }
            )
    return entries


def _thresholds(snapshot: Snapshot, signal: Signal) -> list[dict[str, Any]]:
    return [
        {
            "kind": "hard" if finding.threshold.hard else "soft",
            "limit": finding.limit.value(),
            "met": finding.met,
            "keptByMinReclaim": finding.kept_by_min_reclaim,
            "graceLeftSeconds": None if finding.grace_left is None else round(finding.grace_left / SECOND, 1),
            "origin": finding.threshold.origin.value,
        }
        for finding in snapshot.findings
        if isinstance(finding, ThresholdFinding) and finding.threshold.signal is signal
    ]


def _next_pods(snapshot: Snapshot, signal: Signal) -> list[dict[str, Any]]:
    observation = snapshot.observation
    layout = layout_of(snapshot.state.filesystems or Filesystems())
    leaving = {release.uid for release in snapshot.state.releases}
    rows = rank(signal, observation.pods, observation.pod_stats, layout, snapshot.config.policy)
    candidates = [row for row in rows if row.uid not in leaving and not is_protected(row.pod, snapshot.config)]
    return [
        {"pod": row.pod.full_name, "priority": row.priority, "usage": row.usage, "request": row.request // 10**9}
        for row in candidates[:_NEXT_PODS]
    ]


def _condition(snapshot: Snapshot, condition: NodeCondition, now: int) -> dict[str, Any]:
    """Say whether it is reported, and how long it will stay if no threshold is met from now on."""
    reported = condition in snapshot.state.node_conditions
    seen_at = snapshot.state.node_conditions_last_observed_at.get(condition)
    left = None
    if reported and seen_at is not None:
        left = round(max(0, seen_at + snapshot.config.pressure_transition_period - now) / SECOND, 1)
    return {"type": condition.value, "status": "True" if reported else "False", "staysSeconds": left}
