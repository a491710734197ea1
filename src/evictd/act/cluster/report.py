"""Writes conditions and taints to the node's object: sends the requests of `node_report`, and hands it the answers.

    look (GET node) -> detect (GET lease) -> conditions (PATCH status) -> taints (PATCH node)

`node_report` has the theory of operation; `taints` says which entries are evictd's.
"""

import threading
from collections.abc import Iterable

from evictd.act.cluster.conditions import ConditionReport, node_transition_events
from evictd.act.cluster.node_report import NodeReport, NodeRequest, ReportPhase, Rhythm
from evictd.act.cluster.request_queue import CONFLICT, Bell, Call, Clocks
from evictd.clients.kube.nodes import NodeClient
from evictd.config.settings import ClusterSettings
from evictd.core.model.decision import RecordEvent
from evictd.core.model.signal import NodeCondition
from evictd.errors import ApiRefusedError

NOT_FOUND = 404
KUBELET_RHYTHM = Rhythm()
PROBLEMS = {
    NodeRequest.LOOK: "look: {}",
    NodeRequest.DETECT: "the kubelet's lease cannot be read, the node's conditions are used: {}",
    NodeRequest.CONDITIONS: "conditions: {}",
    NodeRequest.TAINTS: "the node's taints could not be changed; tried again every minute: {}",
}
"""What is reported while a request is refused."""


class ClusterReporter:
    """Reports one node's conditions; a source of the request queue."""

    def __init__(
        self,
        client: NodeClient,
        clocks: Clocks,
        bell: Bell,
        settings: ClusterSettings,
        *,
        node_name: str,
        rhythm: Rhythm = KUBELET_RHYTHM,
    ) -> None:
        self._client = client
        self._clocks = clocks
        self._bell = bell
        self._node_name = node_name
        self._lock = threading.Lock()
        self._state = NodeReport(settings, rhythm)
        self._sent = NodeRequest.LOOK
        self._problems: dict[NodeRequest, str] = {}
        self._send = {
            NodeRequest.LOOK: self._look,
            NodeRequest.DETECT: self._detect,
            NodeRequest.CONDITIONS: self._write,
            NodeRequest.TAINTS: self._taint,
        }

    # --- from the loop ------------------------------------------------------------------------------------------------

    def report(self, conditions: Iterable[NodeCondition], now: int) -> tuple[RecordEvent, ...]:
        """Set the conditions that the node has from now on; return the events of what changed."""
        with self._lock:
            before, after = self._state.report(conditions, now)
        self._bell.notify()
        return node_transition_events(before, after, self._node_name)

    def heartbeat(self, now: int) -> None:
        """Renew what was reported where that is due; cheap enough for every cycle."""
        due = self.due_at(now)
        if due is not None and due <= now:
            self._bell.notify()

    def stop(self) -> None:
        """Set the final report before a stop.

        A calm node has every condition False, and no taint of evictd. Under pressure everything stays as it is for `VALID` more:
        the next evictd takes over without a gap, and `evictd cleanup` removes it where there is none.
        """
        self._end(ReportPhase.STOPPED)

    def suspend(self) -> None:
        """Take back every condition and taint, and write nothing more until the next `report`: a reload began a dry run.

        Else they would be renewed as they were at the reload for as long as the dry run lasts.
        """
        self._end(ReportPhase.SUSPENDED)

    def _end(self, phase: ReportPhase) -> None:
        with self._lock:
            ended = self._state.end(phase)
        if ended:
            self._bell.notify()

    @property
    def pending(self) -> bool:
        """Whether the API server does not show what was reported yet; also while the types are not determined."""
        with self._lock:
            return self._state.pending

    @property
    def shown(self) -> ConditionReport | None:
        """The last report that the API server accepted."""
        return self._state.written

    @property
    def kubelet(self) -> bool | None:
        """Whether a kubelet reports on this node, as last seen; `None` until it was found out."""
        return self._state.kubelet.reports

    @property
    def kubelet_version(self) -> str:
        """The node's `kubeletVersion`, as last read; empty before that."""
        node = self._state.node
        return "" if node is None else node.kubelet_version

    @property
    def problems(self) -> tuple[str, ...]:
        """The requests that the credential may not make or the server refuses, until they succeed again."""
        with self._lock:
            return tuple(self._problems.values())

    def confirmed_kubelet(self) -> bool | None:
        """Whether a kubelet reports, for the choice of a method: `None` while the lease is read again, if that was long ago.

        If a kubelet has ended since, a deleted pod would never finish. If one has started, it would restart a pod whose status
        was written. The second case mends itself, so evictd does not wait for it without an answer.
        """
        now = self._clocks.now()
        with self._lock:
            before = self._state.kubelet
            confirmed = self._state.confirmed_kubelet(now)
            asked = self._state.kubelet is not before
        if asked:
            self._bell.notify()
        return confirmed

    # --- a source of the request queue -----------------------------------------------------------------------------------------

    def call(self, now: int) -> Call | None:
        """Return the next request that is due, if any."""
        with self._lock:
            request = self._state.next_request(now)
        if request is None:
            return None
        self._sent = request

        def send() -> None:
            self._send[request](now)
            with self._lock:
                self._problems.pop(request, None)
            self._bell.notify()  # an eviction may wait for this answer

        return send

    def due_at(self, now: int, /) -> int | None:
        """The next look or write."""
        with self._lock:
            return self._state.due_at(now)

    def refused(self, error: ApiRefusedError, now: int) -> None:
        """Continue without the forbidden parts, and report each once."""
        with self._lock:
            self._problems[self._sent] = PROBLEMS[self._sent].format(error)
            if self._sent is NodeRequest.DETECT:
                self._state.lease_read(None, self._clocks.wall(), self._clocks.now())
            else:
                self._state.refused(self._sent, now, gone=error.status == NOT_FOUND)
        self._bell.notify()

    def _look(self, now: int) -> None:
        node = self._client.get()
        with self._lock:
            self._state.node_read(node, now)

    def _detect(self, _now: int) -> None:
        lease = self._client.lease()
        with self._lock:
            self._state.lease_read(lease, self._clocks.wall(), self._clocks.now())

    def _write(self, now: int) -> None:
        with self._lock:
            wanted = self._state.wanted
            if wanted is None:
                return
            conditions = self._state.conditions(wanted, self._clocks.wall())
        node = self._client.patch_conditions(conditions)
        with self._lock:
            self._state.conditions_written(wanted, node, now, spread=0.8 + 0.4 * self._clocks.random())

    def _taint(self, now: int) -> None:
        with self._lock:
            taints, node = self._state.taints, self._state.node
        if taints is None or node is None:
            return
        try:
            node = self._client.replace_taints(node, taints)
        except ApiRefusedError as error:
            if error.status != CONFLICT:
                raise
            with self._lock:
                self._state.taint_retry.conflicted(now)
            return
        with self._lock:
            self._state.taints_written(node)
