"""Keeps the daemon's Prometheus metrics.

Gauges are made from the latest snapshot when the page is read, so a signal that is not observed has no stale gauge; counters and
histograms are fed by the loop. `evictd_evictions_total` and `evictd_eviction_stats_age_seconds` correspond to the kubelet's
`kubelet_evictions` and `kubelet_eviction_stats_age_seconds`. docs/reference/metrics.md lists all of them.
"""

from collections.abc import Iterable, Iterator
from itertools import chain

from evictd.core.model.decision import EvictionCause, EvictionReason
from evictd.core.model.observation import Reclaim, ReclaimOutcome
from evictd.core.model.signal import Signal
from evictd.core.units.duration import SECOND
from evictd.daemon.telemetry.exposition import Counter, Histogram, process_metrics
from evictd.daemon.telemetry.gauges import gauges
from evictd.daemon.telemetry.log import LogWriter
from evictd.daemon.telemetry.snapshot import LatestSnapshot
from evictd.errors import OTHER_SOURCE, SourceKind, source_kind
from evictd.observe.threshold_watch.memory_watch import Woken

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

STATS_AGE_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
"""The buckets of the kubelet's `kubelet_eviction_stats_age_seconds`."""
REACTION_BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)

_SIGNAL = "eviction_signal"
_CHOSEN = {True: "yes", False: "no"}
_STATS_AGE_TEXT = (
    "Time between when stats are collected, and when pod is evicted based on those stats by eviction signal"
)
_REACTION_TEXT = "Time from noticing that a threshold is due to the first action on it"


class Metrics:
    """Counters and histograms fed by the loop, and gauges read from the latest snapshot. Times are given in nanoseconds."""

    def __init__(self, published: LatestSnapshot) -> None:
        self._published = published
        self._writer: LogWriter | None = None
        self.kept: list[Counter | Histogram] = []
        """Every counter and histogram."""
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
        self._by_kernel = self._counter(
            "kernel_kills",
            "Processes that the kernel killed for want of memory, not at a limit of their own (cgroup v2)",
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
                counter.add(signal.value, EvictionReason.PRESSURE.value, amount=0)
            for reason in set(EvictionReason) - {EvictionReason.PRESSURE}:
                counter.add(reason.value, reason.value, amount=0)
        for chosen in _CHOSEN.values():
            self._by_kubelet.add(chosen, amount=0)
        for action in Reclaim:
            self._reclaimed.add(action.value, amount=0)
            self._collected.add(action.value, amount=0)
        for name in ("reclaim", "evict"):
            self._reaction.begin(name)
        for cause in Woken:
            self._wakeups.add(cause.value, amount=0)
        for source in (*(kind.value for kind in SourceKind), OTHER_SOURCE):
            self._errors.add(source, amount=0)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        made = Counter(f"evictd_{name}", text, labels)
        self.kept.append(made)
        return made

    def _histogram(self, name: str, text: str, bounds: tuple[float, ...], *labels: str) -> Histogram:
        made = Histogram(f"evictd_{name}", text, bounds, labels)
        self.kept.append(made)
        return made

    def count_dropped_lines(self, writer: LogWriter) -> None:
        """Export the number of log lines that were dropped."""
        self._writer = writer

    def render(self) -> bytes:
        """Return the page in Prometheus' text format."""
        families = chain(gauges(self._published), process_metrics(), self.kept, self._dropped_lines())
        return "".join(line for family in families for line in family.lines()).encode()

    def _dropped_lines(self) -> Iterator[Counter]:
        text = "Log lines dropped because the reader of the log was slow or gone, or the log's disk was full"
        dropped = Counter("evictd_log_lines_dropped", text)
        if self._writer is not None:
            dropped.add(amount=self._writer.dropped)
            yield dropped

    def evicted(self, because: EvictionCause) -> None:
        """Count an eviction."""
        self._evictions.add(because.signal_label, because.reason.value)
        pressure = because.reason is EvictionReason.PRESSURE
        if pressure and because.usage is not None and because.request is not None and because.usage <= because.request:
            self._within.add(because.signal_label)

    def would_evict(self, because: EvictionCause) -> None:
        """Count an eviction that a dry run would have carried out."""
        self._dry_run.add(because.signal_label, because.reason.value)

    def evicted_by_kubelet(self, *, chosen: bool) -> None:
        """Count an eviction by the kubelet; `chosen`: evictd had chosen that pod before."""
        self._by_kubelet.add(_CHOSEN[chosen])

    def killed_by_kernel(self, count: int) -> None:
        """Count processes that the kernel killed for want of memory of the node."""
        self._by_kernel.add(amount=count)

    def repeated(self) -> None:
        """Count an eviction that is at least the third of its owner's pods within an hour."""
        self._repeated.add()

    def stats_age(self, signal: Signal, nanoseconds: int) -> None:
        """Observe the age of the statistics that an eviction was decided on."""
        self._stats_age.observe(nanoseconds / SECOND, signal.value)

    def reclaimed(self, outcomes: Iterable[ReclaimOutcome]) -> None:
        """Count what garbage collection freed."""
        for outcome in outcomes:
            self._reclaimed.add(outcome.action.value, amount=max(0, outcome.freed_bytes))
            self._collected.add(outcome.action.value, amount=outcome.removed)

    def cycle(self, nanoseconds: int) -> None:
        """Observe the duration of a cycle."""
        self._cycle.observe(nanoseconds / SECOND)

    def reaction(self, action: str, nanoseconds: int) -> None:
        """Observe the time from the crossing to `reclaim` or `evict`."""
        self._reaction.observe(nanoseconds / SECOND, action)

    def woken(self, cause: str) -> None:
        """Count the end of a wait."""
        self._wakeups.add(cause)

    def error(self, source: str) -> None:
        """Count an error. The label is the kind of its source: names of pods and containers would make ever more series."""
        self._errors.add(source_kind(source))
