"""The Node object and lease, and writes that change only evictd's own entries."""

import pytest

from evictd.clients.kube.nodes import Condition, Lease, NodeClient, NodeObject, kubelet_reports
from evictd.clients.kube.transport import Transport
from evictd.codec.times import format_time, parse_time
from evictd.core.units.duration import HOUR, MINUTE, SECOND
from evictd.errors import ApiRefusedError, ApiUnavailableError
from tests.kube.api import Api
from tests.kube.api_server import ApiServer
from tests.kube.kubelet import Kubelet
from tests.kube.rbac import Rbac

NOW = parse_time("2026-11-21T02:30:00Z")
BEHIND, AHEAD = NOW - 20 * MINUTE, NOW + HOUR
"""Clocks of nodes, beside the server's."""


def node(reason: str = "KubeletReady", status: str = "True", age_seconds: int = 10, at: int = NOW) -> NodeObject:
    """A node whose Ready condition is so old by the clock `at`."""
    time = format_time(at - age_seconds * SECOND)
    ready = Condition(type="Ready", status=status, reason=reason, last_heartbeat_time=time)
    return NodeObject(name="n1", uid="u", conditions={"Ready": ready}, taints=(), resource_version="1", date=NOW)


def lease(age_seconds: int, duration_seconds: int = 40, at: int = NOW) -> Lease:
    """A lease that is so old by the clock `at`."""
    return Lease(renewed_at=at - age_seconds * SECOND, date=NOW, duration=duration_seconds * SECOND)


@pytest.mark.parametrize(
    ("found", "lease", "expected"),
    [
        (node(), lease(10), True),
        (node(), lease(41), False),
        (node(), lease(200, 240), True),
        (node(), lease(15, 10), False),
        (node(), None, True),
        (node(age_seconds=3600), None, False),
        (node(status="Unknown"), None, False),
        (node(reason="ProviderReady"), None, False),
    ],
    ids=[
        *("fresh lease", "old lease", "long lease", "short lease"),
        *("heartbeat", "old heartbeat", "node controller", "not a kubelet"),
    ],
)
def test_whether_a_kubelet_reports(found: NodeObject, lease: Lease | None, expected: bool) -> None:
    """The lease decides by its own duration where there is one, the kubelet's own heartbeat otherwise."""
    assert kubelet_reports(found, lease, NOW) is expected


@pytest.mark.parametrize("clock", [BEHIND, AHEAD], ids=["late", "early"])
@pytest.mark.parametrize("leased", [True, False], ids=["lease", "heartbeat"])
def test_the_clocks_of_node_and_server_need_not_agree(clock: int, *, leased: bool) -> None:
    """The kubelet writes its node's time, which is evictd's. A time of neither clock proves nothing, also one to come."""
    made = lease(10, at=clock) if leased else None
    assert kubelet_reports(node(at=clock), made, clock)
    made = lease(10, at=AHEAD) if leased else None
    assert not kubelet_reports(node(at=AHEAD), made, NOW)


def test_the_age_of_the_lease(api: Api, transport: Transport) -> None:
    """By the server's clock; no lease is no kubelet."""
    client = NodeClient(transport, "n1")
    assert client.lease() is None
    Kubelet(api.store, "n1").sync()
    found = client.lease()
    assert found is not None
    assert -2 * SECOND < found.date - found.renewed_at < 30 * SECOND
    assert found.duration == 40 * SECOND


def test_a_lease_that_may_not_be_read_is_a_refusal(api: ApiServer, transport: Transport) -> None:
    api.rbac = Rbac(())
    with pytest.raises(ApiRefusedError, match="403"):
        NodeClient(transport, "n1").lease()


def test_a_condition_patch_leaves_the_others_and_their_times(api: Api, transport: Transport) -> None:
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


def test_taints_are_replaced_as_a_whole_at_the_version_they_were_read(api: Api, transport: Transport) -> None:
    """The other entries are in the request with all of their fields."""
    client = NodeClient(transport, "n1")
    before = client.get()
    own = {"key": "evictd.io/memory-pressure", "effect": "NoSchedule"}
    added = client.replace_taints(before, [*before.taints, own])
    assert list(added.taints) == [*before.taints, own]
    assert client.replace_taints(added, []).taints == ()


def test_taints_are_not_replaced_on_a_node_that_has_changed(api: Api, transport: Transport) -> None:
    """409: what another writer wrote in the meantime stays."""
    client = NodeClient(transport, "n1")
    before = client.get()
    between = client.replace_taints(before, [{"key": "theirs", "effect": "NoExecute", "value": "x"}])
    with pytest.raises(ApiRefusedError, match="409"):
        client.replace_taints(before, [])
    assert client.get().taints == between.taints


def test_a_missing_node_is_a_refusal(api: Api, transport: Transport) -> None:
    with pytest.raises(ApiRefusedError, match="404"):
        NodeClient(transport, "nobody").get()


@pytest.mark.parametrize(
    "body",
    [
        b'{"kind": "Status"}',
        b'{"kind": "Pod", "metadata": {"name": "n1", "resourceVersion": "1"}}',
        b'{"kind": "Node", "metadata": {"name": "n2", "resourceVersion": "1"}}',
    ],
)
def test_an_invalid_node_is_unavailable(api: ApiServer, transport: Transport, body: bytes) -> None:
    """Another object has no taints, which would be written back so."""
    api.fault(verb="get", status=200, body=body, times=1)
    with pytest.raises(ApiUnavailableError, match="an invalid node"):
        NodeClient(transport, "n1").get()


def test_a_404_of_another_server_does_not_say_that_there_is_no_lease(api: ApiServer, transport: Transport) -> None:
    """Without one, a kubelet that runs counts as absent."""
    api.fault(verb="get", resource="leases", status=404, body=b"default backend - 404", times=1)
    with pytest.raises(ApiUnavailableError, match="404"):
        NodeClient(transport, "n1").lease()
    assert NodeClient(transport, "n1").lease() is None
