"""The numbers that Prometheus gets, read back from the page."""

from prometheus_client.parser import text_string_to_metric_families

from evictd.core.decision import Because, EvictionReason
from evictd.core.duration import MILLISECOND, SECOND
from evictd.core.observation import Reclaim, ReclaimOutcome
from evictd.core.signal import Signal
from evictd.daemon.metrics import Metrics
from evictd.daemon.snapshot import Board
from tests.daemon.world import GI, HARD, snapshot

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples(metrics: Metrics) -> Samples:
    families = text_string_to_metric_families(metrics.render().decode())
    return {(s.name, frozenset(s.labels.items())): s.value for family in families for s in family.samples}


def value(found: Samples, name: str, **labels: str) -> float | None:
    return found.get((name, frozenset(labels.items())))


def page(available: int) -> Samples:
    board = Board()
    board.latest = snapshot(available)
    return samples(Metrics(board))


def test_every_observed_signal_shows_what_is_left_of_what() -> None:
    found = page(4 * GI)
    assert value(found, "evictd_signal_available", eviction_signal="memory.available") == 4 * GI
    assert value(found, "evictd_signal_capacity", eviction_signal="memory.available") == 8 * GI
    assert value(found, "evictd_signal_threshold", eviction_signal="nodefs.available", kind="hard") == 50 * GI


def test_a_signal_that_is_not_observed_has_no_gauge_but_says_so() -> None:
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
    metrics = Metrics(Board())
    metrics.evicted(Because(reason=EvictionReason.PRESSURE, threshold=HARD))
    metrics.evicted(Because(reason=EvictionReason.EMPTY_DIR_LIMIT))
    found = samples(metrics)
    assert value(found, "evictd_evictions_total", eviction_signal="memory.available", reason="pressure") == 1
    assert value(found, "evictd_evictions_total", eviction_signal="emptydirfs.limit", reason="emptydirfs.limit") == 1


def test_the_age_of_stats_has_the_kubelet_s_buckets() -> None:
    metrics = Metrics(Board())
    metrics.stats_age(Signal.MEMORY_AVAILABLE, 3 * MILLISECOND)
    found = samples(metrics)
    buckets = {
        float(dict(labels)["le"]) for name, labels in found if name == "evictd_eviction_stats_age_seconds_bucket"
    }
    assert buckets == {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, float("inf")}
    assert value(found, "evictd_eviction_stats_age_seconds_bucket", eviction_signal="memory.available", le="0.005") == 1


def test_what_collectors_gave_back_is_counted_by_kind() -> None:
    metrics = Metrics(Board())
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
    metrics = Metrics(Board())
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
    assert value(samples(Metrics(Board())), "evictd_active_pods") is None


def test_two_daemons_in_one_process_do_not_share_numbers() -> None:
    first, second = Metrics(Board()), Metrics(Board())
    first.error("x")
    assert value(samples(second), "evictd_errors_total", source="x") is None
