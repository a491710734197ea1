"""Conditions and taints on the node's object: written at once when they change, and kept right from then on.

Only the latest state counts: while the server is away changes pile up to nothing. Calm, one patch every report period
(5 minutes, the kubelet's `nodeStatusReportFrequency`); under pressure the object is looked at every
`nodeStatusUpdateFrequency` and written again if somebody changed our words, and every minute to renew how long they hold.
Taints go with evictd's own types only, and end for good where the credential may not write them.
"""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from evictd.act.cluster.conditions import TAINTS, Report, Types, transition_events
from evictd.act.cluster.outbox import Call
from evictd.clients.kube.nodes import NO_SCHEDULE, Node, NodeClient, kubelet_reports
from evictd.core.decision import RecordEvent
from evictd.core.duration import MINUTE, SECOND
from evictd.core.signal import NodeCondition
from evictd.errors import ApiRefusedError

RENEW = MINUTE
"""How often a True condition is written again; a third of how long it says that it holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """How often the node's object is looked at under pressure, and written on a calm node."""

    update: int = 10 * SECOND
    report: int = 5 * MINUTE


KUBELET_RHYTHM = Rhythm()


class ClusterReporter:
    """Reports one node's conditions; a lane of the outbox.

    `types` is `None` for Auto: own types where a kubelet reports, found out at the start and with every calm heartbeat.
    `wall` gives nanoseconds since the epoch.
    """

    def __init__(
        self,
        client: NodeClient,
        node_name: str,
        *,
        types: Types | None,
        taints: bool,
        wall: Callable[[], int],
        stir: Callable[[], None],
        rhythm: Rhythm = KUBELET_RHYTHM,
        jitter: Callable[[], float] = lambda: 0.5,
    ) -> None:
        self._client = client
        self._node_name = node_name
        self._asked = types
        self._taints = taints
        self._wall = wall
        self._stir = stir
        self._rhythm = rhythm
        self._jitter = jitter
        self._lock = threading.Lock()
        self._types = types
        self._active: frozenset[NodeCondition] | None = None
        self._stopped = False
        self._looked_for_kubelet = False
        self._leaving: Types | None = None
        self._told: Report | None = None
        self._written: Report | None = None
        self._node: Node | None = None
        self._doing = ""
        self._next_look = 0
        self._next_write = 0
        self._quiet_until = 0
        self._untainted = False
        self.kubelet: bool | None = None
        """Whether a kubelet reports on this node; `None` until it was found out."""
        self._problems: dict[str, str] = {}

    # --- from the loop ------------------------------------------------------------------------------------------------

    def report(self, conditions: Iterable[NodeCondition], now: int) -> tuple[RecordEvent, ...]:
        """Say which conditions the node has from now on, and give the events that go with it."""
        with self._lock:
            self._active = frozenset(conditions)
            self._stopped = False
            self._next_write = min(self._next_write, now)
            report = Report(types=self._types or Types.OWN, active=self._active)
            before, self._told = self._told, report
        self._stir()
        return transition_events(before, report, self._node_name)

    def heartbeat(self, now: int) -> None:
        """Keep what was said right; cheap enough for every cycle."""
        due = self.due_at(now)
        if due is not None and due <= now:
            self._stir()

    def clear(self) -> None:
        """Take back what was said: every condition False, no taint of ours. For a clean stop."""
        with self._lock:
            if self._active is None:
                return
            self._active, self._stopped = frozenset(), True
        self._stir()

    @property
    def pending(self) -> bool:
        """Whether something was said that the API server does not show yet; also while the types are still to be found out."""
        with self._lock:
            if self._active is None:
                return False
            return self._types is None or self._written != self._wanted() or self._taint_change() is not None

    @property
    def shown(self) -> Report | None:
        """What the API server was last told with success."""
        return self._written

    @property
    def problems(self) -> tuple[str, ...]:
        """What the credential may not do, or the server refuses, until the same has worked again."""
        with self._lock:
            return tuple(self._problems.values())

    # --- a lane of the outbox -----------------------------------------------------------------------------------------

    def call(self, now: int) -> Call | None:
        """Read the node first and find out about a kubelet, then write conditions, then taints, else look after them."""
        with self._lock:
            wanted = self._wanted()
            if self._active is None or now < self._quiet_until:
                return None
            if self._node is None:
                return self._named("look", lambda: self._look(now))
            if wanted is None:
                return self._named("detect", self._detect)
            if self._written != wanted or now >= self._next_write:
                calm = self._written == wanted and not self._active
                if calm and self._asked is None and not self._looked_for_kubelet:
                    return self._named("detect", self._detect)
                return self._named("conditions", lambda: self._write(now))
            if self._taint_change() is not None:
                return self._named("taints", self._taint)
            if self._active and now >= self._next_look:
                return self._named("look", lambda: self._look(now))
            return None

    def due_at(self, _now: int, /) -> int | None:
        """The next look or write."""
        with self._lock:
            if self._active is None or (self._stopped and self._written == self._wanted()):
                return None
            due = min(self._next_write, self._next_look) if self._active else self._next_write
            return max(due, self._quiet_until)

    def refused(self, error: ApiRefusedError, now: int) -> None:
        """Do without what is forbidden, and say so once."""
        with self._lock:
            if self._doing == "taints":
                self._untainted = True
                self._problems["taints"] = f"taints are off: {error}"
            elif self._doing == "detect":
                self._decide(None, known=False)
                self._problems["detect"] = f"whether a kubelet runs is told by the node's conditions: {error}"
            else:
                self._problems[self._doing] = f"{self._doing}: {error}"
                self._quiet_until = now + RENEW  # the node may not be registered yet, or a role not be bound

    def _named(self, doing: str, call: Call) -> Call:
        self._doing = doing

        def named() -> None:
            call()
            with self._lock:
                self._problems.pop(doing, None)

        return named

    def _wanted(self) -> Report | None:
        if self._active is None or self._types is None:
            return None
        return Report(types=self._types, active=self._active, stopped=self._stopped)

    def _detect(self) -> None:
        age = self._client.lease_age_seconds()
        with self._lock:
            self._decide(age, known=True)

    def _decide(self, lease_age: float | None, *, known: bool) -> None:
        """Choose the types by whether a kubelet reports; the conditions of the types left behind are taken back."""
        if self._node is None:
            return
        self.kubelet = kubelet_reports(self._node, lease_age, lease_known=known)
        self._looked_for_kubelet = True
        types = Types.OWN if self.kubelet else Types.BUILT_IN
        if self._asked is None and types is not self._types:
            self._leaving, self._types = self._types, types

    def _write(self, now: int) -> None:
        with self._lock:
            wanted, leaving = self._wanted(), self._leaving
            known = self._node.conditions if self._node else {}
        if wanted is None:
            return
        wall = self._wall()
        gone = Report(types=leaving, active=frozenset(), stopped=True).conditions(known, wall) if leaving else ()
        node = self._client.patch_conditions((*wanted.conditions(known, wall), *gone))
        with self._lock:
            self._node, self._written, self._leaving = node, wanted, None
            self._looked_for_kubelet = False
            period = min(RENEW, self._rhythm.report) if wanted.active else self._rhythm.report
            self._next_write = now + int(period * (0.8 + 0.4 * self._jitter()))
            self._next_look = now + self._rhythm.update

    def _look(self, now: int) -> None:
        node = self._client.get()
        with self._lock:
            self._node = node
            self._next_look = now + self._rhythm.update
            if self._written is not None and not self._written.holds(node.conditions):
                self._written = None  # somebody changed our words: say them again

    def _taint_change(self) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        """Tell which of our keys to add and which to remove; `None` where all is as it should be."""
        if not self._taints or self._untainted or self._node is None or self._active is None:
            return None
        wanted = {TAINTS[c] for c in self._active} if self._types is Types.OWN else set()
        there = {key for key in TAINTS.values() if f"{key}:{NO_SCHEDULE}" in self._node.taints}
        if wanted == there:
            return None
        return tuple(sorted(wanted - there)), tuple(sorted(there - wanted))

    def _taint(self) -> None:
        with self._lock:
            change = self._taint_change()
        if change is None:
            return
        node = self._client.patch_taints(add=change[0], remove=change[1])
        with self._lock:
            self._node = node
