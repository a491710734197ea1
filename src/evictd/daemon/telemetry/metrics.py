"""Keeps the daemon's Prometheus metrics.

Gauges are made from the latest snapshot when the page is read, so a signal that is not observed has no stale gauge; counters and
histograms are fed by the loop. The registry is the object's own, not the global one. `evictd_evictions_total` and
`evictd_eviction_stats_age_seconds` correspond to the kubelet's `kubelet_evictions` and `kubelet_eviction_stats_age_seconds`.
docs/reference/metrics.md lists all of them.
"""

from collections.abc import Iterable, Iterator

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from evictd.core.model.decision import EvictionCause, EvictionReason
from evictd.core.model.observation import Reclaim, ReclaimOutcome
from evictd.core.model.signal import Signal
from evictd.core.units.duration import SECOND
from evictd.daemon.telemetry.gauges import Gauges
from evictd.daemon.telemetry.log_writer import LogWriter
from evictd.daemon.telemetry.snapshot import LatestSnapshot
from evictd.errors import SourceKind
from evictd.observe.threshold_watch.memory_watch import Woken

# A series `_created` for each counter would double their number.
disable_created_metrics()  # type: ignore[no-untyped-call]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

STATS_AGE_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
"""The buckets of the kubelet's `kubelet_eviction_stats_age_seconds`."""
REACTION_BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)

_SIGNAL = "eviction_signal"
_OTHER = "other"
"""The kind of a source that is not in the list."""
_CHOSEN = {True: "yes", False: "no"}
_STATS_AGE_TEXT = (
    "Time between when stats are collected, and when pod is evicted based on those stats by eviction signal"
)
_REACTION_TEXT = "Time from noticing that a threshold is due to the first action on it"


class Metrics:
    """Counters and histograms fed by the loop, and gauges read from the latest snapshot. Times are given in nanoseconds."""

    def __init__(self, board: LatestSnapshot) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(Gauges(board))
        ProcessCollector(registry=self._registry)
        self._evictions = self._counter("evictions", "Pods evicted, by eviction signal and reason", _SIGNAL, "reason")
        self._within = self._counter(
            "evictions_within_request", "Pods evicted for pressure that used no more than their request", _SIGNAL
        )
        self._repeated = self._counter(
            "repeated_evictions", "Evictions that were at least the third of one owner's pods within an hour"
        )
        self._dry_run = self._counter(
            "dry_run_evictions",
            "Pods that a dry run would have evicted, by eviction signal and reason",
            _SIGNAL,
            "reason",
        )
        self._by_kubelet = self._counter(
            "kubelet_evictions", "Pods that the kubelet evicted, by whether evictd had chosen the pod before", "chosen"
        )
        self._stats_age = self._histogram("eviction_stats_age_seconds", _STATS_AGE_TEXT, STATS_AGE_BUCKETS, _SIGNAL)
        self._reclaimed = self._counter("reclaimed_bytes", "Bytes freed by garbage collection, by kind", "kind")
        self._collected = self._counter(
            "reclaimed_objects", "Containers, sandboxes and images removed, by kind", "kind"
        )
        self._cycle = self._histogram("cycle_duration_seconds", "Time of one housekeeping cycle", REACTION_BUCKETS)
        self._reaction = self._histogram("reaction_seconds", _REACTION_TEXT, REACTION_BUCKETS, "action")
        self._wakeups = self._counter("wakeups", "Reasons for the end of the wait between two cycles", "cause")
        self._errors = self._counter("errors", "Errors, by the kind of their source", "source")
        self._begin_at_zero()

    def _begin_at_zero(self) -> None:
        """Create every series whose labels are known: `increase()` does not see the first count of a new series."""
        for counter in (self._evictions, self._dry_run):
            for signal in Signal:
                counter.labels(signal.value, EvictionReason.PRESSURE.value)
            for reason in set(EvictionReason) - {EvictionReason.PRESSURE}:
                counter.labels(reason.value, reason.value)
        for chosen in _CHOSEN.values():
            self._by_kubelet.labels(chosen)
        for action in Reclaim:
            self._reclaimed.labels(action.value)
            self._collected.labels(action.value)
        for name in ("reclaim", "evict"):
            self._reaction.labels(name)
        for cause in Woken:
            self._wakeups.labels(cause.value)
        for source in (*(kind.value for kind in SourceKind), _OTHER):
            self._errors.labels(source)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"evictd_{name}", text, labels, registry=self._registry)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(f"evictd_{name}", text, labels, buckets=buckets, registry=self._registry)

    def count_dropped_lines(self, writer: LogWriter) -> None:
        """Export the number of log lines that were dropped."""
        self._registry.register(_DroppedLines(writer))

    def render(self) -> bytes:
        """Return the page in Prometheus' text format."""
        return generate_latest(self._registry)

    def evicted(self, because: EvictionCause) -> None:
        """Count an eviction."""
        self._evictions.labels(because.signal_label, because.reason.value).inc()
        pressure = because.reason is EvictionReason.PRESSURE
        if pressure and because.usage is not None and because.request is not None and because.usage <= because.request:
            self._within.labels(because.signal_label).inc()

    def would_evict(self, because: EvictionCause) -> None:
        """Count an eviction that a dry run would have carried out."""
        self._dry_run.labels(because.signal_label, because.reason.value).inc()

    def evicted_by_kubelet(self, *, chosen: bool) -> None:
        """Count an eviction by the kubelet; `chosen`: evictd had chosen that pod before."""
        self._by_kubelet.labels(_CHOSEN[chosen]).inc()

    def repeated(self) -> None:
        """Count an eviction that is at least the third of its owner's pods within an hour."""
        self._repeated.inc()

    def stats_age(self, signal: Signal, nanoseconds: int) -> None:
        """Observe the age of the statistics that an eviction was decided on."""
        self._stats_age.labels(signal.value).observe(nanoseconds / SECOND)

    def reclaimed(self, outcomes: Iterable[ReclaimOutcome]) -> None:
        """Count what garbage collection freed."""
        for outcome in outcomes:
            self._reclaimed.labels(outcome.action.value).inc(max(0, outcome.freed_bytes))
            self._collected.labels(outcome.action.value).inc(outcome.removed)

    def cycle(self, nanoseconds: int) -> None:
        """Observe the duration of a cycle."""
        self._cycle.observe(nanoseconds / SECOND)

    def reaction(self, action: str, nanoseconds: int) -> None:
        """Observe the time from the crossing to `reclaim` or `evict`."""
        self._reaction.labels(action).observe(nanoseconds / SECOND)

    def woken(self, cause: str) -> None:
        """Count the end of a wait."""
        self._wakeups.labels(cause).inc()

    def error(self, source: str) -> None:
        """Count an error. The label is the kind of its source: names of pods and containers would make ever more series."""
        self._errors.labels(source_kind(source)).inc()


def source_kind(source: str) -> str:
    """Return the longest kind that a source begins with, `other` if there is none."""
    matching = (
        kind.value for kind in SourceKind if source == kind or source.startswith((f"{kind} ", f"{kind}:", f"{kind}/"))
    )
    return max(matching, key=len, default=_OTHER)


class _DroppedLines(Collector):
    def __init__(self, writer: LogWriter) -> None:
        self._writer = writer

    def describe(self) -> Iterable[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        text = "Log lines dropped because the reader of the log was slow or gone, or the log's disk was full"
        yield CounterMetricFamily("evictd_log_lines_dropped", text, value=self._writer.dropped)
