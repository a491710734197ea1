"""Which pages are there, and what is behind each?

`/healthz` says whether the loop goes round, `/readyz` whether it also sees the node and its pods; both name what is
wrong.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from evictd.core.duration import SECOND, format_duration
from evictd.daemon import metrics
from evictd.daemon.http import Page, Pages, json_page
from evictd.daemon.metrics import Metrics
from evictd.daemon.snapshot import Board
from evictd.daemon.status_page import status_document

NOTHING_YET = "no cycle has ended yet"

_PATIENCE = 30 * SECOND
"""How much longer than its interval the loop may be silent before it counts as stuck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How the loop is, judged from outside."""

    board: Board
    clock: Callable[[], int]
    interval: Callable[[], int]

    def stuck(self) -> str:
        """Say why the loop counts as stuck; empty while it goes round."""
        snapshot = self.board.latest
        if snapshot is None:
            return NOTHING_YET
        # A slow runtime makes a cycle long, and that is not stuck.
        age = self.clock() - max(snapshot.at, self.board.alive_at)
        return (
            ""
            if age <= self.interval() + _PATIENCE
            else f"the loop has given no sign of life for {format_duration(age)}"
        )

    def blind(self) -> str:
        """Say what it cannot see; empty while it sees the node and its pods."""
        snapshot = self.board.latest
        return NOTHING_YET if snapshot is None else snapshot.blind


def pages(
    *,
    board: Board,
    metrics: Metrics,
    health: Health,
    clock: Callable[[], int],
    configuration: Callable[[], Mapping[str, Any]],
) -> Pages:
    """Give every page by its path."""

    def status() -> Page:
        if board.latest is None:
            return _unavailable(NOTHING_YET)
        return json_page(status_document(board.latest, clock()))

    return {
        "/healthz": lambda: _verdict(health.stuck()),
        "/readyz": lambda: _verdict(health.stuck() or health.blind()),
        "/metrics": lambda: _metrics(metrics),
        "/configz": lambda: json_page({"evictionconfig": configuration()}),
        "/statusz": status,
    }


def _metrics(source: Metrics) -> Page:
    return Page(body=source.render(), content_type=metrics.CONTENT_TYPE)


def _verdict(wrong: str) -> Page:
    return _unavailable(wrong) if wrong else Page(body=b"ok\n")


def _unavailable(why: str) -> Page:
    return Page(body=why.encode() + b"\n", status=HTTPStatus.SERVICE_UNAVAILABLE)
