"""Makes the pages that the daemon serves.

`/healthz` tells whether the loop runs, `/readyz` whether it also observes the node and its pods and the API server accepts its
credentials; both name what is missing.
"""

from collections.abc import Callable
from http import HTTPStatus

from evictd.codec.config.eviction_config import encode_eviction_config
from evictd.codec.times import rfc3339
from evictd.core.units.duration import SECOND, format_duration
from evictd.daemon.configuration import Configuration
from evictd.daemon.telemetry import http, metrics
from evictd.daemon.telemetry.http import Page, json_page
from evictd.daemon.telemetry.metrics import Metrics
from evictd.daemon.telemetry.snapshot import LatestSnapshot, Snapshot
from evictd.daemon.telemetry.statusz.status_page import snapshot_view, status_document
from evictd.daemon.telemetry.trends import drawn_readings
from evictd.errors import NOTHING_YET
from evictd.render.node_view import NodeView, explanation_document
from evictd.render.status.headline import OwnFault, headline
from evictd.render.status.own_faults import OwnFaultKind, tests_thresholds
from evictd.render.status.page.node_page import CONTENT_SECURITY_POLICY, asset, node_page
from evictd.render.status.times.depletion import depletions

_STUCK_AFTER = 30 * SECOND
"""Time beyond the housekeeping interval without a sign of life after which the loop counts as stuck."""


class Pages:
    """The pages; `clock` is the boot-time clock in nanoseconds, `may_kill` whether evictd may kill pods without the runtime."""

    def __init__(
        self,
        published: LatestSnapshot,
        metrics: Metrics,
        configuration: Configuration,
        clock: Callable[[], int],
        *,
        may_kill: Callable[[], bool | None] = lambda: None,
    ) -> None:
        self._published = published
        self._metrics = metrics
        self._configuration = configuration
        self._clock = clock
        self._may_kill = may_kill

    def by_path(self) -> http.PageTable:
        """Return every page by its path."""
        return {
            "/healthz": lambda: _verdict(self.stuck()),
            "/readyz": lambda: _verdict(self.stuck() or self._published.unready),
            "/metrics": lambda: Page(body=self._metrics.render(), content_type=metrics.CONTENT_TYPE),
            "/configz": lambda: json_page(self._config()),
            "/statusz": self._status,
            "/explainz": self._explain,
            "/": self._node,
            "/page.css": lambda: Page(body=asset("page.css"), content_type="text/css; charset=utf-8"),
            "/page.js": lambda: Page(body=asset("page.js"), content_type="text/javascript; charset=utf-8"),
            "/icon.svg": lambda: Page(body=asset("icon.svg"), content_type="image/svg+xml"),
        }

    def health(self) -> http.PageTable:
        """Return `/healthz` and `/readyz` without their reasons, for an address that other hosts can reach.

        `/startz` says only that it is evictd that serves there: a startup probe of it keeps a liveness probe from asking a
        program that has taken the port, and so from restarting an evictd that works.
        """
        return {
            "/startz": lambda: Page(body=b"ok\n"),
            "/healthz": lambda: _verdict("unavailable" if self.stuck() else ""),
            "/readyz": lambda: _verdict("unavailable" if self.stuck() or self._published.unready else ""),
        }

    def stuck(self) -> str:
        """Why the loop counts as stuck; empty while it runs."""
        snapshot = self._published.latest
        if snapshot is None:
            return NOTHING_YET
        # A slow runtime makes a cycle long, and such a loop is not stuck.
        age = self._clock() - max(snapshot.at, self._published.alive_at)
        if age <= self._configuration.settings.evictd.housekeeping_interval + _STUCK_AFTER:
            return ""
        return f"the loop has given no sign of life for {format_duration(age)}"

    def _config(self) -> dict[str, object]:
        """Return the settings that decide, the arguments by which `explain` finds the other ones, and where the journal is."""
        settings = self._configuration.settings
        return {
            "evictionconfig": encode_eviction_config(settings.eviction),
            "arguments": list(self._configuration.arguments),
            "stateDirectory": str(settings.evictd.state_directory),
        }

    def _status(self) -> Page:
        if self._published.latest is None:
            return _unavailable(NOTHING_YET)
        snapshot = self._published.latest
        document, faults = self._status_document(snapshot, snapshot_view(snapshot)), self._faults(snapshot)
        falls = depletions(document) if tests_thresholds(each.kind for each in faults) else {}
        state = headline(document, faults, falls)
        return json_page(
            {
                **document,
                "headline": {"text": state.text, "level": state.level},
                "faults": [each.kind.value for each in faults],
            }
        )

    def _status_document(self, snapshot: Snapshot, view: NodeView) -> dict[str, object]:
        fault = self._published.reload_fault
        return status_document(view, snapshot, self._clock(), reload_fault=fault)

    def _explain(self) -> Page:
        if self._published.latest is None:
            return _unavailable(NOTHING_YET)
        return json_page(explanation_document(snapshot_view(self._published.latest), rows=None))

    def _node(self) -> Page:
        """Make the page for people. The pods are ranked once, with the numbers of the last cycle."""
        snapshot = self._published.latest
        if snapshot is None:
            return _unavailable(NOTHING_YET)
        view = snapshot_view(snapshot)
        body = node_page(
            self._status_document(snapshot, view),
            explanation_document(view, rows=None),
            drawn_readings(snapshot.trends, now=self._clock()),
            faults=self._faults(snapshot),
        )
        return Page(
            body=body,
            content_type="text/html; charset=utf-8",
            headers={"Content-Security-Policy": CONTENT_SECURITY_POLICY, "Referrer-Policy": "no-referrer"},
        )

    def _faults(self, snapshot: Snapshot) -> list[OwnFault]:
        """Return what keeps evictd from its work, the gravest first."""
        seen = snapshot.observation
        unseen = (
            OwnFaultKind.NODE if seen.node is None else OwnFaultKind.LISTED_PODS if seen.pods else OwnFaultKind.PODS
        )
        alive = snapshot.wall + max(self._published.alive_at - snapshot.at, 0)
        found = (
            (OwnFaultKind.STUCK, self.stuck(), alive),
            (unseen, snapshot.blind, snapshot.blind_since),
            (OwnFaultKind.CREDENTIALS, snapshot.rejected, snapshot.rejected_since),
        )
        return [
            OwnFault(kind, detail, "" if since is None else rfc3339(since), self._may_kill())
            for kind, detail, since in found
            if detail
        ]


def _verdict(fault: str) -> Page:
    return _unavailable(fault) if fault else Page(body=b"ok\n")


def _unavailable(why: str) -> Page:
    return Page(body=why.encode() + b"\n", status=HTTPStatus.SERVICE_UNAVAILABLE)
