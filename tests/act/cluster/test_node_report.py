"""Which request of a report comes next, in each row of its table, and what each answer changes: without a server."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from evictd.act.cluster.conditions import TAINTS
from evictd.act.cluster.node_report import (
    CONFIRM_PATIENCE,
    RENEW,
    NodeReport,
    NodeRequest,
    ReportPhase,
    Rhythm,
)
from evictd.clients.kube.nodes import Lease, NodeObject
from evictd.config.settings import ClusterSettings, ConditionTypes
from evictd.core.model.signal import NodeCondition
from evictd.core.units.duration import SECOND

NOW, WALL = 1000 * SECOND, 1_795_000_000 * SECOND
RHYTHM = Rhythm()
MEMORY = NodeCondition.MEMORY_PRESSURE
NODE = NodeObject(name="n1", uid="u", conditions={}, taints=(), resource_version="1", date=WALL)
TAINTED = replace(NODE, taints=({"key": TAINTS[MEMORY], "effect": "NoSchedule"},))
RENEWED = Lease(renewed_at=WALL, date=WALL)


def write(report: NodeReport, now: int = NOW) -> None:
    """Have the server accept what is wanted, and show it."""
    assert report.node is not None
    assert report.wanted is not None
    written = {each.type: each for each in report.conditions(report.wanted, WALL)}
    node = replace(report.node, conditions={**report.node.conditions, **written})
    report.conditions_written(report.wanted, node, now, spread=1.0)


def reporting(*active: NodeCondition, types: ConditionTypes = ConditionTypes.OWN) -> NodeReport:
    """Return a report that the server shows, with the lease read."""
    report = NodeReport(ClusterSettings(condition_types=types), RHYTHM)
    report.report(active, NOW)
    report.node_read(TAINTED if active else NODE, NOW)
    report.lease_read(RENEWED, WALL, NOW)
    write(report)
    return report


def changed(*active: NodeCondition, by: Callable[[NodeReport], object]) -> NodeReport:
    report = reporting(*active)
    by(report)
    return report


def started(by: Callable[[NodeReport], object]) -> NodeReport:
    report = NodeReport(ClusterSettings(), RHYTHM)
    report.report([MEMORY], NOW)
    by(report)
    return report


SHOWN = reporting()
STALE = changed(MEMORY, by=lambda each: each.taints_written(NODE))
STALE.taint_retry.conflicted(NOW)
ROWS = {
    "an eviction waits": (
        changed(by=lambda each: each.confirmed_kubelet(NOW + RHYTHM.update)),
        NOW + RHYTHM.update,
        NodeRequest.DETECT,
    ),
    "a pause": (changed(by=lambda each: each.refused(NodeRequest.LOOK, NOW, gone=False)), NOW + RENEW - 1, None),
    "gone": (
        changed(by=lambda each: each.refused(NodeRequest.LOOK, NOW, gone=True)),
        NOW + RHYTHM.update,
        NodeRequest.LOOK,
    ),
    "no types": (started(lambda each: each.node_read(NODE, NOW)), NOW, NodeRequest.DETECT),
    "nothing reported": (NodeReport(ClusterSettings(), RHYTHM), NOW, NodeRequest.LOOK),
    "another state": (changed(by=lambda each: each.report([MEMORY], NOW)), NOW, NodeRequest.CONDITIONS),
    "the lease, calm": (SHOWN, NOW + RHYTHM.report, NodeRequest.DETECT),
    "nothing due": (SHOWN, NOW + RHYTHM.report - 1, None),
    "a conflict": (STALE, STALE.taint_retry.not_before, NodeRequest.LOOK),
    "its pause": (STALE, STALE.taint_retry.not_before - 1, None),
    "other taints": (changed(MEMORY, by=lambda each: each.taints_written(NODE)), NOW, NodeRequest.TAINTS),
    "pressure": (reporting(MEMORY), NOW + RHYTHM.update, NodeRequest.LOOK),
    "stopped": (changed(by=lambda each: each.end(ReportPhase.STOPPED)), NOW, NodeRequest.CONDITIONS),
}


@pytest.mark.parametrize(("report", "now", "request_"), ROWS.values(), ids=ROWS)
def test_the_next_request(report: NodeReport, now: int, request_: NodeRequest | None) -> None:
    """To ask changes nothing: a request without an answer is asked for again."""
    assert (report.next_request(now), report.next_request(now)) == (request_, request_)


def test_without_a_report_node_and_lease_are_read_once() -> None:
    report = NodeReport(ClusterSettings(condition_types=ConditionTypes.OWN), RHYTHM)
    report.node_read(NODE, NOW)
    assert report.next_request(NOW) is NodeRequest.DETECT
    report.lease_read(None, WALL, NOW)
    assert (report.kubelet.reports, report.next_request(NOW), report.due_at(NOW)) == (False, None, None)


@pytest.mark.parametrize(("phase", "active"), [(ReportPhase.STOPPED, {MEMORY}), (ReportPhase.SUSPENDED, set())])
def test_an_end_is_written_once(phase: ReportPhase, active: set[NodeCondition]) -> None:
    report = reporting(MEMORY)
    assert report.end(phase)
    assert not report.end(phase)
    assert report.wanted is not None
    assert report.wanted.active == active
    write(report)
    report.taints_written(TAINTED if active else NODE)
    assert (report.pending, report.due_at(NOW)) == (False, None)


def test_only_after_a_dry_run_all_of_a_report_is_new() -> None:
    for phase, known in ((ReportPhase.STOPPED, True), (ReportPhase.SUSPENDED, False)):
        report = reporting(MEMORY)
        report.end(phase)
        before, after = report.report([], NOW)
        assert ((before is not None and before.active == {MEMORY}), after.stopped) == (known, False)


def test_what_another_writer_changed_is_written_again() -> None:
    report = changed(MEMORY, by=lambda each: each.node_read(NODE, NOW))
    assert (report.written, report.next_request(NOW)) == (None, NodeRequest.CONDITIONS)


def test_conditions_that_the_server_does_not_show_are_written_again_at_the_next_look() -> None:
    report = reporting(types=ConditionTypes.BUILT_IN)
    assert report.wanted is not None
    report.conditions_written(report.wanted, NODE, NOW, spread=1.0)
    assert report.due_at(NOW) == NOW + RHYTHM.update


def test_a_kubelet_that_comes_changes_the_types_and_the_others_are_taken_back() -> None:
    report = NodeReport(ClusterSettings(), RHYTHM)
    report.report([MEMORY], NOW)
    report.node_read(NODE, NOW)
    assert report.pending
    report.lease_read(None, WALL, NOW)
    write(report)
    report.lease_read(RENEWED, WALL, NOW)
    assert report.wanted is not None
    statuses = {each.type: each.status for each in report.conditions(report.wanted, WALL)}
    assert (statuses["EvictdMemoryPressure"], statuses["MemoryPressure"]) == ("True", "False")
    write(report)
    assert "MemoryPressure" not in {each.type for each in report.conditions(report.wanted, WALL)}


@pytest.mark.parametrize(("gone", "kubelet"), [(True, None), (False, True)])
def test_where_the_node_may_not_be_read_a_kubelet_is_assumed(*, gone: bool, kubelet: bool | None) -> None:
    report = NodeReport(ClusterSettings(), RHYTHM)
    report.refused(NodeRequest.LOOK, NOW, gone=gone)
    assert report.kubelet.reports is kubelet


@pytest.mark.parametrize(("lease", "at_last"), [(RENEWED, None), (None, False)])
def test_an_eviction_waits_for_the_lease_only_where_a_kubelet_was_seen(
    lease: Lease | None, *, at_last: bool | None
) -> None:
    """Without an answer a pod's status is written; a kubelet that started meanwhile undoes that."""
    report = reporting()
    report.lease_read(lease, WALL, NOW)
    assert report.confirmed_kubelet(NOW + 1) is (lease is not None)
    later = NOW + RHYTHM.update
    assert (report.confirmed_kubelet(later), report.due_at(later)) == (None, later)
    assert report.confirmed_kubelet(later + CONFIRM_PATIENCE) is at_last
    report.lease_read(RENEWED, WALL, later)
    assert report.confirmed_kubelet(later) is True


def test_a_refusal_of_taints_holds_up_nothing_else() -> None:
    report, pending = changed(MEMORY, by=lambda each: each.taints_written(NODE)), []
    pending.append(report.pending)
    report.refused(NodeRequest.TAINTS, NOW, gone=False)
    assert [*pending, report.pending] == [True, False]
    report.report([], NOW)
    assert report.next_request(NOW) is NodeRequest.CONDITIONS
