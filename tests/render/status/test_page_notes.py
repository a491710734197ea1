"""The findings that the page lists."""

from evictd.render.status.page.page_notes import folded_notes
from tests.daemon.status import status_of
from tests.render.shown_nodes import calm, page
from tests.render.snapshots import incident_snapshot


def test_a_finding_of_several_signals_stands_once() -> None:
    notes = ["memory.available: waiting", "memory.available: waiting", "pid.available: waiting", "ntp: slow"]
    assert folded_notes(notes, status_of(calm(), calm().at)) == [
        "memory.available, pid.available: waiting",
        "ntp: slow",
    ]


def test_pods_that_are_skipped_for_one_reason_share_a_line() -> None:
    """Eight lines differed in the number of a replica only."""
    text = page(incident_snapshot("20-fork-bomb", 58.5), 0)
    assert text.count("is skipped") + text.count("are each skipped") == 1
    assert (
        "pid.available: default/web-0, default/web-1, default/web-2 and 5 more (8 pods) are each skipped: its end would free too"
        in text
    )
    its = "a disruption budget refused its eviction"
    one = ["pid.available: default/a is skipped: x", f"default/b is skipped: {its}", f"default/c is skipped: {its}"]
    assert folded_notes(one, status_of(calm(), calm().at)) == [
        "pid.available: default/a is skipped: x",
        f"default/b, default/c are each skipped: {its}",
    ]


def test_a_reason_that_holds_for_a_derived_signal_too_is_said_once() -> None:
    text = page(incident_snapshot("02-host-path-writer", 373), 0)
    assert text.count("and the last two evictions left no more available; ") == 1
    assert text.count("default/writer is skipped") == 1
