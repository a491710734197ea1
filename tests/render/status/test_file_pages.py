"""What is said before a soft memory threshold that will wait, because the kernel can drop file pages."""

from dataclasses import replace
from typing import Any

import pytest

from evictd.render.status.headline import headline
from evictd.render.status.remedy.file_pages import fills_with_pages, goes_despite_pages
from evictd.render.status.remedy.remedies import to_do
from evictd.render.status.stopped import stop_text
from evictd.render.status.times.timing import time_lines
from tests.daemon.status import status_of
from tests.render.snapshots import incident_snapshot

GI = 1 << 30
WAITS = "; 2.93Gi of what is used is file pages, which the kernel can drop, so that threshold waits until tasks stall"


def reading() -> dict[str, Any]:
    """The status of a node on which a pod reads a large file (world 36)."""
    snapshot = incident_snapshot("36-file-reader", 30)
    return status_of(snapshot, snapshot.at)


def test_that_the_threshold_waits_is_said_before_it_is_met() -> None:
    """The page said that the pod would be evicted, and to end it; at the threshold evictd evicts none (world 36)."""
    status = reading()
    soft = "memory.available reaches its soft threshold 2Gi in 9.6s at the present rate"
    said = headline(status).text
    assert said == f"{soft}{WAITS}. default/reader would be evicted in about 28s, at the hard threshold 200Mi."
    assert next(time_lines(status)) == f"{soft}{WAITS}"
    assert to_do(status).startswith("set `memory.formula: MemAvailable`, which does not count page cache")


def test_without_a_hard_threshold_no_pod_is_named() -> None:
    status = reading()
    (memory,) = (each for each in status["signals"] if each["signal"] == "memory.available")
    memory["thresholds"] = [each for each in memory["thresholds"] if each["kind"] == "soft"]
    assert headline(status).text.endswith(f"{WAITS}.")


@pytest.mark.parametrize(
    ("waits", "pages", "grown", "fills"),
    [(GI, GI, GI, True), (None, GI, GI, False), (GI, None, GI, False), (GI, GI // 2, 2 * GI, False)],
)
def test_only_a_pod_that_grew_by_file_pages_is_left_alone(
    waits: int | None, pages: int | None, grown: int, *, fills: bool
) -> None:
    """A leak beside a page cache is still to be ended, though the soft threshold waits until memory is short."""
    growing = {"pods": [{"pod": "default/reader", "grown": grown, "filePages": pages, "protected": ""}]}
    assert fills_with_pages({"waitsForPages": waits, "growing": growing}) is fills
    assert not fills_with_pages({"waitsForPages": waits, "growing": None})


def test_the_pod_that_goes_at_the_hard_threshold_is_named_while_the_soft_one_waits() -> None:
    """`No pod would be evicted` stood beside a hard threshold that was met 9s later, and evicted the reader (world 37)."""
    falls, slows = (incident_snapshot("37-control-thrashing-reader", seconds) for seconds in (50, 60))
    status = status_of(falls, falls.at)
    hard = "memory.available reaches its hard threshold 200Mi in 8.6s at the present rate"
    acts = "before its soft threshold acts (in 20s)"
    assert headline(status).text == f"{hard}, {acts}. default/reader would be evicted then."
    (memory,) = (each for each in status["signals"] if each["signal"] == "memory.available")
    at_hard = "t the hard threshold default/reader would be evicted"
    assert stop_text(status, memory).endswith(f"so only a hard threshold evicts a pod until tasks stall; a{at_hard}")
    (_, soft) = memory["thresholds"]
    soft["graceLeftSeconds"] = 5.0
    assert goes_despite_pages(memory) == (
        "default/reader would be evicted in about 8.6s, at the hard threshold 200Mi, or when tasks stall: only page cache holds "
        "the soft threshold met"
    )
    assert headline(status_of(slows, slows.at)).text.endswith(
        "No pod would be evicted until tasks stall: MemAvailable is 5.79Gi, above the 2Gi wanted; only page cache holds the "
        f"threshold met. A{at_hard}."
    )


def test_without_a_hard_threshold_a_soft_one_that_waits_names_no_pod() -> None:
    falls = incident_snapshot("37-control-thrashing-reader", 50)
    soft = tuple(each for each in falls.config.thresholds if not each.hard)
    status = status_of(replace(falls, config=replace(falls.config, thresholds=soft)), falls.at)
    assert headline(status).text.endswith("above the 2Gi wanted; only page cache holds the threshold met.")
