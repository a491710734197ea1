"""Makes the gauges of `/metrics` from the latest snapshot, when the page is read."""

import platform
from collections import Counter as Count
from collections.abc import Iterator
from typing import get_args

from evictd import __version__
from evictd.core.model.attribution import Attribution
from evictd.core.model.finding import Finding, NoAction, NoActionReason, SignalUnobserved, ThresholdFinding
from evictd.core.model.observation import signal_observations
from evictd.core.model.signal import NodeCondition
from evictd.core.model.state import PhaseName
from evictd.core.model.stats import NodeGauges
from evictd.core.model.threshold import Origin
from evictd.core.units.duration import SECOND
from evictd.daemon.telemetry.exposition import Gauge
from evictd.daemon.telemetry.snapshot import LatestSnapshot, Snapshot
from evictd.errors import source_kind

_OF_SIGNAL = ["eviction_signal"]


def gauges(published: LatestSnapshot) -> Iterator[Gauge]:
    """Make every gauge of the latest snapshot."""
    snapshot = published.latest
    reloaded = "1 if the last reload of the configuration succeeded, or there was none; 0 until the next good one"
    yield Gauge("evictd_config_last_reload_successful", reloaded, value=not published.reload_fault)
    versions = {(__version__, platform.python_version()): 1}
    yield Gauge("evictd_build_info", "1, with the version of evictd and of Python", ["version", "python"], versions)
    text = "When the configuration in force was read, Unix time"
    read_at = published.configured_at / SECOND if published.configured_at else None
    yield Gauge("evictd_config_last_reload_success_timestamp_seconds", text, value=read_at)
    if snapshot is not None:
        yield from _signals(snapshot)
        yield from _thresholds(snapshot)
        yield from _node(snapshot)
        yield from _findings(snapshot)
        yield from _attributions(snapshot)
        if snapshot.observation.node is not None and snapshot.observation.node.gauges is not None:
            yield from _pressure(snapshot.observation.node.gauges)


def _findings(snapshot: Snapshot) -> Iterator[Gauge]:
    counted = Count(type(finding) for finding in snapshot.findings)
    kinds = {(kind.__name__,): counted[kind] for kind in get_args(Finding)}
    yield Gauge("evictd_findings", "Findings of the last cycle, by kind", ["kind"], kinds)
    reasons = Count(finding.why for finding in snapshot.findings if isinstance(finding, NoAction))
    text = "Thresholds for which no pod was evicted in the last cycle, by reason"
    yield Gauge("evictd_no_action", text, ["reason"], {(reason.value,): reasons[reason] for reason in NoActionReason})
    sources = Count((source_kind(problem.source),) for problem in snapshot.observation.problems)
    text = "Problems that last, by the kind of their source; absent where there is none. Each counts as one error"
    yield Gauge("evictd_problems", text, ["source"], sources)


def _attributions(snapshot: Snapshot) -> Iterator[Gauge]:
    """Make the gauges of who holds each supply that a pod was chosen for in the last cycle; no other is computed."""
    shares = [
        ((finding.signal.value, holder), share)
        for finding in snapshot.findings
        if isinstance(finding, Attribution)
        for holder, share in finding.shares.items()
    ]
    labels = ["eviction_signal", "holder"]
    held = {names: share.held for names, share in shares if share.held is not None}
    yield Gauge("evictd_held", "What each kind of holder has of what is short, in its unit", labels, held)
    text = "By how much each kind of holder grew since about a minute before it became short"
    yield Gauge("evictd_growth", text, labels, {names: share.grown for names, share in shares})


def _signals(snapshot: Snapshot) -> Iterator[Gauge]:
    node = snapshot.observation.node
    seen = [] if node is None else [((signal.value,), found) for signal, found in signal_observations(node).items()]
    available = {signal: found.available.value() for signal, found in seen}
    yield Gauge("evictd_signal_available", "Available amount of a signal: bytes, inodes or PIDs", _OF_SIGNAL, available)
    capacity = {signal: found.capacity.value() for signal, found in seen}
    yield Gauge("evictd_signal_capacity", "Capacity of a signal, in its unit", _OF_SIGNAL, capacity)
    # Thresholds that evictd derives have signals that many nodes do not have; only those of the configuration count.
    configured = {each.signal.value for each in snapshot.config.thresholds if each.origin is not Origin.DERIVED}
    unobserved = {f.signal.value for f in snapshot.findings if isinstance(f, SignalUnobserved) and not f.absent}
    text = "1 for a signal with a configured threshold that is not observed, 0 for one that is"
    missing = {(each,): each in unobserved for each in sorted(configured)}
    yield Gauge("evictd_signal_unavailable", text, _OF_SIGNAL, missing)


def _thresholds(snapshot: Snapshot) -> Iterator[Gauge]:
    found = [
        ((each.threshold.signal.value, "hard" if each.threshold.hard else "soft"), each)
        for each in snapshot.findings
        if isinstance(each, ThresholdFinding)
    ]
    labels = ["eviction_signal", "kind"]
    limits = {names: each.limit.value() for names, each in found}
    yield Gauge("evictd_signal_threshold", "Absolute amount of a threshold on this node", labels, limits)
    yield Gauge(
        "evictd_threshold_met", "1 while a threshold is met", labels, {names: each.met for names, each in found}
    )
    grace = {names: each.grace_left / SECOND for names, each in found if each.grace_left is not None}
    yield Gauge("evictd_threshold_grace_left_seconds", "Grace period left of a threshold that is met", labels, grace)
    text = "Time until a threshold is met at the rate of the last minute; absent where it is met or the signal does not fall"
    ahead = {names: seconds for names, each in found if (seconds := snapshot.seconds_to(each)) is not None}
    yield Gauge("evictd_time_to_threshold_seconds", text, labels, ahead)


def _node(snapshot: Snapshot) -> Iterator[Gauge]:
    reported = {(each.value,): each in snapshot.state.node_conditions for each in NodeCondition}
    yield Gauge("evictd_node_condition", "1 while evictd reports it, or would in a dry run", ["condition"], reported)
    phases = {(name.value,): snapshot.state.activity is name for name in PhaseName}
    yield Gauge("evictd_phase", "1 for the phase the manager is in", ["phase"], phases)
    pods = None if snapshot.observation.pods_unknown else len(snapshot.observation.pods)
    dry_run = snapshot.observation.outcomes.dry_run
    text = "Pods that run, or may run, on this node; absent where they are unknown"
    yield Gauge("evictd_active_pods", text, value=pods)
    yield Gauge("evictd_dry_run", "1 where decisions are logged and not carried out", value=dry_run)
    rejected = bool(snapshot.rejected)
    yield Gauge("evictd_credentials_rejected", "1 while the API server rejects the credentials (401)", value=rejected)
    began = snapshot.wall / SECOND
    yield Gauge("evictd_last_cycle_timestamp_seconds", "Start of the last cycle, Unix time", value=began)
    text = "When the pods were read last, Unix time; on a calm node up to 40 seconds before the last cycle"
    read_at = (snapshot.wall - snapshot.pods_before) / SECOND
    yield Gauge("evictd_last_pods_reading_timestamp_seconds", text, value=read_at)


def _pressure(gauges: NodeGauges) -> Iterator[Gauge]:
    formulas = {"WorkingSet": gauges.working_set_available_bytes, "MemAvailable": gauges.mem_available_bytes}
    memory = {(formula,): value for formula, value in formulas.items() if value is not None}
    yield Gauge("evictd_memory_available_bytes", "Available memory, by formula", ["formula"], memory)
    lines = {
        ("node", "some"): gauges.pressure_some,
        ("node", "full"): gauges.pressure_full,
        ("pods", "some"): gauges.pods_pressure_some,
        ("pods", "full"): gauges.pods_pressure_full,
    }
    stalls = {
        (scope, kind, window): percent / 100
        for (scope, kind), line in lines.items()
        if line is not None
        for window, percent in (("10s", line.avg10), ("60s", line.avg60), ("300s", line.avg300))
    }
    labels = ["scope", "kind", "window"]
    yield Gauge("evictd_memory_pressure_stall_ratio", "Share of time stalled for memory (PSI)", labels, stalls)
