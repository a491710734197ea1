"""The document of `/statusz`, which `evictd status` shows.

The latest snapshot as one JSON document: signals against thresholds, conditions and how long they stay, grace timers, the next
pod for each signal, victims, the last decisions. Pods are ranked when the document is asked for, not in the cycle.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from operator import itemgetter
from typing import Any

from evictd.codec.times import rfc3339
from evictd.core.eviction.backoff import owner_of
from evictd.core.eviction.keep_away import transition_period
from evictd.core.eviction.next_up import NextUp
from evictd.core.model.config import EvictionMethod
from evictd.core.model.finding import KeptAway, RankedPod, ThresholdFinding, WaitingForMeasurement
from evictd.core.model.holdings import SupplyHoldings
from evictd.core.model.observation import signal_observations
from evictd.core.model.resources import VolumeKind
from evictd.core.model.signal import DISKS, STALLS, WITH_REQUEST, NodeCondition, Signal
from evictd.core.model.state import Reclaiming
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import NANO
from evictd.daemon.telemetry.beyond_pods import is_fresh, taken_beyond_pods
from evictd.daemon.telemetry.goes_then import goes_if_growth_ended, goes_if_growth_lasts
from evictd.daemon.telemetry.kills import Killed
from evictd.daemon.telemetry.own_limits import own_limits
from evictd.daemon.telemetry.proposals import asked_document, proposed
from evictd.daemon.telemetry.recent import OWNER_QUIET, folded_refusals
from evictd.daemon.telemetry.snapshot import Decided, Snapshot
from evictd.daemon.telemetry.stated_rate import stated_rate
from evictd.daemon.telemetry.stop_document import next_document
from evictd.daemon.telemetry.trends import Trend
from evictd.daemon.telemetry.unguarded_memory import unguarded_memory
from evictd.daemon.telemetry.usage_history import most_held, sample_before
from evictd.daemon.telemetry.victim_rows import victim_rows, without_awaited
from evictd.render.attribution import attribution_document
from evictd.render.node_view import NodeView, next_reasons, node_view
from evictd.render.sentences import kept_away_text
from evictd.render.status.depletion import FORESEEN_SECONDS
from evictd.render.text import incident_id, protection

API_VERSION = "evictd.io/v1alpha1"
_SHOWN_GROWERS = 3


def status_document(view: NodeView, snapshot: Snapshot, now: int, *, reload_fault: str = "") -> dict[str, Any]:
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
    wanted = {finding.threshold.signal for finding in view.thresholds}
    answers, reasons = {answer.signal: answer for answer in view.answers}, next_reasons(view)
    entries: list[dict[str, Any]] = []
    for signal in Signal:
        reading: dict[str, Any]
        if signal in view.unobserved:
            reading = {"observed": False, "absent": view.unobserved[signal]}
        elif signal in seen and signal in wanted:
            reading = {
                "observed": True,
                "available": seen[signal].available.value(),
                "capacity": seen[signal].capacity.value(),
            }
        else:
            continue
        answer = answers.get(signal)
        findings = tuple(each for each in view.thresholds if each.threshold.signal is signal)
        found = [_threshold(snapshot, each, now) for each in findings]
        stated = (
            stated_rate(found, snapshot.trends.signals.get(signal, Trend()), now)
            if reading["observed"]
            else {"thresholds": found}
        )
        entry = {"signal": signal.value, **reading, **stated}
        entries.append(
            {
                **entry,
                "measuresForSeconds": _measures_for(snapshot, signal, now),
                "reclaimsFirst": answer is not None and answer.reclaims_first,
                "waitsForPages": None if answer is None else answer.waits_for_pages,
                "leavesFirst": [] if answer is None else list(answer.leaves_first),
                "notOfPods": None if answer is None else answer.not_of_pods,
                "attribution": attribution_document(None if answer is None else answer.held, snapshot.wall),
                "growing": (growing := _growing(answer, stated["thresholds"], snapshot)),
                "beyondPods": None if growing else taken_beyond_pods(answer, stated, snapshot),
                **_with_host_path(answer, snapshot),
                **next_document(answer, reasons.get(signal, ""), snapshot, now, entry),
                "nextIfItGrows": goes_if_growth_lasts(answer, findings, entry, snapshot),
                "nextIfItStops": goes_if_growth_ended(answer, findings, stated, snapshot),
            }
        )
    return entries


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


def _growing(answer: NextUp | None, thresholds: list[dict[str, Any]], snapshot: Snapshot) -> dict[str, Any] | None:
    """Return what grew since the fall began, until the attribution says it; `None` where no threshold is near, or unknown.

    Where usage was not recorded then, since the first record or within about the last minute.
    `elsewhere` is `null` where it may be of pods that were not measured; `filePages` is what the kernel can drop of a pod.
    """
    held = None if answer is None else answer.held
    times = [each[kind] for each in thresholds for kind in ("secondsToThreshold", "secondsAsBefore")]
    met = any(each["met"] for each in thresholds)
    near = (
        not (held is not None and held.filled)
        if met
        else any(each is not None and each <= FORESEEN_SECONDS for each in times)
    )
    holdings = None if held is None or not near else snapshot.state.holdings.get(held.signal)
    if answer is None or held is None or holdings is None or holdings.at <= holdings.since:
        return None
    rows = {row.uid: row for row in answer.rows}
    since, grown, elsewhere, known = _grown(answer, held.signal, holdings, snapshot)
    pods = {pod.uid: pod for pod in snapshot.observation.pods}
    grew = [(each, pods[uid]) for uid, each in grown.items() if uid in pods and each > 0]
    arrived = [each for each, pod in grew if pod.uid not in known]
    whole = not (held.outdated or held.unmeasured.pods or holdings.arrived) and is_fresh(held.signal, since, snapshot)
    most = sorted(grew, key=itemgetter(0), reverse=True)[:_SHOWN_GROWERS]
    measured = max((holdings.last_measured.get(pod.uid, holdings.at) for _, pod in most), default=holdings.at)
    return {
        "overSeconds": round((measured - since) / SECOND, 1),
        "measuredSecondsBefore": round((holdings.at - measured) / SECOND, 1),
        "pods": [
            {
                "pod": pod.full_name,
                "grown": each,
                "filePages": None if pod.uid not in rows else rows[pod.uid].file_pages,
                "withinRequest": _within_request(rows.get(pod.uid), answer),
                "protected": protection(pod, snapshot.config),
            }
            for each, pod in most
        ],
        "ofPods": sum(each for each, _ in grew),
        "arrived": {"pods": len(arrived), "grown": sum(arrived)},
        "elsewhere": _at_most_held(elsewhere, holdings) if whole else None,
    }


def _at_most_held(grown: int | None, holdings: SupplyHoldings) -> int | None:
    """Return the growth of what belongs to no pod, which is no more than that holds.

    While a disk shows freed bytes before the pod's usage is read again, less than nothing seems to belong to no pod.
    """
    rest = holdings.elsewhere
    return grown if grown is None or rest is None or rest.used < 0 else min(grown, rest.used)


def _grown(
    answer: NextUp, supply: Signal, holdings: SupplyHoldings, snapshot: Snapshot
) -> tuple[int, Mapping[str, int], int | None, Collection[str]]:
    """Return since when pods and the rest grew, by how much each pod and the rest, and the pods that were there by then.

    Over about the last minute where less is known, where less grew since the fall began, or where the pod that grew the most
    since then grows no more and others do: then it is no single fall.
    """
    trends = snapshot.trends
    began = trends.signals.get(supply, Trend()).fall_began
    rest = holdings.elsewhere
    held = None if rest is None else sum(holdings.used.values()) + rest.used
    before = None if began is None else sample_before(trends.usage.get(supply, ()), began, held)
    lately = {uid: each.grown for uid, each in holdings.growing.items()}
    grown = {} if before is None else before.grown(holdings.used)
    most, grows = max(grown, key=grown.__getitem__, default=""), bool(lately) or (rest is not None and rest.grown > 0)
    stopped = grown.get(most, 0) > 0 and most not in lately and grows
    if before is None or before.at >= holdings.since or sum(grown.values()) < sum(lately.values()) or stopped:
        lately, beyond = _without_returned(lately, answer, supply, snapshot), None if rest is None else rest.grown
        return holdings.since, lately, beyond, holdings.used  # what a pod held at its first reading is not growth here
    grown = _without_returned(grown, answer, supply, snapshot)
    if rest is None or before.elsewhere is None or before.unmeasured:
        return before.at, grown, None, before.used
    return before.at, grown, rest.used - before.elsewhere, before.used


def _within_request(row: RankedPod | None, answer: NextUp) -> bool | None:
    """Whether a pod uses no more than it requests; `None` where that is not known, or no pod can request it."""
    if row is None or row.usage is None or answer.resource not in WITH_REQUEST:
        return None
    return row.usage * NANO <= row.request


def _without_returned(grown: dict[str, int], answer: NextUp, supply: Signal, snapshot: Snapshot) -> dict[str, int]:
    """Return the growth of pods without what those only took again that the kernel killed lately.

    A pod that exceeds its request may leak again: it counts as such a pod only if it held a steady amount before.
    """
    within = {row.uid for row in answer.rows if _within_request(row, answer)}
    used, samples = snapshot.state.holdings[supply].used, snapshot.trends.usage.get(supply, ())
    killed = {uid: most_held(samples, uid) for uid in {each.uid for each in snapshot.killed} & grown.keys()}
    returned = {uid: most for uid, (most, steady) in killed.items() if steady or uid in within}
    return {**grown, **{uid: min(grown[uid], max(used.get(uid, 0) - most, 0)) for uid, most in returned.items()}}


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
