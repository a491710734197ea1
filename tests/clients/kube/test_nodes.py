"""The node's object: who reports on it, and writes that touch nothing but our own entries."""

from datetime import UTC, datetime, timedelta

import pytest
from tests.kube.api_server import ApiServer
from tests.kube.kubelet import Kubelet
from tests.kube.objects import node as node_object
from tests.kube.rbac import Grant, Rbac

from evictd.clients.kube.nodes import Condition, Node, NodeClient, find_kubelet, kubelet_reports
from evictd.clients.kube.transport import Transport
from evictd.errors import ApiRefusedError, ApiUnavailableError

NOW = datetime(2026, 11, 21, 2, 30, tzinfo=UTC)


def node(reason: str = "KubeletReady", status: str = "True", age_seconds: int = 10) -> Node:
    """A node whose Ready condition is so old."""
    time = (NOW - timedelta(seconds=age_seconds)).isoformat()
    ready = Condition(type="Ready", status=status, reason=reason, last_heartbeat_time=time)
    return Node(name="n1", uid="u", conditions={"Ready": ready}, taints=frozenset(), date=NOW)


@pytest.mark.parametrize(
    ("found", "lease_age", "known", "expected"),
    [
        (node(), 10.0, True, True),
        (node(), 41.0, True, False),
        (node(), None, True, False),
        (node(), None, False, True),
        (node(age_seconds=3600), None, False, False),
        (node(status="Unknown"), None, False, False),
        (node(reason="ProviderReady"), None, False, False),
    ],
    ids=["fresh lease", "old lease", "no lease", "heartbeat", "old heartbeat", "node controller", "not a kubelet"],
)
def test_whether_a_kubelet_reports(found: Node, lease_age: float | None, known: bool, expected: bool) -> None:
    """The lease decides where it can be read, the kubelet's own heartbeat otherwise."""
    assert kubelet_reports(found, lease_age, lease_known=known) is expected


def test_find_kubelet_by_its_lease(api: ApiServer, transport: Transport) -> None:
    """A kubelet that renews its lease is there; a node without one has none."""
    client = NodeClient(transport, "n1")
    assert not find_kubelet(client)
    Kubelet(api.store, "n1").sync()
    assert find_kubelet(client)


def test_find_kubelet_where_leases_are_forbidden(api: ApiServer, transport: Transport) -> None:
    """Then the node's conditions tell: the recorded ones are old, a fresh heartbeat is not."""
    rule = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}
    api.rbac = Rbac([Grant(user="admin", namespace="", rule=rule)])
    assert not find_kubelet(NodeClient(transport, "n1"))

    def beat(item: dict[str, object]) -> None:
        fresh = node_object()
        for condition in fresh["status"]["conditions"]:
            condition["lastHeartbeatTime"] = datetime.now(UTC).isoformat()
        item["status"] = fresh["status"]

    api.store.update(("nodes", "", "n1"), beat)
    assert find_kubelet(NodeClient(transport, "n1"))


def test_a_condition_patch_leaves_the_others_and_their_times(api: ApiServer, transport: Transport) -> None:
    """Only the types given change; without a transition time the old one stays."""
    client = NodeClient(transport, "n1")
    before = client.get().conditions
    first = Condition(
        type="EvictdMemoryPressure", status="True", reason="R", message="m", last_transition_time="2026-11-21T02:00:00Z"
    )
    client.patch_conditions([first])
    again = Condition(type="EvictdMemoryPressure", status="True", reason="R", message="n")
    after = client.patch_conditions([again]).conditions
    assert {kind: condition for kind, condition in after.items() if kind in before} == before
    assert after["EvictdMemoryPressure"].last_transition_time == "2026-11-21T02:00:00Z"
    assert after["EvictdMemoryPressure"].message == "n"


def test_taints_of_others_stay(api: ApiServer, transport: Transport) -> None:
    """Added and removed by key."""
    client = NodeClient(transport, "n1")
    before = client.get().taints
    added = client.patch_taints(add=["evictd.io/memory-pressure"], remove=["evictd.io/disk-pressure"]).taints
    assert added == before | {"evictd.io/memory-pressure:NoSchedule"}
    assert client.patch_taints(add=[], remove=["evictd.io/memory-pressure"]).taints == before


def test_a_node_that_is_not_there_and_one_that_is_none(api: ApiServer, transport: Transport) -> None:
    """404 is a refusal; an answer of something else is unavailable."""
    with pytest.raises(ApiRefusedError, match="404"):
        NodeClient(transport, "nobody").get()
    api.fault(verb="get", status=200, body=b'{"kind": "Status"}', times=1)
    with pytest.raises(ApiUnavailableError, match="no node"):
        NodeClient(transport, "n1").get()
