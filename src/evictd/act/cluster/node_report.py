"""The report of conditions and taints on one node's object: a state machine without any I/O.

Theory of operation
===================

Three values are compared: what the loop wants to be shown (`Intent`), what the API server accepted last (`written`), and the
node's object as last read (`node`). Where they differ, a request is next. So only the latest state is written: changes while the
server is away are not replayed.

    phase       entered by   what is written
    SILENT      the start    nothing; node and lease are read once, because the method of evictions depends on a kubelet
    REPORTING   a report     conditions and taints at once; they are repaired and renewed from then on
    STOPPED     a stop       the last report once more, then nothing
    SUSPENDED   a dry run    all conditions as False and no taint, then nothing

A report enters REPORTING from every phase; a stop and a dry run have an effect there only. The first row that applies is the
next request:

    request      is sent when
    detect       an eviction waits to have confirmed whether a kubelet reports
    (none)       a pause after a refusal lasts; or the phase is SILENT, and it is known whether a kubelet reports
    look         the node was not read yet, or is gone
    detect       it is not known which types to use, or the phase is SILENT
    conditions   what was written is not what is wanted
    detect       due while REPORTING: before each renewal, and under pressure after each regular look
    conditions   due while REPORTING: calm every `Rhythm.report`, under pressure every `RENEW`
    look         the taints differ, their pause is over, and the node was not read since they were refused
    taints       the taints differ, and their pause is over
    look         due under pressure: every `Rhythm.update`

    answer              what it changes
    node                conditions that another writer has changed count as not written
    lease               whether a kubelet reports, and so the types, if these are Auto; those left are written as False
    conditions, taints  `node` is what the server answered; the next times begin
    409 for taints      the node is read again after a short, growing pause (`TaintRetry`)
    taints refused      tried again every minute; the conditions go on, and no eviction waits
    lease refused       the node's Ready condition tells whether a kubelet reports
    404                 a pause of `Rhythm.update`; a node that is registered again has no conditions: all are written
    other refusals      a pause of `RENEW`; where that is not known, a kubelet is assumed, which finishes a deleted pod
    none (a hang), 5xx  nothing; the request queue pauses, then asks for the next request, which may be another one

A restart loses all of this. The first report is then a transition of each condition. The first writes replace what the previous
run has left: conditions, also those under other names (`orphans`), and taints.
"""

from collections.abc import Iterable
from dataclasses import replace
from enum import Enum

from evictd.act.cluster.conditions import TAINTS, ConditionReport, orphans, taken_back
from evictd.act.cluster.taints import TaintRetry, changed
from evictd.clients.kube.nodes import Condition, Lease, NodeObject, Taint, kubelet_reports
from evictd.config.settings import ClusterSettings, ConditionTypes
from evictd.core.frozen import frozen
from evictd.core.model.signal import NodeCondition
from evictd.core.units.duration import MINUTE, SECOND

NEVER = 2**63 - 1
RENEW = MINUTE
"""Interval at which a True condition is renewed: a third of the time for which it holds."""
CONFIRM_PATIENCE = 3 * SECOND
"""How long to wait for the answer whether the node still has no kubelet."""


class NodeRequest(Enum):
    """The requests that a report needs."""

    LOOK = "look"
    """GET the node."""
    DETECT = "detect"
    """GET the node's lease, which a kubelet renews."""
    CONDITIONS = "conditions"
    """PATCH the node's status."""
    TAINTS = "taints"
    """PATCH the node."""


class ReportPhase(Enum):
    """What the loop wants of the node's object."""

    SILENT = "Silent"
    REPORTING = "Reporting"
    STOPPED = "Stopped"
    SUSPENDED = "Suspended"


@frozen
class Rhythm:
    """Interval at which the node's object is read under pressure, and written on a calm node."""

    update: int = 10 * SECOND
    """The kubelet's `nodeStatusUpdateFrequency`."""
    report: int = 5 * MINUTE
    """The kubelet's `nodeStatusReportFrequency`."""


@frozen
class Intent:
    """The conditions that the node has, as the loop reported them, and the phase of the report."""

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


@frozen
class DueTimes:
    """From when on each request is due without a change, by the clock of the request queue."""

    look: int = 0
    """Under pressure alone."""
    detect: int = 0
    write: int = 0
    paused_until: int = 0
    """After a refusal nothing is sent before."""


class NodeReport:
    """The state of one node's report; `report` has its lock."""

    def __init__(self, settings: ClusterSettings, rhythm: Rhythm) -> None:
        self._settings = settings
        self._rhythm = rhythm
        self._auto = settings.condition_types is ConditionTypes.AUTO
        self._types: ConditionTypes | None = None if self._auto else settings.condition_types
        self._types_left: ConditionTypes | None = None  # those used before, until the server shows them as False
        self._intent = Intent()
        self._due = DueTimes()
        self.taint_retry = TaintRetry()
        self.written: ConditionReport | None = None
        """The last report that the server accepted; `None` where it has to be written again."""
        self.node: NodeObject | None = None
        """The node as the server answered last."""
        self.kubelet = KubeletSeen()

    # --- from the loop ------------------------------------------------------------------------------------------------

    def report(self, conditions: Iterable[NodeCondition], now: int) -> tuple[ConditionReport | None, ConditionReport]:
        """Set the conditions that the node has from now on; return the report before, if any, and this one."""
        types = self._types or ConditionTypes.OWN
        before = self._intent.before(types)
        self._intent = Intent(phase=ReportPhase.REPORTING, active=frozenset(conditions))
        self._due = replace(self._due, write=min(self._due.write, now))
        return before, self._intent.named(types)

    def end(self, phase: ReportPhase) -> bool:
        """Stop or suspend the report; return whether there was one."""
        if self._intent.phase is not ReportPhase.REPORTING:
            return False
        self._intent, self.written = self._intent.ended(phase), None
        return True

    def confirmed_kubelet(self, now: int) -> bool | None:
        """Return whether a kubelet reports; `None` while that is confirmed, for which the lease is read next."""
        seen = self.kubelet
        if self.node is None or seen.is_recent(now, self._rhythm):
            return seen.reports
        if seen.asked is None:
            self.kubelet = replace(seen, asked=now)
        return False if not seen.reports and seen.asked is not None and now - seen.asked >= CONFIRM_PATIENCE else None

    # --- what is next -------------------------------------------------------------------------------------------------

    @property
    def wanted(self) -> ConditionReport | None:
        """What is to be written; `None` without a report or types."""
        return None if self._intent.silent or self._types is None else self._intent.named(self._types)

    @property
    def pending(self) -> bool:
        """Whether the server does not show what was reported yet; also while the types are not determined."""
        if self.wanted is None:
            return not self._intent.silent
        return self.written != self.wanted or (self.taints is not None and not self.taint_retry.refused)

    @property
    def taints(self) -> tuple[Taint, ...] | None:
        """The list of taints to be written; `None` where all is as it should be.

        Also with taints switched off: those of the previous run are removed.
        """
        if self.node is None or self.wanted is None:
            return None
        tainted = self._intent.active if self._settings.taints and self._types is ConditionTypes.OWN else ()
        effect = self._settings.taint_effect.value
        return changed(self.node.taints, {(TAINTS[condition], effect) for condition in tainted})

    def conditions(self, wanted: ConditionReport, wall: int) -> tuple[Condition, ...]:
        """Return the conditions that a report has written, those that it takes back as well."""
        known, left = self.node.conditions if self.node else {}, self._types_left
        gone = taken_back(known, left, wall) if left else orphans(known, wanted.types, wall)
        return (*wanted.conditions(known, wall), *gone)

    def next_request(self, now: int) -> NodeRequest | None:
        """Return the request that is due, by the table of the module."""
        due, wanted, renewed = self._due, self.wanted, not self._intent.final
        if self.kubelet.asked is not None and self.node is not None:
            return NodeRequest.DETECT
        if now < due.paused_until or (self._intent.silent and self.kubelet.reports is not None):
            return None
        if self.node is None:
            return NodeRequest.LOOK
        if wanted is None:
            return NodeRequest.DETECT
        if self.written != wanted:
            return NodeRequest.CONDITIONS
        if renewed and now >= due.detect:
            return NodeRequest.DETECT
        if renewed and now >= due.write:
            return NodeRequest.CONDITIONS
        if self.taints is not None and now >= self.taint_retry.not_before:
            return NodeRequest.LOOK if self.taint_retry.stale else NodeRequest.TAINTS
        return NodeRequest.LOOK if self._intent.active and now >= due.look else None

    def due_at(self, now: int) -> int | None:
        """Return the time of the next request; `None` where only an event leads to one."""
        if self.kubelet.asked is not None and self.node is not None:
            return now
        if self._intent.silent:
            return self._due.paused_until if self.kubelet.reports is None else None
        over = self._intent.final and self.written == self.wanted
        due = [] if over else [self._due.write, self._due.detect]
        due += [self._due.look] if self._intent.active and not over else []
        due += [self.taint_retry.not_before] if self.taints is not None else []
        return max(min(due), self._due.paused_until) if due else None

    # --- the answers --------------------------------------------------------------------------------------------------

    def node_read(self, node: NodeObject, now: int) -> None:
        """Take note of the node's object; conditions that another writer has changed are written again."""
        detect = now if now >= self._due.look else self._due.detect  # the lease as well, but not after a conflict
        self.node, self._due = node, replace(self._due, look=now + self._rhythm.update, detect=detect)
        self.taint_retry.node_read()
        if self.written is not None and not self.written.holds(node.conditions):
            self.written = None

    def lease_read(self, lease: Lease | None, wall: int, now: int) -> None:
        """Take note whether a kubelet reports, and choose the types by it; `None` for a lease that cannot be read."""
        if self.node is None:
            return
        reports = kubelet_reports(self.node, lease, wall)
        self.kubelet = KubeletSeen(reports=reports, at=now)
        self._due = replace(self._due, detect=NEVER)  # until the next write or look
        types = ConditionTypes.OWN if reports else ConditionTypes.BUILT_IN
        if self._auto and types is not self._types:
            self._types, self._types_left = types, self._types

    def conditions_written(self, written: ConditionReport, node: NodeObject, now: int, *, spread: float) -> None:
        """Take note of accepted conditions; `spread` is the part of the interval until the next ones."""
        self.written, self.node, self._types_left = written, node, None
        self.taint_retry.node_read()
        period = min(RENEW, self._rhythm.report) if written.active else self._rhythm.report
        period = int(period * spread)
        if not written.holds(node.conditions):
            period = self._rhythm.update  # the types were new to the server, or an admission plugin changed them
        detect = self._due.detect if self.kubelet.reports is None else now + period
        self._due = replace(self._due, look=now + self._rhythm.update, write=now + period, detect=detect)

    def taints_written(self, node: NodeObject) -> None:
        """Take note of accepted taints."""
        self.node = node
        self.taint_retry.written()

    def refused(self, request: NodeRequest, now: int, *, gone: bool) -> None:
        """Take note of any other refusal than that of the lease; `gone` is 404: not registered yet, or deleted."""
        if request is NodeRequest.TAINTS:
            self.taint_retry.was_refused(now)
            return
        self._due = replace(self._due, paused_until=now + (self._rhythm.update if gone else RENEW))
        if gone:
            self.node = self.written = None
        elif self.kubelet.reports is None:
            self.kubelet = KubeletSeen(reports=True)
