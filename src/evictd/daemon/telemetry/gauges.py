"""Makes the gauges of `/metrics` from the latest snapshot, when the page is read."""

import platform
from collections import Counter as Count
from collections.abc import Iterable, Iterator
from typing import get_args

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from evictd import __version__
from evictd.core.model.attribution import Attribution
from evictd.core.model.decision import Finding, NoAction, NoActionReason, SignalUnobserved, ThresholdFinding
from evictd.core.model.observation import signal_observations
from evictd.core.model.signal import NodeCondition
from evictd.core.model.state import PhaseName
from evictd.core.model.stats import NodeGauges
from evictd.core.model.threshold import Origin
from evictd.core.units.duration import SECOND
from evictd.daemon.telemetry.snapshot import LatestSnapshot, Snapshot


class Gauges(Collector):
    """The gauges, read from the latest snapshot."""

    def __init__(self, board: LatestSnapshot) -> None:
        self._board = board

    def describe(self) -> Iterable[Metric]:
        """Return nothing; otherwise the registry calls `collect` at registration to learn the names."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Make every gauge."""
        snapshot = self._board.latest
        text = "1 if the last reload of the configuration succeeded, or there was none; 0 until the next good one"
        yield GaugeMetricFamily("evictd_config_last_reload_successful", text, value=not self._board.reload_fault)
        yield from _build(self._board)
        if snapshot is not None:
            yield from _signals(snapshot)
            yield from _thresholds(snapshot)
            yield from _node(snapshot)
            yield from _findings(snapshot)
            yield from _attributions(snapshot)
            if snapshot.observation.node is not None and snapshot.observation.node.gauges is not None:
                yield from _pressure(snapshot.observation.node.gauges)


def _build(board: LatestSnapshot) -> Iterator[Metric]:
    labels = ["version", "python"]
    info = GaugeMetricFamily("evictd_build_info", "1, with the version of evictd and of Python", labels=labels)
    info.add_metric([__version__, platform.python_version()], 1)
    text = "When the configuration in force was read, Unix time"
    read = GaugeMetricFamily("evictd_config_last_reload_success_timestamp_seconds", text)
    if board.configured_at:
        read.add_metric([], board.configured_at / SECOND)
    yield from (info, read)


def _findings(snapshot: Snapshot) -> Iterator[Metric]:
    findings = GaugeMetricFamily("evictd_findings", "Findings of the last cycle, by kind", labels=["kind"])
    counted = Count(type(finding) for finding in snapshot.findings)
    for kind in get_args(Finding):
        findings.add_metric([kind.__name__], counted[kind])
    text = "Thresholds for which no pod was evicted in the last cycle, by reason"
    idle = GaugeMetricFamily("evictd_no_action", text, labels=["reason"])
    reasons = Count(finding.why for finding in snapshot.findings if isinstance(finding, NoAction))
    for reason in NoActionReason:
        idle.add_metric([reason.value], reasons[reason])
    yield from (findings, idle)


def _attributions(snapshot: Snapshot) -> Iterator[Metric]:
    """Make the gauges of who holds each supply that a pod was chosen for in the last cycle; no other is computed."""
    labels = ["eviction_signal", "holder"]
    held = GaugeMetricFamily("evictd_held", "What each kind of holder has of what is short, in its unit", labels=labels)
    text = "By how much each kind of holder grew since about a minute before it became short"
    grown = GaugeMetricFamily("evictd_growth", text, labels=labels)
    for finding in snapshot.findings:
        if isinstance(finding, Attribution):
            for holder, share in finding.shares.items():
                names = [finding.signal.value, holder]
                grown.add_metric(names, share.grown)
                if share.held is not None:
                    held.add_metric(names, share.held)
    yield from (held, grown)


def _signals(snapshot: Snapshot) -> Iterator[Metric]:
    node = snapshot.observation.node
    seen = {} if node is None else signal_observations(node)
    available = GaugeMetricFamily(
        "evictd_signal_available", "Available amount of a signal: bytes, inodes or PIDs", labels=["eviction_signal"]
    )
    capacity = GaugeMetricFamily(
        "evictd_signal_capacity", "Capacity of a signal, in its unit", labels=["eviction_signal"]
    )
    missing = GaugeMetricFamily(
        "evictd_signal_unavailable",
        "1 for a signal with a configured threshold that is not observed, 0 for one that is",
        labels=["eviction_signal"],
    )
    for signal, observation in seen.items():
        available.add_metric([signal.value], observation.available.value())
        capacity.add_metric([signal.value], observation.capacity.value())
    # Thresholds that evictd derives have signals that many nodes do not have; only those of the configuration count.
    configured = {each.signal for each in snapshot.config.thresholds if each.origin is not Origin.DERIVED}
    unobserved = {f.signal for f in snapshot.findings if isinstance(f, SignalUnobserved) and not f.absent}
    for signal in sorted(configured, key=lambda each: each.value):
        missing.add_metric([signal.value], signal in unobserved)
    yield from (available, capacity, missing)


def _thresholds(snapshot: Snapshot) -> Iterator[Metric]:
    labels = ["eviction_signal", "kind"]
    limit = GaugeMetricFamily("evictd_signal_threshold", "Absolute amount of a threshold on this node", labels=labels)
    met = GaugeMetricFamily("evictd_threshold_met", "1 while a threshold is met", labels=labels)
    grace = GaugeMetricFamily(
        "evictd_threshold_grace_left_seconds", "Grace period left of a threshold that is met", labels=labels
    )
    text = "Time until a threshold is met at the rate of the last minute; absent where it is met or the signal does not fall"
    ahead = GaugeMetricFamily("evictd_time_to_threshold_seconds", text, labels=labels)
    for finding in snapshot.findings:
        if isinstance(finding, ThresholdFinding):
            names = [finding.threshold.signal.value, "hard" if finding.threshold.hard else "soft"]
            limit.add_metric(names, finding.limit.value())
            met.add_metric(names, finding.met)
            if finding.grace_left is not None:
                grace.add_metric(names, finding.grace_left / SECOND)
            trend = snapshot.trends.signals.get(finding.threshold.signal)
            seconds = None if trend is None else trend.seconds_to(finding.limit.value())
            if seconds is not None:
                ahead.add_metric(names, seconds)
    yield from (limit, met, grace, ahead)


def _node(snapshot: Snapshot) -> Iterator[Metric]:
    condition = GaugeMetricFamily("evictd_node_condition", "1 while the node reports it", labels=["condition"])
    for each in NodeCondition:
        condition.add_metric([each.value], each in snapshot.state.node_conditions)
    phase = GaugeMetricFamily("evictd_phase", "1 for the phase the manager is in", labels=["phase"])
    for name in PhaseName:
        phase.add_metric([name.value], snapshot.state.activity is name)
    pods = GaugeMetricFamily("evictd_active_pods", "Pods that run, or may run, on this node")
    pods.add_metric([], len(snapshot.observation.pods))
    dry_run = GaugeMetricFamily("evictd_dry_run", "1 where decisions are logged and not carried out")
    dry_run.add_metric([], snapshot.observation.outcomes.dry_run)
    rejected = GaugeMetricFamily("evictd_credentials_rejected", "1 while the API server rejects the credentials (401)")
    rejected.add_metric([], bool(snapshot.rejected))
    cycle = GaugeMetricFamily("evictd_last_cycle_timestamp_seconds", "Start of the last cycle, Unix time")
    cycle.add_metric([], snapshot.wall / SECOND)
    text = "When the pods were read last, Unix time; on a calm node up to 40 seconds before the last cycle"
    read = GaugeMetricFamily("evictd_last_pods_reading_timestamp_seconds", text)
    read.add_metric([], (snapshot.wall - snapshot.pods_before) / SECOND)
    yield from (condition, phase, pods, dry_run, rejected, cycle, read)


def _pressure(gauges: NodeGauges) -> Iterator[Metric]:
    memory = GaugeMetricFamily("evictd_memory_available_bytes", "Available memory, by formula", labels=["formula"])
    for formula, value in (
        ("WorkingSet", gauges.working_set_available_bytes),
        ("MemAvailable", gauges.mem_available_bytes),
    ):
        if value is not None:
            memory.add_metric([formula], value)
    stall = GaugeMetricFamily(
        "evictd_memory_pressure_stall_ratio",
        "Share of time stalled for memory (PSI)",
        labels=["scope", "kind", "window"],
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
                stall.add_metric([scope, kind, window], percent / 100)
    yield from (memory, stall)
