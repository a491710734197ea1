"""Prometheus' text format, read back with Prometheus' own parser."""

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from evictd.daemon.telemetry.exposition import Counter, Gauge, Histogram, process_metrics

HOSTILE = 'a"b\\n\n}, 1\\'


def read(families: Iterable[Gauge | Counter | Histogram]) -> dict[str, tuple[str, str, list[Any]]]:
    text = "".join(line for family in families for line in family.lines())
    return {
        each.name: (each.type, each.documentation, [(one.name, one.labels, one.value) for one in each.samples])
        for each in text_string_to_metric_families(text)
    }


def test_a_gauge_has_a_sample_for_each_value_of_its_labels() -> None:
    gauge = Gauge("used", "Amount\nused", ["kind"], {("a",): 0.5, (HOSTILE,): True})
    assert read([gauge])["used"] == (
        "gauge",
        "Amount\nused",
        [("used", {"kind": "a"}, 0.5), ("used", {"kind": HOSTILE}, 1)],
    )


def test_a_counter_adds_up_and_begins_at_zero() -> None:
    counter = Counter("seen", "Seen", ["kind"])
    counter.add("a", amount=0)
    counter.add("b")
    counter.add("b", amount=2)
    assert read([counter])["seen"] == (
        "counter",
        "Seen",
        [("seen_total", {"kind": "a"}, 0), ("seen_total", {"kind": "b"}, 3)],
    )
    assert read([Counter("plain", "Plain")])["plain"][2] == [("plain_total", {}, 0)]


def test_a_histogram_counts_what_is_at_most_a_bound() -> None:
    histogram = Histogram("took", "Took", (0.1, 1))
    for value in (0.1, 0.11, 5):
        histogram.observe(value)
    assert read([histogram])["took"] == (
        "histogram",
        "Took",
        [
            ("took_bucket", {"le": "0.1"}, 1),
            ("took_bucket", {"le": "1.0"}, 2),
            ("took_bucket", {"le": "+Inf"}, 3),
            ("took_count", {}, 3),
            ("took_sum", {}, 5.21),
        ],
    )


def test_no_count_of_another_thread_is_lost() -> None:
    counter, histogram = Counter("seen", "Seen", ["kind"]), Histogram("took", "Took", (1,), ["kind"])

    def feed() -> None:
        for number in range(1000):
            counter.add(str(number % 7))
            histogram.observe(1, str(number % 7))

    threads = [threading.Thread(target=feed) for _ in range(4)]
    for each in threads:
        each.start()
    while any(each.is_alive() for each in threads):
        read([counter, histogram])
    samples = [*read([counter])["seen"][2], *read([histogram])["took"][2]]
    totals = [value for name, _, value in samples if name in {"seen_total", "took_count"}]
    assert sum(totals) == 8000


def test_the_metrics_of_the_process_are_of_their_usual_types() -> None:
    found = read(process_metrics())
    assert {name: kind for name, (kind, _, _) in found.items()} == {
        "process_cpu_seconds": "counter",
        "process_virtual_memory_bytes": "gauge",
        "process_resident_memory_bytes": "gauge",
        "process_start_time_seconds": "gauge",
        "process_open_fds": "gauge",
        "process_max_fds": "gauge",
    }


def test_where_proc_cannot_be_read_there_are_none(tmp_path: Path) -> None:
    assert list(process_metrics(tmp_path)) == []
