"""The document of `/statusz`, which `evictd status` shows.

The latest snapshot as one JSON document: signals against thresholds, conditions and how long they stay, grace timers, the next
pod for each signal, victims, the last decisions. Pods are ranked when the document is asked for, not in the cycle.
"""

from dataclasses import replace
from typing import Any

from evictd.codec.times import rfc3339
from evictd.core.eviction.next_up import NextUp
from evictd.core.eviction.refusals.backoff import owner_of
from evictd.core.eviction.refusals.keep_away import transition_period
from evictd.core.model.config import EvictionMethod
from evictd.core.model.finding import KeptAway, ThresholdFinding, WaitingForMeasurement
from evictd.core.model.observation import signal_observations
from evictd.core.model.resources import VolumeKind
from evictd.core.model.signal import DISKS, MEMORY_SIGNALS, STALLS, NodeCondition, Signal
from evictd.core.model.state import Reclaiming
from evictd.core.units.duration import SECOND
from evictd.daemon.telemetry.kills import Killed
from evictd.daemon.telemetry.recent import OWNER_QUIET, folded_refusals
from evictd.daemon.telemetry.snapshot import Decided, Snapshot
from evictd.daemon.telemetry.statusz.goes_then import at_threshold, goes_if_growth_ended
from evictd.daemon.telemetry.statusz.growers import growing_document, taken_beyond_pods
from evictd.daemon.telemetry.statusz.last_reading import last_reading
from evictd.daemon.telemetry.statusz.own_limits import own_limits
from evictd.daemon.telemetry.statusz.proposals import asked_document, proposed
from evictd.daemon.telemetry.statusz.stated_rate import stated_rate
from evictd.daemon.telemetry.statusz.stop_document import next_document
from evictd.daemon.telemetry.statusz.unguarded_memory import unguarded_memory
from evictd.daemon.telemetry.statusz.victim_rows import victim_rows, without_awaited
from evictd.daemon.telemetry.trends import Trend
from evictd.render.attribution import attribution_document
from evictd.render.documents import API_VERSION
from evictd.render.node_view import NodeView, next_reasons, node_view
from evictd.render.sentences import kept_away_text
from evictd.render.text import incident_id

_WATCHED = MEMORY_SIGNALS | {Signal.PID_AVAILABLE}
"""The signals that `observe.threshold_watch.memory_watch` reads between two cycles."""


def status_document(view: NodeView, snapshot: Snapshot, now: int, *, reload_fault: str) -> dict[str, Any]:
    """Make the document; `now` on the clock of the snapshot's `at`. Amounts are ints, in the signal's own unit."""
    state, node, asked = snapshot.state, snapshot.observation.node, proposed(snapshot)
    leaving = victim_rows(snapshot, asked, now)
    problems = [{"source": "reload", "detail": reload_fault}] if reload_fault else []
    problems += [{"source": p.source, "detail": p.detail} for p in snapshot.observation.problems]
    return {
        "apiVersion": API_VERSION,
        "kind": "Status",
        "version": snapshot.version,
        "node": snapshot.node_name if node is None else node.name,
        "at": rfc3339(snapshot.wall),
        "ageSeconds": round((now - snapshot.at) / SECOND, 3),
        "policy": snapshot.config.policy.value,
        "dryRun": snapshot.observation.outcomes.dry_run,
        "phase": {"name": state.activity.value, **_phase_detail(snapshot, now)},
        "podTermination": (snapshot.config.pod_termination or EvictionMethod.AUTO).value,
        "signals": without_awaited(_signals(view, snapshot, now), leaving),
        "conditions": [_condition(snapshot, condition, now) for condition in NodeCondition],
        "leaving": leaving,
        "asked": asked_document(snapshot, asked, {each.signal: each.rows for each in view.answers}, now=now),
        "pods": None if snapshot.observation.pods_unknown else len(snapshot.observation.pods),
        "podsAgeSeconds": round((now - snapshot.at + snapshot.pods_before) / SECOND, 3),
        "problems": problems,
        "owners": _owners(snapshot, asked),
        "unguardedMemory": unguarded_memory(snapshot, now),
        "ownLimits": own_limits(snapshot, now),
        "kernelKills": [_killed(each, snapshot, now) for each in snapshot.killed],
        "decisions": [_decided(decided, asked) for decided in folded_refusals(snapshot.recent)],
    }


def _killed(killed: Killed, snapshot: Snapshot, now: int) -> dict[str, Any]:
    return {
        "of": killed.where,
        "isPod": bool(killed.uid),
        "processes": killed.count,
        "at": rfc3339(killed.wall),
        "agoSeconds": round((now - snapshot.at + snapshot.wall - killed.wall) / SECOND, 1),
    }


def _decided(decided: Decided, asked: frozenset[str]) -> dict[str, Any]:
    """Return a decision; an eviction has its pod, signal and the name of its incident, unless it is only asked for."""
    if decided.uid in asked:
        decided = replace(decided, text=f"ask to {decided.text}", why="", filled="", took_most=False, pod="", uid="")
    return {
        "at": rfc3339(decided.wall),
        "kind": decided.kind,
        "text": decided.text,
        "why": decided.why,
        "filled": decided.filled,
        "tookMost": decided.took_most,
        "pod": decided.pod,
        "owner": decided.owner,
        "signal": decided.signal,
        "forPages": decided.for_pages,
        "incident": incident_id(decided.uid),
        "dryRun": decided.dry_run,
        "ended": _wall(decided.ended),
        "left": decided.left,
        "leftAfterSeconds": round(decided.left_after / SECOND, 1),
        "freed": decided.freed,
        "removed": decided.removed,
    }


def _owners(snapshot: Snapshot, asked: frozenset[str]) -> list[dict[str, Any]]:
    """Return the owners of which pods were evicted lately, the last evicted at the end, and the new pods that they have here.

    `filled`: the last evicted pod took most of what was short. A pod that was here at that eviction is not a new one.
    """
    certain = [each for each in snapshot.recent if each.uid not in asked]
    last = {each.owner: each for each in certain if each.owner and snapshot.wall - each.wall <= OWNER_QUIET}
    found = []
    for owner, decided in sorted(last.items(), key=lambda each: each[1].wall):
        namespace, _, name = owner.partition("/")
        noted = snapshot.state.backoff.owners.get(owner)
        known = frozenset({decided.uid}) if noted is None else noted.siblings | {decided.uid}
        new = [
            each.full_name for each in snapshot.observation.pods if owner_of(each) == owner and each.uid not in known
        ]
        found.append(
            {
                "owner": name,
                "namespace": namespace,
                "evicted": decided.of_owner,
                "since": rfc3339(decided.of_owner_since),
                "last": rfc3339(decided.wall),
                "lastPod": decided.pod,
                "dryRun": decided.dry_run,
                "filled": decided.took_most,
                "newPods": new,
            }
        )
    return found


def snapshot_view(snapshot: Snapshot) -> NodeView:
    """Rank every pod for every signal with the numbers of the last cycle."""
    node = snapshot.observation.node
    title = "this node" if node is None or not node.name else node.name
    return node_view(
        title,
        snapshot.config,
        snapshot.observation,
        snapshot.state,
        snapshot.findings,
        now=snapshot.at,
        wall=snapshot.wall,
    )


def _phase_detail(snapshot: Snapshot, now: int) -> dict[str, Any]:
    """Return the end of the longest wait, and for a collection its device."""
    state = snapshot.state
    if isinstance(state.phase, Reclaiming):
        return {"signal": state.phase.threshold.signal.value}
    collecting = {device: each.until for device, each in state.collections.items() if each.ended_at is None}
    if collecting:
        device = min(collecting, key=lambda each: collecting[each])
        return {"filesystem": device.value, "endsInSeconds": round((collecting[device] - now) / SECOND, 1)}
    leaving = [victim.until for victim in state.in_flight if victim.gone_at is None]
    return {"endsInSeconds": round((max(leaving) - now) / SECOND, 1)} if leaving else {}


def _signals(view: NodeView, snapshot: Snapshot, now: int) -> list[dict[str, Any]]:
    node = view.observation.node
    seen = {} if node is None else signal_observations(node)
    answers, reasons = {answer.signal: answer for answer in view.answers}, next_reasons(view)
    entries: list[dict[str, Any]] = []
    for signal in Signal:
        findings = tuple(each for each in view.thresholds if each.threshold.signal is signal)
        thresholds = [_threshold(snapshot, each, now) for each in findings]
        level: dict[str, Any]
        if signal in view.unobserved:
            level = {
                "observed": False,
                "absent": view.unobserved[signal],
                "thresholds": thresholds,
                "lastReading": last_reading(signal, snapshot, now),
            }
        elif signal in seen and findings:
            level = {
                "observed": True,
                "available": seen[signal].available.value(),
                "capacity": seen[signal].capacity.value(),
                **stated_rate(
                    thresholds, snapshot.trends.signals.get(signal, Trend()), now, watched=signal in _WATCHED
                ),
            }
        else:
            continue
        entry = {"signal": signal.value, **level}
        answer = answers.get(signal)
        entries.append(
            {
                **entry,
                "measuresForSeconds": _measures_for(snapshot, signal, now),
                **_answer_document(answer, entry, snapshot),
                **next_document(answer, reasons.get(signal, ""), snapshot, now, entry),
                **at_threshold(answer, findings, entry, snapshot, now),
                "nextIfItStops": goes_if_growth_ended(answer, findings, entry, snapshot),
            }
        )
    return entries


def _answer_document(answer: NextUp | None, entry: dict[str, Any], snapshot: Snapshot) -> dict[str, Any]:
    """Return what comes before the eviction for a signal, who holds it and who takes it; `entry` has its level and thresholds."""
    growing = growing_document(answer, entry["thresholds"], snapshot)
    return {
        "reclaimsFirst": answer is not None and answer.reclaims_first,
        "waitsForPages": None if answer is None else answer.waits_for_pages,
        "leavesFirst": [] if answer is None else list(answer.leaves_first),
        "notOfPods": None if answer is None else answer.not_of_pods,
        "attribution": attribution_document(None if answer is None else answer.held, snapshot.wall),
        "growing": growing,
        "beyondPods": None if growing else taken_beyond_pods(answer, entry, snapshot),
        **_with_host_path(answer, snapshot),
    }


def _measures_for(snapshot: Snapshot, signal: Signal, now: int) -> float | None:
    """Return how long at most a measurement of pods holds back an eviction; `None` where none does."""
    waits = (each for each in snapshot.findings if isinstance(each, WaitingForMeasurement))
    return next(
        (round(max(each.until - now, 0) / SECOND, 1) for each in waits if each.threshold.signal is signal), None
    )


def _threshold(snapshot: Snapshot, finding: ThresholdFinding, now: int) -> dict[str, Any]:
    """Return a threshold; times count from now on, as those of conditions do. A grace period ends in a cycle, not before.

    Cycles follow each other by the monitoring period at most; for a stall the core asks for one at the end itself.
    """
    seconds, age = snapshot.seconds_to(finding), now - snapshot.at
    cycle = 1 if finding.threshold.signal in STALLS else snapshot.config.monitoring_period
    left = finding.grace_left and max(-(-finding.grace_left // cycle) * cycle - age, SECOND // 10)
    configured = finding.threshold.configured_above(finding.limit)
    return {
        "kind": "hard" if finding.threshold.hard else "soft",
        "limit": finding.limit.value(),
        "configured": None if configured is None else configured.value(),
        "met": finding.met,
        "keptByMinReclaim": finding.kept_by_min_reclaim,
        "gracePeriodSeconds": round(finding.threshold.grace_period / SECOND, 1),
        "graceLeftSeconds": None if left is None else round(left / SECOND, 1),
        "secondsToThreshold": None if seconds is None else round(max(seconds - age / SECOND, 0), 1),
        "secondsAtLastFall": None,
        "secondsAsBefore": None,
        "recoveredFrom": None,
        "origin": finding.threshold.origin.value,
    }


def _with_host_path(answer: NextUp | None, snapshot: Snapshot) -> dict[str, Any]:
    """Return the pods that may be evicted for a disk and have hostPath volumes, which are not measured; and their owners."""
    rows = () if answer is None or answer.resource not in DISKS else answer.rows
    may_go = (row.pod for row in rows if not snapshot.config.protects(row.pod))
    pods = [pod for pod in may_go if any(each.kind is VolumeKind.HOST_PATH for each in pod.volumes)]
    owners = dict.fromkeys(pod.owner for pod in pods if pod.owner)
    return {"hostPathPods": [pod.full_name for pod in pods], "hostPathOwners": list(owners)}


def _condition(snapshot: Snapshot, condition: NodeCondition, now: int) -> dict[str, Any]:
    """Return whether it is reported, how long it stays if no threshold is met from now on, and why longer than configured."""
    reported = condition in snapshot.state.node_conditions
    seen_at = snapshot.state.node_conditions_last_observed_at.get(condition)
    left = None
    if reported and seen_at is not None:
        left = round(max(0, seen_at + transition_period(snapshot.state, snapshot.config, condition) - now) / SECOND, 1)
    span = snapshot.trends.conditions.get(condition)
    return {
        "type": condition.value,
        "status": "True" if reported else "False",
        "since": _wall(None if span is None else span.since),
        "until": _wall(None if span is None else span.until),
        "staysSeconds": left,
        "why": "; ".join(
            kept_away_text(each)
            for each in snapshot.findings
            if isinstance(each, KeptAway) and each.condition is condition
        ),
    }


def _wall(wall: int | None) -> str | None:
    return None if wall is None else rfc3339(wall)
