"""The kubelet's evictions beside evictd's."""

import io
from dataclasses import replace

from rich.console import Console

from evictd.core.units.duration import SECOND
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.history.kubelet_comparison import (
    ChosenBy,
    compare_with_kubelet,
    kubelet_comparison_document,
    print_kubelet_comparison,
)


def event(kind: EventKind, pod: str, at: str) -> HistoryEvent:
    text = "the kubelet evicted it" if kind is EventKind.KUBELET else f"evict default/{pod}"
    return HistoryEvent(at=f"2026-01-01T00:{at}Z", kind=kind, text=text, pod=f"default/{pod}", uid=pod, dry_run=True)


def kubelet(pod: str, at: str, of: str | None = None, **evidence: object) -> HistoryEvent:
    """The kubelet's eviction, recorded at a time, and the time that the object has."""
    shown = {"at": "" if of is None else f"2026-01-01T00:{of}Z", "message": "low on memory"}
    return replace(event(EventKind.KUBELET, pod, at), evidence={**shown, **evidence})


EVENTS = (
    event(EventKind.EVICTED, "both", "01:00"),
    event(EventKind.EVICTED, "both", "01:10"),
    kubelet("both", "01:20", "01:12"),
    kubelet("missed", "02:00"),
    event(EventKind.EVICTED, "alone", "03:00"),
    event(EventKind.EVICTED, "stayed", "03:10"),
    event(EventKind.WITHDRAWN, "stayed", "03:20"),
)


def test_each_pod_is_one_row_with_the_time_of_both() -> None:
    rows = compare_with_kubelet(EVENTS)
    assert [(row.pod, row.chosen_by) for row in rows] == [
        ("default/both", ChosenBy.BOTH), ("default/missed", ChosenBy.ONLY_KUBELET), ("default/alone", ChosenBy.ONLY_EVICTD)
    ]  # fmt: skip
    assert (rows[0].lead, rows[1].lead) == (12 * SECOND, None)
    assert rows[1].kubelet_at == "2026-01-01T00:02:00Z"  # of the record: the object has none


def test_what_the_kubelet_did_before_evictd_was_there_is_left_out() -> None:
    """Between two runs it is compared: evictd was away for a restart, and the kubelet acted."""
    rows = compare_with_kubelet((kubelet("before", "01:00", "00:30", earlier=True), *EVENTS))
    assert [row.pod for row in rows if row.pod == "default/before"] == []
    rows = compare_with_kubelet((*EVENTS, kubelet("between", "09:00", "08:00", earlier=True)))
    assert rows[-1].pod == "default/between"


def test_the_table_ends_with_the_totals() -> None:
    out = io.StringIO()
    print_kubelet_comparison(compare_with_kubelet(EVENTS), Console(file=out, width=160))
    shown = out.getvalue()
    assert "only the kubelet  default/missed" in shown
    assert "would evict default/both" in shown
    assert (
        shown.splitlines()[-1]
        == "3 pods: 1 both, 1 only the kubelet, 1 only evictd; evictd chose 12s before the kubelet"
    )
    out = io.StringIO()
    print_kubelet_comparison((), Console(file=out))
    assert out.getvalue() == "neither the kubelet nor evictd chose a pod\n"


def test_a_pod_is_whole_on_a_terminal_of_80_columns() -> None:
    """The table cut its name, in its column and in the detail."""
    pod = "batch/nightly-report-aggregation-28459440-x7k2p"
    events = (replace(event(EventKind.EVICTED, "a", "01:00"), pod=pod, text=f"evict {pod} for memory.available"),)
    out = io.StringIO()
    print_kubelet_comparison(compare_with_kubelet(events), Console(file=out, width=80))
    lines = out.getvalue().splitlines()
    assert lines[:2] == [f"only evictd: {pod}", "    kubelet -, evictd 2026-01-01T00:01:00Z"]
    assert lines[2].startswith(f"    would evict {pod} for")
    assert max(map(len, lines)) <= 80
    for width in range(60, 200, 7):
        out = io.StringIO()
        print_kubelet_comparison(compare_with_kubelet(events), Console(file=out, width=width))
        assert out.getvalue().count(pod) == 2


def test_a_program_gets_the_counts_and_the_times() -> None:
    later = (kubelet("late", "05:00", "05:00"), event(EventKind.EVICTED, "late", "05:04"))
    document = kubelet_comparison_document(compare_with_kubelet((*EVENTS, *later)))
    assert document["counts"] == {"Both": 2, "OnlyKubelet": 1, "OnlyEvictd": 1}
    assert [each["evictdBeforeSeconds"] for each in document["evictions"]] == [12.0, None, None, -4.0]
    out = io.StringIO()
    print_kubelet_comparison(compare_with_kubelet((*EVENTS, *later)), Console(file=out, width=160))
    assert out.getvalue().endswith("4s before the kubelet in the median (from 12s before to 4s after)\n")
