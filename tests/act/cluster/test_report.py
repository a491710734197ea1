"""Conditions and taints on a real node object over HTTPS: at once, kept right, taken back."""

from typing import ClassVar

import pytest

from evictd.act.cluster.conditions import VALID, holds_until
from evictd.act.cluster.report import ClusterReporter
from evictd.act.cluster.request_queue import RequestQueue
from evictd.clients.kube.nodes import NodeClient
from evictd.clients.kube.transport import MERGE_PATCH, Transport
from evictd.config.settings import ClusterSettings, ConditionTypes
from evictd.core.model.signal import NodeCondition
from evictd.core.units.duration import SECOND
from tests.kube.api import Api
from tests.kube.api_server import ApiServer
from tests.kube.driving import SILENT_BELL, Driver
from tests.kube.kubelet import Kubelet
from tests.kube.rbac import node_rules

MEMORY, DISK = NodeCondition.MEMORY_PRESSURE, NodeCondition.DISK_PRESSURE
NODE = ("nodes", "", "n1")


class Rig:
    """A reporter of n1 with its queue, on the test's clock."""

    on_any_server: ClassVar[bool] = True

    def __init__(self, api: Api, transport: Transport, types: ConditionTypes, *, taints: bool = True) -> None:
        self.api = api
        self.driver = Driver()
        self.reporter = ClusterReporter(
            NodeClient(transport, "n1"),
            self.driver.clocks,
            SILENT_BELL,
            ClusterSettings(condition_types=types, taints=taints),
            node_name="n1",
        )
        self.queue = RequestQueue([self.reporter], self.driver.clocks)

    def report(self, *conditions: NodeCondition) -> list[str]:
        events = self.reporter.report(conditions, self.driver.now)
        self.driver.settle(self.queue)
        return [event.reason for event in events]

    def shown(self) -> dict[str, str]:
        node = self.api.store.get(NODE)
        assert node is not None
        return {c["type"]: c["status"] for c in node["status"]["conditions"] if "Pressure" in c["type"]}

    def taints(self) -> set[str]:
        node = self.api.store.get(NODE)
        assert node is not None
        return {taint["key"] for taint in node["spec"].get("taints", []) if taint["key"].startswith("evictd.io/")}

    def verbs(self) -> list[str]:
        made = [line.what for line in self.api.requests()]
        self.api.forget_requests()
        return made


class DoubleRig(Rig):
    """A reporter on the double, with what only that can do."""

    on_any_server = False
    api: ApiServer


@pytest.fixture
def own(api: Api, transport: Transport) -> Rig:
    """A reporter that is configured to use its own types."""
    return (DoubleRig if isinstance(api, ApiServer) else Rig)(api, transport, ConditionTypes.OWN)


class CountingBell:
    """Counts how often it was rung."""

    rung = 0

    def notify(self) -> None:
        self.rung += 1


def test_each_answer_wakes_the_threads(own: Rig) -> None:
    """An eviction waits for the lease, and a hard one for the conditions and taints: nothing else tells it of them."""
    bell = own.reporter._bell = CountingBell()
    own.reporter.report([MEMORY], own.driver.now)
    assert bell.rung == 1
    own.driver.settle(own.queue)
    assert bell.rung == 1 + len(own.verbs())


def test_a_change_is_written_at_once_and_the_taint_follows(own: Rig) -> None:
    """One read at the start, then one patch each; the kubelet's conditions are not touched."""
    own.report(MEMORY)
    assert own.verbs() == ["get nodes", "patch nodes/status", "get leases", "patch nodes"]
    assert own.shown() == {
        "MemoryPressure": "False",
        "DiskPressure": "False",
        "PIDPressure": "False",
        "EvictdMemoryPressure": "True",
        "EvictdDiskPressure": "False",
        "EvictdPIDPressure": "False",
    }
    assert own.taints() == {"evictd.io/memory-pressure"}
    own.report(DISK)
    assert own.verbs() == ["patch nodes/status", "patch nodes"]
    assert own.taints() == {"evictd.io/disk-pressure"}
    assert not own.reporter.pending


def test_what_was_said_is_pending_also_while_the_types_are_found_out(api: Api, transport: Transport) -> None:
    """A start under pressure: no pod is killed before the node's report as long as that can be sent soon."""
    rig = Rig(api, transport, ConditionTypes.AUTO)
    pending = [rig.reporter.pending]
    rig.reporter.report([MEMORY], rig.driver.now)
    pending.append(rig.reporter.pending)
    rig.driver.settle(rig.queue)
    assert [*pending, rig.reporter.pending] == [False, True, False]


def test_others_taints_are_written_back_as_they_were(own: DoubleRig) -> None:
    """The list is one value: every patch holds all of it, and the version that it was read at."""
    foreign = [
        {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"},
        {"key": "maintenance", "effect": "NoExecute", "timeAdded": "2026-11-21T02:00:00Z"},
    ]
    own.api.store.update(NODE, lambda node: node["spec"].update(taints=foreign, unschedulable=True))
    own.report(MEMORY, DISK)
    own.report()
    for line in own.api.requests("patch nodes"):
        assert line.body["spec"]["taints"][:2] == foreign
        assert line.body["metadata"]["resourceVersion"]
        assert line.content_type == MERGE_PATCH
    node = own.api.store.get(NODE)
    assert node is not None
    assert node["spec"]["taints"] == foreign
    assert node["spec"]["unschedulable"] is True


@pytest.mark.slow
@pytest.mark.parametrize("types", [ConditionTypes.AUTO, ConditionTypes.OWN])
def test_at_rest_less_than_one_request_a_minute(api: Api, transport: Transport, types: ConditionTypes) -> None:
    """A calm simulated day: a look at the lease and a heartbeat every five minutes or so, and nothing else."""
    Kubelet(api.store, "n1").sync()
    rig = Rig(api, transport, types)
    rig.report()
    rig.verbs()
    rig.driver.run(rig.queue, 24 * 3600)
    made = rig.verbs()
    assert set(made) == {"patch nodes/status", "get leases"}
    assert abs(made.count("patch nodes/status") - made.count("get leases")) <= 1
    assert 2 * 24 * 12 * 0.8 < len(made) < 2 * 24 * 12 * 1.3


def test_under_pressure_what_others_change_is_said_again(own: Rig) -> None:
    """Within the update rhythm of ten seconds, taint included."""
    own.report(MEMORY)

    def vandal(node: dict[str, object]) -> None:
        for condition in node["status"]["conditions"]:  # type: ignore[index]
            condition["status"] = "False"
        node["spec"]["taints"] = []  # type: ignore[index]

    own.api.store.update(NODE, vandal)
    own.driver.run(own.queue, 11)
    assert own.shown()["EvictdMemoryPressure"] == "True"
    assert own.taints() == {"evictd.io/memory-pressure"}


def test_under_pressure_the_end_of_validity_moves_on(own: Rig) -> None:
    """Every minute, by a third of its length; in between one read each ten seconds."""
    own.report(MEMORY)
    own.verbs()
    own.driver.run(own.queue, 600)
    made = own.verbs()
    assert 8 <= made.count("patch nodes/status") <= 12
    assert made.count("get nodes") <= 60


def test_the_transition_time_stays_while_the_status_does(own: Rig) -> None:
    """A heartbeat is no transition."""

    def time() -> str:
        node = own.api.store.get(NODE)
        assert node is not None
        found = [c for c in node["status"]["conditions"] if c["type"] == "EvictdMemoryPressure"]
        return str(found[0]["lastTransitionTime"])

    own.report(MEMORY)
    first = time()
    own.driver.run(own.queue, 600)
    assert time() == first
    own.report()
    assert time() > first


def test_auto_takes_own_types_beside_a_kubelet_and_the_built_in_ones_without(api: Api, transport: Transport) -> None:
    """Told by the lease; the kubelet's own conditions are left to it."""
    rig = Rig(api, transport, ConditionTypes.AUTO)
    rig.report(MEMORY)
    assert rig.reporter.kubelet is False
    assert rig.shown()["MemoryPressure"] == "True"
    assert rig.taints() == set()
    Kubelet(api.store, "n1").sync()
    beside = Rig(api, transport, ConditionTypes.AUTO)
    beside.report(MEMORY)
    assert beside.reporter.kubelet is True
    assert beside.shown()["EvictdMemoryPressure"] == "True"


def test_a_kubelet_that_comes_later_gets_its_types_back(api: Api, transport: Transport) -> None:
    """At the next calm heartbeat; what was said under the other names is taken back."""
    rig = Rig(api, transport, ConditionTypes.AUTO)
    rig.report()
    assert "EvictdMemoryPressure" not in rig.shown()
    Kubelet(api.store, "n1").sync()
    rig.driver.run(rig.queue, 400)
    assert rig.shown()["EvictdMemoryPressure"] == "False"
    assert rig.reporter.shown is not None
    assert rig.reporter.shown.types is ConditionTypes.OWN


@pytest.mark.parametrize("types", [ConditionTypes.BUILT_IN, ConditionTypes.OWN])
def test_what_an_evictd_with_other_types_left_under_pressure_is_taken_back(
    api: Api, transport: Transport, types: ConditionTypes
) -> None:
    """It handed over: the configuration has changed since, or a kubelet came or left while no evictd ran."""
    other = ConditionTypes.OWN if types is ConditionTypes.BUILT_IN else ConditionTypes.BUILT_IN
    before = Rig(api, transport, other)
    before.report(MEMORY)
    before.reporter.stop()
    before.driver.settle(before.queue)
    names = {ConditionTypes.OWN: "EvictdMemoryPressure", ConditionTypes.BUILT_IN: "MemoryPressure"}
    assert before.shown()[names[other]] == "True"
    later = Rig(api, transport, types)
    later.report(MEMORY)
    shown = later.shown()
    assert (shown[names[types]], shown[names[other]]) == ("True", "False")


def test_a_nodes_own_identity_may_not_taint_which_is_said_and_tried_every_minute(
    api: ApiServer, transport: Transport
) -> None:
    """NodeRestriction forbids it; the conditions go on, and no eviction waits for the taint."""
    api.rbac = node_rules("n1")
    api.tokens = dict.fromkeys(api.tokens, "system:node:n1")
    rig = Rig(api, transport, ConditionTypes.OWN)
    rig.report(MEMORY)
    rig.report(DISK)
    rig.report(MEMORY)
    assert rig.shown()["EvictdMemoryPressure"] == "True"
    assert [line.status for line in api.requests("patch nodes")] == [403]
    assert len(rig.reporter.problems) == 1
    assert "tried again every minute" in rig.reporter.problems[0]
    assert not rig.reporter.pending
    rig.driver.run(rig.queue, 600)
    assert 8 <= len(api.requests("patch nodes")) <= 11
    api.rbac = None
    api.tokens = dict.fromkeys(api.tokens, "admin")
    rig.driver.run(rig.queue, 70)
    assert rig.taints() == {"evictd.io/memory-pressure"}
    assert not rig.reporter.problems


def test_a_conflict_of_taints_reads_again_and_leaves_room_for_other_sources(own: DoubleRig) -> None:
    """The pause between two attempts grows to two seconds; the list written is the one that was read last."""
    own.report()
    own.verbs()
    own.api.fault(verb="patch", resource="nodes", status=409, times=6)
    own.reporter.report([MEMORY], own.driver.now)
    own.driver.run(own.queue, 0.2)
    own.api.store.update(NODE, lambda node: node["spec"].update(taints=[{"key": "new", "effect": "NoExecute"}]))
    own.driver.run(own.queue, 20)
    made = own.verbs()
    assert made.count("patch nodes") == 7
    assert made.count("get nodes") >= 6
    node = own.api.store.get(NODE)
    assert node is not None
    assert [taint["key"] for taint in node["spec"]["taints"]] == ["new", "evictd.io/memory-pressure"]


def test_without_permission_for_leases_the_ready_condition_tells(api: ApiServer, transport: Transport) -> None:
    """The recorded heartbeat is old, so no kubelet reports here."""
    rules = node_rules("n1")
    rules.grants = tuple(grant for grant in rules.grants if grant.rule["resources"] != ["leases"])
    api.rbac = rules
    api.tokens = dict.fromkeys(api.tokens, "system:node:n1")
    rig = Rig(api, transport, ConditionTypes.AUTO)
    rig.report()
    assert rig.reporter.kubelet is False
    assert "EvictdMemoryPressure" not in rig.shown()


def test_a_clean_stop_on_a_calm_node_takes_everything_back(own: Rig) -> None:
    """Conditions False and self-describing, no taint of ours."""
    own.report(MEMORY, DISK)
    own.report()
    own.reporter.stop()
    own.driver.settle(own.queue)
    assert {status for kind, status in own.shown().items() if kind.startswith("Evictd")} == {"False"}
    assert own.taints() == set()
    assert own.reporter.due_at(own.driver.now) is None


def test_a_stop_under_pressure_hands_over_to_the_next_run(own: Rig, transport: Transport) -> None:
    """What holds stays with a new end of its validity, so that a rolling update lets no pod onto the node."""
    own.report(MEMORY)
    own.driver.run(own.queue, 30)
    own.reporter.stop()
    waited = own.reporter.pending
    own.driver.settle(own.queue)
    assert (waited, own.reporter.pending) == (True, False)
    assert (own.shown()["EvictdMemoryPressure"], own.taints()) == ("True", {"evictd.io/memory-pressure"})
    known = NodeClient(transport, "n1").get().conditions["EvictdMemoryPressure"]
    assert own.driver.wall() - 5 * SECOND <= holds_until(known) - VALID <= own.driver.wall()
    assert own.reporter.due_at(own.driver.now) is None
    after = Rig(own.api, transport, ConditionTypes.OWN)
    own.api.forget_requests()
    after.report(MEMORY)
    assert own.api.requests("patch nodes") == []
    statuses = {
        each["status"]
        for line in own.api.requests("patch nodes/status")
        for each in line.body["status"]["conditions"]
        if each["type"] == "EvictdMemoryPressure"
    }
    assert statuses == {"True"}


def test_a_start_after_a_crash_clears_what_was_left(own: Rig, transport: Transport) -> None:
    """The first report of the next life says what is true now."""
    own.report(MEMORY)
    after = Rig(own.api, transport, ConditionTypes.OWN)
    assert after.report() == ["EvictdHasSufficientMemory", "EvictdHasNoDiskPressure", "EvictdHasSufficientPID"]
    assert after.shown()["EvictdMemoryPressure"] == "False"
    assert after.taints() == set()


def test_after_an_outage_only_the_latest_state_is_written(own: DoubleRig) -> None:
    """A hundred changes while the server was away are one patch and one taint."""
    own.report()
    own.verbs()
    own.api.fault(status=503)
    for number in range(100):
        own.reporter.report([MEMORY] if number % 2 == 0 else [DISK], own.driver.now)
        own.driver.run(own.queue, 1)
    assert own.reporter.pending
    own.api.faults.clear()
    failed = len(own.verbs())
    own.driver.run(own.queue, 60)
    assert failed < 20
    assert own.shown()["EvictdDiskPressure"] == "True"
    assert own.taints() == {"evictd.io/disk-pressure"}
    made = own.verbs()
    assert made[:2] == ["patch nodes/status", "patch nodes"]


def test_a_reload_to_a_dry_run_takes_conditions_and_taints_back(own: Rig) -> None:
    """Nothing renews them then: the node would stay tainted for as long as the dry run lasts. Live again they return."""
    own.report(MEMORY)
    assert own.taints() == {"evictd.io/memory-pressure"}
    own.reporter.suspend()
    own.driver.settle(own.queue)
    assert own.shown()["EvictdMemoryPressure"] == "False"
    assert own.taints() == set()
    own.verbs()
    for _ in range(60):
        own.reporter.suspend()
        own.driver.run(own.queue, 60)
    assert own.verbs() == []
    own.reporter.stop()
    own.driver.settle(own.queue)
    assert own.verbs() == []
    assert own.report(MEMORY) == ["EvictdHasInsufficientMemory", "EvictdHasNoDiskPressure", "EvictdHasSufficientPID"]
    assert own.shown()["EvictdMemoryPressure"] == "True"
    assert own.taints() == {"evictd.io/memory-pressure"}


def test_a_dry_run_from_the_start_reports_nothing(own: Rig) -> None:
    own.reporter.suspend()
    own.driver.run(own.queue, 3600)
    assert "EvictdMemoryPressure" not in own.shown()


def test_a_conflict_is_tried_again(own: DoubleRig) -> None:
    """Another client wrote at the same moment."""
    own.report()
    own.api.fault(verb="patch", status=409, times=2)
    own.reporter.report([MEMORY], own.driver.now)
    own.driver.run(own.queue, 5)
    assert own.shown()["EvictdMemoryPressure"] == "True"


def test_a_node_that_is_not_there_is_said_and_not_asked_for_all_the_time(api: Api, transport: Transport) -> None:
    """The kubelet may not have registered it yet."""
    api.store.remove(NODE)
    rig = Rig(api, transport, ConditionTypes.OWN)
    rig.report(MEMORY)
    rig.driver.run(rig.queue, 60)
    assert len(rig.reporter.problems) == 1
    assert len(api.requests("get nodes")) < 20


def test_a_refusal_is_a_problem_until_the_same_works_again(own: DoubleRig) -> None:
    """A role that is bound later, a node that is registered at last: it is no problem any more."""
    own.report()
    own.api.fault(verb="patch", status=403)
    own.report(MEMORY)
    assert len(own.reporter.problems) == 1
    own.api.faults.clear()
    own.driver.run(own.queue, 120)
    assert own.shown()["EvictdMemoryPressure"] == "True"
    assert not own.reporter.problems


def test_no_taints_where_they_are_switched_off(api: Api, transport: Transport) -> None:
    """By configuration."""
    rig = Rig(api, transport, ConditionTypes.OWN, taints=False)
    rig.report(MEMORY)
    assert rig.taints() == set()
