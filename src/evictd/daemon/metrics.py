"""Which numbers does Prometheus get?

Gauges are made from the latest snapshot when somebody asks, so a signal that is not observed has no stale gauge;
counters and histograms are fed by the loop. A registry of its own, no global one. `evictd_evictions_total` and
`evictd_eviction_stats_age_seconds` answer to the kubelet's `kubelet_evictions` and
`kubelet_eviction_stats_age_seconds`. docs/metrics.md lists them all.
"""

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from evictd.core.decision import Because, SignalUnobserved, ThresholdFinding
from evictd.core.duration import SECOND
from evictd.core.observation import ReclaimOutcome, signal_observations
from evictd.core.signal import NodeCondition, Signal
from evictd.core.state import PhaseName
from evictd.core.stats import NodeGauges
from evictd.daemon.snapshot import Board, Snapshot

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

STATS_AGE_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
"""The kubelet's (spec 6.4)."""
REACTION_BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)


class Metrics:
    """Everything that is counted. Times are handed in as nanoseconds and shown as seconds."""

    def __init__(self, board: Board) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Gauges(board))
        self._evictions = Counter(
            "evictd_evictions",
            "Pods evicted, by eviction signal and reason",
            ["eviction_signal", "reason"],
            registry=self._registry,
        )
        self._stats_age = Histogram(
            "evictd_eviction_stats_age_seconds",
            "Time between when stats are collected, and when pod is evicted based on those stats by eviction signal",
            ["eviction_signal"],
            buckets=STATS_AGE_BUCKETS,
            registry=self._registry,
        )
        self._reclaimed = Counter(
            "evictd_reclaimed_bytes",
            "Bytes given back by collecting, by what was collected",
            ["kind"],
            registry=self._registry,
        )
        self._collected = Counter(
            "evictd_reclaimed_objects",
            "Containers, sandboxes and images removed, by kind",
            ["kind"],
            registry=self._registry,
        )
        self._cycle = Histogram(
            "evictd_cycle_duration_seconds",
            "Time of one housekeeping cycle: observe, decide, journal, perform",
            buckets=REACTION_BUCKETS,
            registry=self._registry,
        )
        self._reaction = Histogram(
            "evictd_reaction_seconds",
            "Time from noticing that a threshold is due to the first action on it",
            ["action"],
            buckets=REACTION_BUCKETS,
            registry=self._registry,
        )
        self._wakeups = Counter(
            "evictd_wakeups", "What ended the wait between two cycles", ["cause"], registry=self._registry
        )
        self._errors = Counter(
            "evictd_errors", "Things that went wrong, by source", ["source"], registry=self._registry
        )

    def render(self) -> bytes:
        """Write the page in Prometheus' text format."""
        return generate_latest(self._registry)

    def evicted(self, because: Because) -> None:
        """Count an eviction."""
        self._evictions.labels(because.signal_label, because.reason.value).inc()

    def stats_age(self, signal: Signal, nanoseconds: int) -> None:
        """Note how old the numbers were that an eviction was decided on."""
        self._stats_age.labels(signal.value).observe(nanoseconds / SECOND)

    def reclaimed(self, outcomes: Iterable[ReclaimOutcome]) -> None:
        """Count what collectors gave back."""
        for outcome in outcomes:
            self._reclaimed.labels(outcome.action.value).inc(max(0, outcome.freed_bytes))
            self._collected.labels(outcome.action.value).inc(outcome.removed)

    def cycle(self, nanoseconds: int) -> None:
        """Note how long a cycle took."""
        self._cycle.observe(nanoseconds / SECOND)

    def reaction(self, action: str, nanoseconds: int) -> None:
        """Note how long it took from the crossing to `reclaim` or `evict`."""
        self._reaction.labels(action).observe(nanoseconds / SECOND)

    def woken(self, cause: str) -> None:
        """Count what ended a wait."""
        self._wakeups.labels(cause).inc()

    def error(self, source: str) -> None:
        """Count something that went wrong."""
        self._errors.labels(source).inc()


class _Gauges(Collector):
    """The present, read off the board."""

    def __init__(self, board: Board) -> None:
        self._board = board

    def describe(self) -> Iterable[Metric]:
        # Without this the registry would collect once at registration to learn the names.
        return []

    def collect(self) -> Iterator[Metric]:
        snapshot = self._board.latest
        if snapshot is not None:
            yield from _signals(snapshot)
            yield from _thresholds(snapshot)
            yield from _node(snapshot)
            if snapshot.observation.node is not None and snapshot.observation.node.gauges is not None:
                yield from _pressure(snapshot.observation.node.gauges)


def _signals(snapshot: Snapshot) -> Iterator[Metric]:
    node = snapshot.observation.node
    seen = {} if node is None else signal_observations(node)
    available = GaugeMetricFamily(
        "evictd_signal_available", "What is left of a signal: bytes, inodes or PIDs", labels=["eviction_signal"]
    )
    capacity = GaugeMetricFamily("evictd_signal_capacity", "All there is of a signal", labels=["eviction_signal"])
    missing = GaugeMetricFamily(
        "evictd_signal_unavailable",
        "1 for a signal with a threshold that could not be read",
        labels=["eviction_signal"],
    )
    for signal, observation in seen.items():
        available.add_metric([signal.value], observation.available.value())
        capacity.add_metric([signal.value], observation.capacity.value())
    for finding in snapshot.findings:
        if isinstance(finding, SignalUnobserved):
            missing.add_metric([finding.signal.value], 1)
    yield from (available, capacity, missing)


def _thresholds(snapshot: Snapshot) -> Iterator[Metric]:
    labels = ["eviction_signal", "kind"]
    limit = GaugeMetricFamily("evictd_signal_threshold", "Where a threshold lies on this node", labels=labels)
    met = GaugeMetricFamily("evictd_threshold_met", "1 while a threshold is met", labels=labels)
    grace = GaugeMetricFamily(
        "evictd_threshold_grace_left_seconds", "Time until a threshold that is met acts", labels=labels
    )
    for finding in snapshot.findings:
        if isinstance(finding, ThresholdFinding):
            names = [finding.threshold.signal.value, "hard" if finding.threshold.hard else "soft"]
            limit.add_metric(names, finding.limit.value())
            met.add_metric(names, finding.met)
            if finding.grace_left is not None:
                grace.add_metric(names, finding.grace_left / SECOND)
    yield from (limit, met, grace)


def _node(snapshot: Snapshot) -> Iterator[Metric]:
    condition = GaugeMetricFamily("evictd_node_condition", "1 while the node reports it", labels=["condition"])
    for each in NodeCondition:
        condition.add_metric([each.value], each in snapshot.state.node_conditions)
    phase = GaugeMetricFamily("evictd_phase", "1 for the phase the manager is in", labels=["phase"])
    for name in PhaseName:
        phase.add_metric([name.value], snapshot.state.phase.name is name)
    pods = GaugeMetricFamily("evictd_active_pods", "Pods that run, or may run, on this node")
    pods.add_metric([], len(snapshot.observation.pods))
    dry_run = GaugeMetricFamily("evictd_dry_run", "1 where decisions are only told")
    dry_run.add_metric([], snapshot.dry_run)
    cycle = GaugeMetricFamily("evictd_last_cycle_timestamp_seconds", "When the last cycle began, Unix time")
    cycle.add_metric([], snapshot.wall / SECOND)
    yield from (condition, phase, pods, dry_run, cycle)


def _pressure(gauges: NodeGauges) -> Iterator[Metric]:
    memory = GaugeMetricFamily("evictd_memory_available_bytes", "Memory left, by how it is counted", labels=["formula"])
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
