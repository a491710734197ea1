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


def gauges(board: LatestSnapshot) -> Iterator[Gauge]:
    """Make every gauge of the latest snapshot."""
    snapshot = board.latest
    text = "1 if the last reload of the configuration succeeded, or there was none; 0 until the next good one"
    yield Gauge("evictd_config_last_reload_successful", text, value=not board.reload_fault)
    yield from _build(board)
    if snapshot is not None:
        yield from _signals(snapshot)
        yield from _thresholds(snapshot)
        yield from _node(snapshot)
        yield from _findings(snapshot)
        yield from _attributions(snapshot)
        if snapshot.observation.node is not None and snapshot.observation.node.gauges is not None:
            yield from _pressure(snapshot.observation.node.gauges)


def _build(board: LatestSnapshot) -> Iterator[Gauge]:
    labels = ["version", "python"]
    info = Gauge("evictd_build_info", "1, with the version of evictd and of Python", labels)
    info.add([__version__, platform.python_version()], 1)
    text = "When the configuration in force was read, Unix time"
    read = Gauge("evictd_config_last_reload_success_timestamp_seconds", text)
    if board.configured_at:
        read.add([], board.configured_at / SECOND)
    yield from (info, read)


def _findings(snapshot: Snapshot) -> Iterator[Gauge]:
    findings = Gauge("evictd_findings", "Findings of the last cycle, by kind", ["kind"])
    counted = Count(type(finding) for finding in snapshot.findings)
    for kind in get_args(Finding):
        findings.add([kind.__name__], counted[kind])
    text = "Thresholds for which no pod was evicted in the last cycle, by reason"
    idle = Gauge("evictd_no_action", text, ["reason"])
    reasons = Count(finding.why for finding in snapshot.findings if isinstance(finding, NoAction))
    for reason in NoActionReason:
        idle.add([reason.value], reasons[reason])
    yield from (findings, idle)


def _attributions(snapshot: Snapshot) -> Iterator[Gauge]:
    """Make the gauges of who holds each supply that a pod was chosen for in the last cycle; no other is computed."""
    labels = ["eviction_signal", "holder"]
    held = Gauge("evictd_held", "What each kind of holder has of what is short, in its unit", labels)
    text = "By how much each kind of holder grew since about a minute before it became short"
    grown = Gauge("evictd_growth", text, labels)
    for finding in snapshot.findings:
        if isinstance(finding, Attribution):
            for holder, share in finding.shares.items():
                names = [finding.signal.value, holder]
                grown.add(names, share.grown)
                if share.held is not None:
                    held.add(names, share.held)
    yield from (held, grown)


def _signals(snapshot: Snapshot) -> Iterator[Gauge]:
    node = snapshot.observation.node
    seen = {} if node is None else signal_observations(node)
    available = Gauge(
        "evictd_signal_available", "Available amount of a signal: bytes, inodes or PIDs", ["eviction_signal"]
    )
    capacity = Gauge("evictd_signal_capacity", "Capacity of a signal, in its unit", ["eviction_signal"])
    missing = Gauge(
        "evictd_signal_unavailable",
        "1 for a signal with a configured threshold that is not observed, 0 for one that is",
        ["eviction_signal"],
    )
    for signal, observation in seen.items():
        available.add([signal.value], observation.available.value())
        capacity.add([signal.value], observation.capacity.value())
    # Thresholds that evictd derives have signals that many nodes do not have; only those of the configuration count.
    configured = {each.signal for each in snapshot.config.thresholds if each.origin is not Origin.DERIVED}
    unobserved = {f.signal for f in snapshot.findings if isinstance(f, SignalUnobserved) and not f.absent}
    for signal in sorted(configured, key=lambda each: each.value):
        missing.add([signal.value], signal in unobserved)
    yield from (available, capacity, missing)


def _thresholds(snapshot: Snapshot) -> Iterator[Gauge]:
    labels = ["eviction_signal", "kind"]
    limit = Gauge("evictd_signal_threshold", "Absolute amount of a threshold on this node", labels)
    met = Gauge("evictd_threshold_met", "1 while a threshold is met", labels)
    grace = Gauge("evictd_threshold_grace_left_seconds", "Grace period left of a threshold that is met", labels=labels)
    text = "Time until a threshold is met at the rate of the last minute; absent where it is met or the signal does not fall"
    ahead = Gauge("evictd_time_to_threshold_seconds", text, labels)
    for finding in snapshot.findings:
        if isinstance(finding, ThresholdFinding):
            names = [finding.threshold.signal.value, "hard" if finding.threshold.hard else "soft"]
            limit.add(names, finding.limit.value())
            met.add(names, finding.met)
            if finding.grace_left is not None:
                grace.add(names, finding.grace_left / SECOND)
            trend = snapshot.trends.signals.get(finding.threshold.signal)
            seconds = None if trend is None else trend.seconds_to(finding.limit.value())
            if seconds is not None:
                ahead.add(names, seconds)
    yield from (limit, met, grace, ahead)


def _node(snapshot: Snapshot) -> Iterator[Gauge]:
    condition = Gauge("evictd_node_condition", "1 while the node reports it", ["condition"])
    for each in NodeCondition:
        condition.add([each.value], each in snapshot.state.node_conditions)
    phase = Gauge("evictd_phase", "1 for the phase the manager is in", ["phase"])
    for name in PhaseName:
        phase.add([name.value], snapshot.state.activity is name)
    pods = Gauge("evictd_active_pods", "Pods that run, or may run, on this node")
    pods.add([], len(snapshot.observation.pods))
    dry_run = Gauge("evictd_dry_run", "1 where decisions are logged and not carried out")
    dry_run.add([], snapshot.observation.outcomes.dry_run)
    rejected = Gauge("evictd_credentials_rejected", "1 while the API server rejects the credentials (401)")
    rejected.add([], bool(snapshot.rejected))
    cycle = Gauge("evictd_last_cycle_timestamp_seconds", "Start of the last cycle, Unix time")
    cycle.add([], snapshot.wall / SECOND)
    text = "When the pods were read last, Unix time; on a calm node up to 40 seconds before the last cycle"
    read = Gauge("evictd_last_pods_reading_timestamp_seconds", text)
    read.add([], (snapshot.wall - snapshot.pods_before) / SECOND)
    yield from (condition, phase, pods, dry_run, rejected, cycle, read)


def _pressure(gauges: NodeGauges) -> Iterator[Gauge]:
    memory = Gauge("evictd_memory_available_bytes", "Available memory, by formula", ["formula"])
    for formula, value in (
        ("WorkingSet", gauges.working_set_available_bytes),
        ("MemAvailable", gauges.mem_available_bytes),
    ):
        if value is not None:
            memory.add([formula], value)
    stall = Gauge(
        "evictd_memory_pressure_stall_ratio",
        "Share of time stalled for memory (PSI)",
        ["scope", "kind", "window"],
    )
    lines = {
        ("node", "some"): gauges.pressure_some,
        ("node", "full"): gauges.pressure_full,
        ("pods", "some"): gauges.pods_pressure_some,
        ("pods", "full"): gauges.pods_pressure_full,
    }
    for (scope, kind), line in lines.items():
        if line is not None:
            for window, percent in (("10s", line.avg10), ("60s", line.avg60), ("300s", line.avg300)):
                stall.add([scope, kind, window], percent / 100)
    yield from (memory, stall)
