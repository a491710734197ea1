"""The page of `evictd status`, as a terminal of 100 columns shows it."""

import io

import pytest
from rich.console import Console

from evictd.daemon.status_page import status_document
from evictd.offline.status_view import amount, seconds, status_view
from tests.daemon.world import GI, NOW, snapshot


def page(available: int) -> str:
    out = io.StringIO()
    Console(file=out, width=100).print(status_view(status_document(snapshot(available), NOW)))
    return out.getvalue()


def test_nothing_is_wider_than_a_hundred_columns_or_cut_off() -> None:
    for available in (4 * GI, GI + 1, GI // 2):
        shown = page(available)
        assert max(map(len, shown.splitlines())) <= 100
        assert "…" not in shown


def test_a_calm_node_shows_what_is_left_and_who_would_be_next() -> None:
    shown = page(4 * GI)
    assert "Watching" in shown
    assert "soft 2Gi  hard 1Gi" in shown
    assert "default/hog  uses 6Gi" in shown
    assert "○ MemoryPressure" in shown


def test_a_soft_threshold_counts_down() -> None:
    shown = page(GI + 1)
    assert "soft 2Gi in 1m30s" in shown
    assert "● MemoryPressure for 5m0s more" in shown


def test_a_signal_that_cannot_be_read_says_so() -> None:
    assert "cannot be read" in page(4 * GI)


@pytest.mark.parametrize(
    ("signal", "value", "text"),
    [
        ("memory.available", 3 * GI, "3Gi"),
        ("memory.available", 3 * GI + 123_456_789, "3.1Gi"),
        ("memory.available", -5, "-5"),
        ("nodefs.inodesFree", 123_456, "123k"),
        ("pid.available", 999, "999"),
        ("nodefs.available", 0, "0"),
    ],
)
def test_amounts_can_be_read_at_a_glance(signal: str, value: int, text: str) -> None:
    assert amount(signal, value) == text


@pytest.mark.parametrize(("number", "text"), [(0.0, "0.0s"), (9.5, "9.5s"), (90.2, "1m30s")])
def test_seconds_are_short(number: float, text: str) -> None:
    assert seconds(number) == text
