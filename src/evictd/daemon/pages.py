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
from evictd.daemon.look import RUNTIME
from evictd.daemon.metrics import Metrics
from evictd.daemon.snapshot import Board
from evictd.daemon.status_page import status_document

_PATIENCE = 30 * SECOND
"""How much longer than its interval a cycle may take before the loop counts as stuck."""


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
            return "no cycle has ended yet"
        age = self.clock() - snapshot.at
        return "" if age <= self.interval() + _PATIENCE else f"the last cycle began {format_duration(age)} ago"

    def blind(self) -> str:
        """Say what it cannot see; empty while it sees the node and its pods."""
        snapshot = self.board.latest
        if snapshot is None:
            return "no cycle has ended yet"
        problem = next((p.detail for p in snapshot.observation.problems if p.source == RUNTIME), "")
        return problem or ("" if snapshot.observation.node is not None else "the node's numbers could not be read")


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
            return _unavailable("no cycle has ended yet")
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
