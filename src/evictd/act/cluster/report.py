"""Writes conditions and taints to the node's object at once when they change, and repairs them from then on.

    look (GET node) -> detect (GET lease) -> conditions (PATCH status) -> taints (PATCH node)

Only the latest state counts: changes while the server is away are not replayed. Calm, one patch every report period
(5 minutes, the kubelet's `nodeStatusReportFrequency`); under pressure node and lease are read every
`nodeStatusUpdateFrequency`, and the conditions are written again if another writer changed them or if a kubelet came or left, and
every minute to renew how long they hold. A node that was deleted and registered again has none of them: they are new there.
Taints go with evictd's own types only; `taints` says which entries are evictd's and when a write is tried again.
"""

import threading
from collections.abc import Iterable
from dataclasses import replace
from enum import Enum

from evictd.act.cluster.conditions import TAINTS, ConditionReport, node_transition_events, orphans, taken_back
from evictd.act.cluster.request_queue import CONFLICT, Bell, Call, Clocks
from evictd.act.cluster.taints import TaintRetry, changed
from evictd.clients.kube.nodes import Lease, NodeClient, NodeObject, Taint, kubelet_reports
from evictd.config.settings import ClusterSettings, ConditionTypes
from evictd.core.frozen import frozen
from evictd.core.model.decision import RecordEvent
from evictd.core.model.signal import NodeCondition
from evictd.core.units.duration import MINUTE, SECOND
from evictd.errors import ApiRefusedError

NOT_FOUND = 404
NEVER = 2**63 - 1
RENEW = MINUTE
"""Interval at which a True condition is renewed: a third of the time for which it holds."""


CONFIRM_PATIENCE = 3 * SECOND
"""How long to wait for the answer whether the node still has no kubelet."""


@frozen
class Rhythm:
    """Interval at which the node's object is read under pressure, and written on a calm node."""

    update: int = 10 * SECOND
    report: int = 5 * MINUTE


KUBELET_RHYTHM = Rhythm()


class ReportPhase(Enum):
    """What the loop wants of the node's object."""

    SILENT = "Silent"
    """Nothing: no condition was reported yet."""
    REPORTING = "Reporting"
    STOPPED = "Stopped"
    """The last report once more, for the time without evictd."""
    SUSPENDED = "Suspended"
    """No condition and no taint: a reload began a dry run."""


@frozen
class Intent:
    """The conditions that the node has, as the loop reported them, and whether they are written from now on."""

    phase: ReportPhase = ReportPhase.SILENT
    active: frozenset[NodeCondition] = frozenset()

    @property
    def silent(self) -> bool:
        """Whether nothing was reported yet."""
        return self.phase is ReportPhase.SILENT

    @property
    def final(self) -> bool:
        """Whether it is written once, and not renewed."""
        return self.phase in {ReportPhase.STOPPED, ReportPhase.SUSPENDED}

    def ended(self, phase: ReportPhase) -> "Intent":
        """Return what is written last: after a stop the conditions as they are, in a dry run none."""
        return Intent(phase=phase, active=self.active if phase is ReportPhase.STOPPED else frozenset())

    def named(self, types: ConditionTypes) -> ConditionReport:
        """Return the report of it under these names."""
        return ConditionReport(types=types, active=self.active, stopped=self.final and not self.active)

    def before(self, types: ConditionTypes) -> ConditionReport | None:
        """Return what the next report changes; `None` where all of it is new."""
        return self.named(types) if self.phase in {ReportPhase.REPORTING, ReportPhase.STOPPED} else None


@frozen
class DueTimes:
    """From when on each request is due without a change, by the clock of the request queue."""

    look: int = 0
    """Under pressure alone."""
    detect: int = 0
    write: int = 0
    paused_until: int = 0
    """After a refusal nothing is sent before."""


@frozen
class KubeletSeen:
    """Whether a kubelet reports on the node, as last found out, and whether an eviction waits to have that confirmed."""

    reports: bool | None = None
    """`None` until it was found out."""
    at: int | None = None
    """When that was; `None` where it is not known, or assumed."""
    asked: int | None = None
    """Since when an eviction waits for the lease to be read again; `None` where none does."""

    def is_recent(self, now: int, rhythm: Rhythm) -> bool:
        """Whether a method of evictions may depend on it."""
        return self.at is None or now - self.at < rhythm.update


class ClusterReporter:
    """Reports one node's conditions; a source of the request queue.

    Whether a kubelet reports on the node is determined at the start, with each heartbeat of a calm node, and under pressure each
    time that the node is read. The method of evictions depends on it, too: what is older than a look is confirmed before one.
    """

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
        self._settings = settings
        self._rhythm = rhythm
        self._lock = threading.Lock()
        types = settings.condition_types
        self._types: ConditionTypes | None = None if types is ConditionTypes.AUTO else types
        self._types_left: ConditionTypes | None = None
        self._intent = Intent()
        self._written: ConditionReport | None = None
        self._node: NodeObject | None = None
        self._doing = ""
        self._due = DueTimes()
        self._taint_retry = TaintRetry()
        self._kubelet = KubeletSeen()
        self._problems: dict[str, str] = {}

    # --- from the loop ------------------------------------------------------------------------------------------------

    def report(self, conditions: Iterable[NodeCondition], now: int) -> tuple[RecordEvent, ...]:
        """Set the conditions that the node has from now on; return the events of what changed."""
        with self._lock:
            types = self._types or ConditionTypes.OWN
            before = self._intent.before(types)
            self._intent = Intent(phase=ReportPhase.REPORTING, active=frozenset(conditions))
            self._due = replace(self._due, write=min(self._due.write, now))
            after = self._intent.named(types)
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
            if self._intent.phase is not ReportPhase.REPORTING:
                return
            self._intent, self._written = self._intent.ended(phase), None
        self._bell.notify()

    @property
    def pending(self) -> bool:
        """Whether the API server does not show what was reported yet; also while the types are not determined."""
        with self._lock:
            if self._intent.silent:
                return False
            if self._types is None or self._written != self._wanted():
                return True
            return self._taint_change() is not None and not self._taint_retry.refused

    @property
    def shown(self) -> ConditionReport | None:
        """The last report that the API server accepted."""
        return self._written

    @property
    def kubelet(self) -> bool | None:
        """Whether a kubelet reports on this node, as last seen; `None` until it was found out."""
        return self._kubelet.reports

    @property
    def kubelet_version(self) -> str:
        """The node's `kubeletVersion`, as last read; empty before that."""
        with self._lock:
            return "" if self._node is None else self._node.kubelet_version

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
            seen = self._kubelet
            if self._node is None or seen.is_recent(now, self._rhythm):
                return seen.reports
            self._kubelet = replace(seen, asked=seen.asked or now)
        if seen.asked is None:
            self._bell.notify()
        elif not seen.reports and now - seen.asked >= CONFIRM_PATIENCE:
            return False
        return None

    # --- a source of the request queue -----------------------------------------------------------------------------------------

    def call(self, now: int) -> Call | None:
        """Read the node and the lease first, then write conditions, then taints, then renew them."""
        with self._lock:
            wanted = self._wanted()
            if self._kubelet.asked is not None and self._node is not None:
                return self._named("detect", self._detect)
            if now < self._due.paused_until or (self._intent.silent and self.kubelet is not None):
                return None
            if self._node is None:
                return self._named("look", lambda: self._look(now))
            if wanted is None:  # also without types or a report: the method of evictions depends on it
                return self._named("detect", self._detect)
            if self._written != wanted:
                return self._named("conditions", lambda: self._write(now))
            if now >= self._due.detect and not self._intent.final:
                return self._named("detect", self._detect)
            if now >= self._due.write and not self._intent.final:
                return self._named("conditions", lambda: self._write(now))
            if self._taint_change() is not None and now >= self._taint_retry.not_before:
                if self._taint_retry.stale:
                    return self._named("look", lambda: self._look(now))
                return self._named("taints", lambda: self._taint(now))
            if self._intent.active and now >= self._due.look:
                return self._named("look", lambda: self._look(now))
            return None

    def due_at(self, now: int, /) -> int | None:
        """The next look or write."""
        with self._lock:
            if self._kubelet.asked is not None and self._node is not None:
                return now
            if self._intent.silent:
                return self._due.paused_until if self.kubelet is None else None
            over = self._intent.final and self._written == self._wanted()
            due = [] if over else [self._due.write, self._due.detect]
            due += [self._due.look] if self._intent.active and not over else []
            due += [self._taint_retry.not_before] if self._taint_change() is not None else []
            return max(min(due), self._due.paused_until) if due else None

    def refused(self, error: ApiRefusedError, now: int) -> None:
        """Continue without the forbidden parts, and report each once."""
        with self._lock:
            if self._doing == "taints":
                self._taint_retry.was_refused(now)
                self._problems["taints"] = f"the node's taints could not be changed; tried again every minute: {error}"
            elif self._doing == "detect":
                self._decide(None)
                self._problems["detect"] = (
                    f"the kubelet's lease cannot be read, the node's conditions are used: {error}"
                )
            else:
                self._problems[self._doing] = f"{self._doing}: {error}"
                gone = error.status == NOT_FOUND  # not registered yet, or deleted; else a role may not be bound yet
                self._due = replace(self._due, paused_until=now + (self._rhythm.update if gone else RENEW))
                if gone:
                    self._node = self._written = None
                elif self.kubelet is None:
                    self._kubelet = replace(
                        self._kubelet, reports=True
                    )  # the node may not be read; assume a kubelet, which finishes a deleted pod
        self._bell.notify()

    def _named(self, doing: str, call: Call) -> Call:
        self._doing = doing

        def named() -> None:
            call()
            with self._lock:
                self._problems.pop(doing, None)
            self._bell.notify()  # an eviction may wait for this answer

        return named

    def _wanted(self) -> ConditionReport | None:
        return None if self._intent.silent or self._types is None else self._intent.named(self._types)

    def _detect(self) -> None:
        lease = self._client.lease()
        with self._lock:
            self._decide(lease)

    def _decide(self, lease: Lease | None) -> None:
        """Choose the types by whether a kubelet reports; the conditions of the types left behind are taken back."""
        if self._node is None:
            return
        reports = kubelet_reports(self._node, lease, self._clocks.wall())
        self._kubelet = KubeletSeen(reports=reports, at=self._clocks.now())
        self._due = replace(self._due, detect=NEVER)
        if self._settings.condition_types is ConditionTypes.AUTO:
            types = ConditionTypes.OWN if reports else ConditionTypes.BUILT_IN
            if types is not self._types:
                self._types, self._types_left = types, self._types

    def _write(self, now: int) -> None:
        with self._lock:
            wanted, left = self._wanted(), self._types_left
            known = self._node.conditions if self._node else {}
        if wanted is None:
            return
        wall = self._clocks.wall()
        gone = taken_back(known, left, wall) if left else orphans(known, wanted.types, wall)
        node = self._client.patch_conditions((*wanted.conditions(known, wall), *gone))
        with self._lock:
            self._node, self._written, self._types_left = node, wanted, None
            self._taint_retry.stale = False
            period = min(RENEW, self._rhythm.report) if wanted.active else self._rhythm.report
            period = int(period * (0.8 + 0.4 * self._clocks.random()))
            if not wanted.holds(node.conditions):
                period = self._rhythm.update  # the types were new to the server, or an admission plugin changed them
            detect = self._due.detect if self.kubelet is None else now + period
            self._due = replace(self._due, look=now + self._rhythm.update, write=now + period, detect=detect)

    def _look(self, now: int) -> None:
        node = self._client.get()
        with self._lock:
            self._node = node
            detect = now if now >= self._due.look else self._due.detect
            self._due = replace(self._due, look=now + self._rhythm.update, detect=detect)
            self._taint_retry.stale = False
            if self._written is not None and not self._written.holds(node.conditions):
                self._written = None  # another writer changed the conditions: write them again

    def _taint_change(self) -> tuple[Taint, ...] | None:
        """Return the list of taints to be written; `None` where all is as it should be.

        Also with taints switched off: those of the previous run are removed.
        """
        if self._node is None or self._intent.silent or self._types is None:
            return None
        tainted = self._intent.active if self._settings.taints and self._types is ConditionTypes.OWN else ()
        effect = self._settings.taint_effect.value
        return changed(self._node.taints, {(TAINTS[condition], effect) for condition in tainted})

    def _taint(self, now: int) -> None:
        with self._lock:
            taints, node = self._taint_change(), self._node
        if taints is None or node is None:
            return
        try:
            node = self._client.replace_taints(node, taints)
        except ApiRefusedError as error:
            if error.status != CONFLICT:
                raise
            with self._lock:
                self._taint_retry.conflicted(now)
            return
        with self._lock:
            self._node = node
            self._taint_retry.written()
