"""Whether a kubelet reports, on the real server: by the lease's own duration, by a Ready condition just written, in time."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from evictd.act.cluster.report import KUBELET_RHYTHM
from evictd.clients.kube.transport import Transport
from evictd.config.settings import ConditionTypes
from evictd.core.model.signal import NodeCondition
from evictd.core.units.duration import SECOND
from tests.cluster import objects
from tests.cluster.control_plane import ControlPlane
from tests.cluster.rig import Rig
from tests.kube.admin import Admin

pytestmark = pytest.mark.cluster

MEMORY = NodeCondition.MEMORY_PRESSURE
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
HEARTBEAT = KUBELET_RHYTHM.update / SECOND + 1


@pytest.fixture
def admin(control_plane: ControlPlane) -> Iterator[Admin]:
    """The administrator, with node n1 and without a lease of it."""
    with objects.node(control_plane.admin):
        yield control_plane.admin
        objects.remove(control_plane.admin, f"{LEASES}/n1")


def now(age_seconds: float = 0) -> str:
    return (datetime.now(UTC) - timedelta(seconds=age_seconds)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def renew(admin: Admin, *, age_seconds: float = 0, duration: int = 40) -> None:
    """Write the lease as a kubelet does."""
    spec = {"holderIdentity": "n1", "leaseDurationSeconds": duration, "renewTime": now(age_seconds)}
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "n1"}, "spec": spec}
    if admin.request("POST", LEASES, body).status == 409:
        admin.must("PATCH", f"{LEASES}/n1", {"spec": spec})


def ready(admin: Admin, reason: str, age_seconds: int = 0) -> None:
    """Write the Ready condition as a kubelet that has just registered its node."""
    time = now(age_seconds)[:19] + "Z"
    condition = {"type": "Ready", "status": "False", "reason": reason, "message": "m"}
    condition |= {"lastHeartbeatTime": time, "lastTransitionTime": time}
    admin.must("PATCH", f"{objects.NODES}/n1/status", {"status": {"conditions": [condition]}})


def shown(admin: Admin) -> dict[str, Any]:
    found = admin.must("GET", f"{objects.NODES}/n1")["status"].get("conditions", [])
    return {each["type"]: each for each in found}


@pytest.mark.parametrize(
    ("age", "duration", "expected"), [(100, 240, True), (100, 40, False), (5, 40, True), (15, 10, False)]
)
def test_the_leases_own_duration_counts(
    admin: Admin, real_transport: Transport, age: int, duration: int, expected: bool
) -> None:
    """`nodeLeaseDurationSeconds` is the kubelet's to configure."""
    renew(admin, age_seconds=age, duration=duration)
    rig = Rig(real_transport, ConditionTypes.AUTO)
    rig.report(MEMORY)
    assert rig.reporter.kubelet is expected
    assert ("EvictdMemoryPressure" in shown(admin)) is expected
    assert ("MemoryPressure" in shown(admin)) is not expected


@pytest.mark.parametrize(
    ("reason", "age", "expected"), [("KubeletNotReady", 2, True), ("KubeletNotReady", 3600, False), ("Other", 2, False)]
)
def test_a_ready_condition_just_written_is_a_kubelet(
    admin: Admin, real_transport: Transport, reason: str, age: int, expected: bool
) -> None:
    """A new node has no lease for some ten seconds; its kubelet's own types are left alone."""
    ready(admin, reason, age)
    rig = Rig(real_transport, ConditionTypes.AUTO)
    rig.report(MEMORY)
    assert rig.reporter.kubelet is expected
    assert ("MemoryPressure" in shown(admin)) is not expected


def test_a_kubelet_that_appears_under_pressure_gets_its_types_within_a_heartbeat(
    admin: Admin, real_transport: Transport
) -> None:
    """What stood under the built-in types is taken back once."""
    rig = Rig(real_transport, ConditionTypes.AUTO)
    rig.report(MEMORY)
    assert shown(admin)["MemoryPressure"]["status"] == "True"
    renew(admin)
    rig.driver.run(rig.queue, HEARTBEAT)
    assert shown(admin)["MemoryPressure"]["status"] == "False"
    assert shown(admin)["EvictdMemoryPressure"]["status"] == "True"
    version = shown(admin)["MemoryPressure"]["lastHeartbeatTime"]
    rig.driver.run(rig.queue, 120)
    assert shown(admin)["MemoryPressure"]["lastHeartbeatTime"] == version


def test_a_kubelet_that_leaves_under_pressure_is_replaced_within_a_heartbeat(
    admin: Admin, real_transport: Transport
) -> None:
    """Once its lease has run out."""
    renew(admin)
    rig = Rig(real_transport, ConditionTypes.AUTO)
    rig.report(MEMORY)
    assert shown(admin)["EvictdMemoryPressure"]["status"] == "True"
    renew(admin, age_seconds=60)
    rig.driver.run(rig.queue, HEARTBEAT)
    assert shown(admin)["MemoryPressure"]["status"] == "True"
    assert shown(admin)["EvictdMemoryPressure"]["status"] == "False"


@pytest.mark.parametrize("seen", [False, True], ids=["back between two looks", "gone when looked at"])
def test_a_node_that_was_deleted_and_came_back_has_the_condition_within_a_heartbeat(
    admin: Admin, control_plane: ControlPlane, real_transport: Transport, seen: bool
) -> None:
    """With a transition time of its own."""
    rig = Rig(real_transport, ConditionTypes.OWN)
    rig.report(MEMORY)
    before = shown(admin)["EvictdMemoryPressure"]["lastTransitionTime"]
    objects.remove(admin, f"{objects.NODES}/n1")
    if seen:
        rig.driver.run(rig.queue, 60)
        assert rig.reporter.problems
    with objects.node(control_plane.admin):
        rig.driver.run(rig.queue, HEARTBEAT)
        found = shown(admin)
        assert found["EvictdMemoryPressure"]["status"] == "True"
        assert {each["lastTransitionTime"] is None for each in found.values()} == {False}
        assert found["EvictdMemoryPressure"]["lastTransitionTime"] > before
        rig.driver.run(rig.queue, 120)
        assert {each["lastTransitionTime"] is None for each in shown(admin).values()} == {False}
    assert not rig.reporter.problems


def test_a_heartbeat_that_meets_a_node_registered_anew_is_a_transition(
    admin: Admin, control_plane: ControlPlane, real_transport: Transport
) -> None:
    """On a calm node nothing is read before it: the time that was left out is written after it."""
    rig = Rig(real_transport, ConditionTypes.OWN)
    rig.report()
    objects.remove(admin, f"{objects.NODES}/n1")
    with objects.node(control_plane.admin):
        rig.driver.run(rig.queue, 400)
        found = shown(admin)
        assert {kind for kind in found if kind.startswith("Evictd")} == {
            "EvictdMemoryPressure",
            "EvictdDiskPressure",
            "EvictdPIDPressure",
        }
        assert {each["lastTransitionTime"] is None for each in found.values()} == {False}
