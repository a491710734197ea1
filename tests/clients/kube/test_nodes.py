"""The node's object: who reports on it, and writes that touch nothing but our own entries."""

from datetime import UTC, datetime, timedelta

import pytest

from evictd.clients.kube.nodes import Condition, Node, NodeClient, kubelet_reports
from evictd.clients.kube.transport import Transport
from evictd.errors import ApiRefusedError, ApiUnavailableError
from tests.kube.api_server import ApiServer
from tests.kube.kubelet import Kubelet
from tests.kube.rbac import Rbac

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


def test_the_age_of_the_lease(api: ApiServer, transport: Transport) -> None:
    """By the server's clock; no lease is no kubelet, one that may not be read is a refusal."""
    client = NodeClient(transport, "n1")
    assert client.lease_age_seconds() is None
    Kubelet(api.store, "n1").sync()
    age = client.lease_age_seconds()
    assert age is not None
    assert -2 < age < 30
    api.rbac = Rbac(())
    with pytest.raises(ApiRefusedError, match="403"):
        client.lease_age_seconds()


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
