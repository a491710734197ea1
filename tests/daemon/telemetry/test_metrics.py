"""The Prometheus metrics, read back from the page."""

import ast
from collections.abc import Iterator
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

import evictd
from evictd.core.model.decision import EvictionCause, EvictionReason
from evictd.core.model.observation import Reclaim, ReclaimOutcome
from evictd.core.model.signal import Signal
from evictd.core.units.duration import MILLISECOND, SECOND
from evictd.core.units.quantity import of_bytes
from evictd.daemon.telemetry.metrics import Metrics
from evictd.daemon.telemetry.snapshot import LatestSnapshot
from evictd.errors import source_kind
from tests.daemon.world import GI, HARD, snapshot

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples(metrics: Metrics) -> Samples:
    families = text_string_to_metric_families(metrics.render().decode())
    return {(s.name, frozenset(s.labels.items())): s.value for family in families for s in family.samples}


def value(found: Samples, name: str, **labels: str) -> float | None:
    return found.get((name, frozenset(labels.items())))


def page(available: int) -> Samples:
    published = LatestSnapshot()
    published.latest = snapshot(available)
    return samples(Metrics(published))


def test_every_observed_signal_shows_what_is_left_of_what() -> None:
    found = page(4 * GI)
    assert value(found, "evictd_signal_available", eviction_signal="memory.available") == 4 * GI
    assert value(found, "evictd_signal_capacity", eviction_signal="memory.available") == 8 * GI
    assert value(found, "evictd_signal_threshold", eviction_signal="nodefs.available", kind="hard") == 50 * GI


def test_a_signal_that_is_not_observed_is_marked_and_has_no_gauge() -> None:
    found = page(4 * GI)
    assert value(found, "evictd_signal_available", eviction_signal="pid.available") is None
    assert value(found, "evictd_signal_unavailable", eviction_signal="pid.available") == 1


def test_grace_left_and_conditions_show_while_a_threshold_is_met() -> None:
    found = page(GI + 1)
    soft = {"eviction_signal": "memory.available", "kind": "soft"}
    assert value(found, "evictd_threshold_met", **soft) == 1
    assert value(found, "evictd_threshold_grace_left_seconds", **soft) == 90
    assert value(found, "evictd_node_condition", condition="MemoryPressure") == 1
    assert value(found, "evictd_node_condition", condition="DiskPressure") == 0
    calm = page(4 * GI)
    assert value(calm, "evictd_threshold_grace_left_seconds", **soft) is None


def test_exactly_one_phase_is_the_present_one() -> None:
    found = page(GI // 2)
    phases = [number for (name, _), number in found.items() if name == "evictd_phase"]
    assert sorted(phases) == [0, 0, 1]
    assert value(found, "evictd_phase", phase="CleaningUp") == 1


def test_evictions_are_counted_by_signal_and_reason_as_the_kubelet_does() -> None:
    metrics = Metrics(LatestSnapshot())
    metrics.evicted(EvictionCause(reason=EvictionReason.PRESSURE, threshold=HARD))
    metrics.evicted(EvictionCause(reason=EvictionReason.EMPTY_DIR_LIMIT))
    found = samples(metrics)
    assert value(found, "evictd_evictions_total", eviction_signal="memory.available", reason="pressure") == 1
    assert value(found, "evictd_evictions_total", eviction_signal="emptydirfs.limit", reason="emptydirfs.limit") == 1


def test_evictions_of_pods_within_their_requests_are_counted() -> None:
    metrics = Metrics(LatestSnapshot())
    for usage, request in ((5, 4), (4, 4), (1, 4)):
        cause = EvictionCause(
            reason=EvictionReason.PRESSURE, threshold=HARD, usage=of_bytes(usage), request=of_bytes(request)
        )
        metrics.evicted(cause)
    metrics.evicted(EvictionCause(reason=EvictionReason.PRESSURE, threshold=HARD))
    found = samples(metrics)
    assert value(found, "evictd_evictions_within_request_total", eviction_signal="memory.available") == 2


def test_the_age_of_stats_has_the_kubelet_s_buckets() -> None:
    metrics = Metrics(LatestSnapshot())
    metrics.stats_age(Signal.MEMORY_AVAILABLE, 3 * MILLISECOND)
    found = samples(metrics)
    buckets = {
        float(dict(labels)["le"]) for name, labels in found if name == "evictd_eviction_stats_age_seconds_bucket"
    }
    assert buckets == {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, float("inf")}
    assert value(found, "evictd_eviction_stats_age_seconds_bucket", eviction_signal="memory.available", le="0.005") == 1


def test_what_collectors_gave_back_is_counted_by_kind() -> None:
    metrics = Metrics(LatestSnapshot())
    metrics.reclaimed(
        [
            ReclaimOutcome(action=Reclaim.IMAGES, freed_bytes=5, removed=2),
            ReclaimOutcome(action=Reclaim.CONTAINERS, freed_bytes=-1),
        ]
    )
    found = samples(metrics)
    assert value(found, "evictd_reclaimed_bytes_total", kind="images") == 5
    assert value(found, "evictd_reclaimed_objects_total", kind="images") == 2
    assert value(found, "evictd_reclaimed_bytes_total", kind="containers") == 0


def test_times_errors_and_wake_ups_are_kept() -> None:
    metrics = Metrics(LatestSnapshot())
    metrics.cycle(7 * MILLISECOND)
    metrics.reaction("evict", SECOND)
    metrics.woken("memory")
    metrics.error("journal")
    found = samples(metrics)
    assert value(found, "evictd_cycle_duration_seconds_sum") == 0.007
    assert value(found, "evictd_reaction_seconds_count", action="evict") == 1
    assert value(found, "evictd_wakeups_total", cause="memory") == 1
    assert value(found, "evictd_errors_total", source="journal") == 1


def test_before_the_first_cycle_the_page_is_short_but_whole() -> None:
    assert value(samples(Metrics(LatestSnapshot())), "evictd_active_pods") is None


def test_two_daemons_in_one_process_do_not_share_numbers() -> None:
    first, second = Metrics(LatestSnapshot()), Metrics(LatestSnapshot())
    first.error("x")
    assert value(samples(second), "evictd_errors_total", source="x") is None


def test_errors_are_labelled_by_kind_and_never_by_name() -> None:
    """Names of pods and containers made 40,000 series of it."""
    metrics = Metrics(LatestSnapshot())
    for number in range(500):
        for source in (
            f"cgroup of default/web-{number}",
            f"memory of container {number:012}",
            f"stopping pod uid-{number}",
            f"sandbox '{number:012}'",
            f"container '{number:012}'",
            f"made up by a pod {number}",
        ):
            metrics.error(source)
    metrics.error("container runtime")
    metrics.error("nodefs: inodes")
    metrics.error("apiserver/pods")
    found = {
        labels["source"]: amount
        for name, labels, amount in counted(metrics)
        if name == "evictd_errors_total" and amount
    }
    kinds = {"cgroup of", "memory of container", "stopping pod", "sandbox", "container", "other"}
    assert found == dict.fromkeys(kinds, 500) | {"container runtime": 1, "nodefs": 1, "apiserver": 1}


def counted(metrics: Metrics) -> list[tuple[str, dict[str, str], float]]:
    families = text_string_to_metric_families(metrics.render().decode())
    return [(each.name, dict(each.labels), each.value) for family in families for each in family.samples]


def test_a_reload_that_was_refused_is_a_metric_until_the_next_good_one() -> None:
    published = LatestSnapshot()
    metrics = Metrics(published)
    seen = []
    for fault in ("", "nothing is changed", ""):
        published.reload_fault = fault
        seen.append(value(samples(metrics), "evictd_config_last_reload_successful"))
    assert seen == [1, 0, 1]


REPORTERS = {"Problem", "add", "report_error", "ErrorBackoff", "submit"}
"""Names of the calls whose first argument, or argument `source`, is the source of an error or a problem."""


def sources(path: Path) -> Iterator[str]:
    """Find the literal sources in a file; of a formatted one the text before the first value."""
    for call in (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        named = [keyword.value for keyword in call.keywords if keyword.arg == "source"]
        for argument in (named or call.args[:1]) if name in REPORTERS else ():
            first = argument.values[0] if isinstance(argument, ast.JoinedStr) else argument
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value


def test_every_source_in_the_code_has_a_kind() -> None:
    """An error of a source without one would be counted as `other`."""
    folder = Path(evictd.__file__).parent
    found = {source for path in folder.rglob("*.py") if path.parent.name != "demo" for source in sources(path)}
    assert len(found) > 20
    assert {source for source in found if source_kind(f"{source}x") == source_kind(source) == "other"} == set()


def test_every_counter_exists_from_the_start_and_none_has_its_time_of_creation() -> None:
    """`increase()` over a series that appears with its first count is 0, so an alert would miss it."""
    found = counted(Metrics(LatestSnapshot()))
    series = {(name, tuple(sorted(labels.items()))): amount for name, labels, amount in found}
    assert series[("evictd_evictions_total", (("eviction_signal", "memory.available"), ("reason", "pressure")))] == 0
    assert (
        series[("evictd_evictions_total", (("eviction_signal", "emptydirfs.limit"), ("reason", "emptydirfs.limit")))]
        == 0
    )
    assert series[("evictd_errors_total", (("source", "perform"),))] == 0
    assert series[("evictd_reclaimed_bytes_total", (("kind", "images"),))] == 0
    assert series[("evictd_wakeups_total", (("cause", "memory"),))] == 0
    assert not [name for name, _ in series if name.endswith("_created")]


def test_the_process_and_the_build_are_metrics() -> None:
    found = {name: (labels, amount) for name, labels, amount in counted(Metrics(LatestSnapshot()))}
    assert found["process_resident_memory_bytes"][1] > 0
    assert found["process_open_fds"][1] > 0
    assert found["evictd_build_info"][0]["version"] == evictd.__version__
