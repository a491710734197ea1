"""What the real scheduler, DaemonSet controller and node lifecycle controller make of evictd's taints: docs/cluster.md."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from evictd.clients.kube.transport import Transport
from evictd.config.settings import TaintEffect
from evictd.core.model.signal import NodeCondition
from tests.cluster import objects
from tests.cluster.binaries import Missing, find
from tests.cluster.control_plane import ControlPlane
from tests.cluster.processes import Process
from tests.cluster.rig import Rig
from tests.kube.admin import Admin
from tests.kube.waiting import eventually

pytestmark = pytest.mark.cluster

Json = dict[str, Any]
MEMORY = NodeCondition.MEMORY_PRESSURE
BOUND = 120.0
DAEMON_SETS = "/apis/apps/v1/namespaces/default/daemonsets"
TOLERATION = {"key": "evictd.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}
BUILT_IN = "node.kubernetes.io/memory-pressure"
ROOM = {"pods": "20", "cpu": "4", "memory": "4Gi"}


@contextmanager
def running(*processes: Process) -> Iterator[None]:
    with ExitStack() as stack:
        for process in processes:
            process.start()
            stack.callback(process.stop)
        yield


@contextmanager
def ready_node(admin: Admin, name: str) -> Iterator[None]:
    """A node as a kubelet that is ready shows it."""
    with objects.node(admin, name) as path:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "m"}
        times = {"lastHeartbeatTime": now, "lastTransitionTime": now}
        status = {"capacity": ROOM, "allocatable": ROOM, "conditions": [{**ready, **times}]}
        admin.must("PATCH", f"{path}/status", {"status": status})
        yield


def scheduler(plane: ControlPlane) -> Process:
    flags = {"kubeconfig": plane.kubeconfig("scheduler"), "leader-elect": "false", "secure-port": "0"}
    program = str(program_of("kube-scheduler"))
    return Process("kube-scheduler", plane.folder, [program, *(f"--{name}={value}" for name, value in flags.items())])


def program_of(name: str) -> Any:
    programs = find(name)
    if isinstance(programs, Missing):
        pytest.skip(str(programs))
    return programs[name]


def pending_pod(name: str) -> Json:
    """A pod for the scheduler."""
    made = objects.pod(name, "")
    del made["spec"]["nodeName"]
    return made


def daemon_set(name: str, tolerations: list[Json]) -> Json:
    spec = {**pending_pod(name)["spec"], "tolerations": tolerations}
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def node_of(admin: Admin, pod: str) -> str:
    return str(admin.must("GET", f"{objects.PODS}/{pod}")["spec"].get("nodeName", ""))


def unschedulable(admin: Admin, pod: str) -> bool:
    found = admin.must("GET", f"{objects.PODS}/{pod}")["status"].get("conditions", [])
    return any(each.get("reason") == "Unschedulable" and "untolerated taint" in each["message"] for each in found)


def bound_pods(admin: Admin, app: str) -> list[str]:
    items = admin.must("GET", f"{objects.PODS}?labelSelector=app%3D{app}")["items"]
    return [each["spec"].get("nodeName", "") for each in items]


def settled(admin: Admin, name: str) -> bool:
    """Whether the controller has seen the DaemonSet as it is."""
    found = admin.must("GET", f"{DAEMON_SETS}/{name}")
    return bool(found["status"].get("observedGeneration") == found["metadata"]["generation"])


@pytest.mark.parametrize("effect", TaintEffect)
def test_where_pods_go_while_the_node_is_tainted(
    control_plane: ControlPlane, real_transport: Transport, effect: TaintEffect
) -> None:
    """An ordinary pod, and DaemonSets with and without a toleration; then a second node joins."""
    admin, strict = control_plane.admin, effect is TaintEffect.NO_SCHEDULE
    manager = control_plane.controller_manager(program_of("kube-controller-manager"), "daemonset-controller")
    with ExitStack() as stack:
        stack.enter_context(objects.created(admin, objects.service_account("default", "default")))
        stack.enter_context(ready_node(admin, "n1"))
        Rig(real_transport, taint_effect=effect).report(MEMORY)
        stack.enter_context(running(scheduler(control_plane), manager))
        stack.enter_context(objects.created(admin, pending_pod("ordinary")))
        for name, tolerations in (("plain", []), ("tolerates", [TOLERATION])):
            stack.callback(_remove_pods, admin, name)
            stack.enter_context(objects.created(admin, daemon_set(name, tolerations)))
            eventually(lambda name=name: settled(admin, name), BOUND)  # type: ignore[misc]
        eventually(lambda: bound_pods(admin, "tolerates") == ["n1"], BOUND)
        if strict:
            eventually(lambda: unschedulable(admin, "ordinary"), BOUND)
            assert bound_pods(admin, "plain") == []
        else:
            eventually(lambda: node_of(admin, "ordinary") == "n1", BOUND)
            eventually(lambda: bound_pods(admin, "plain") == ["n1"], BOUND)
        stack.enter_context(ready_node(admin, "n2"))
        eventually(lambda: "n2" in bound_pods(admin, "plain"), BOUND)  # the scheduler knows of the second node
        stack.enter_context(objects.created(admin, pending_pod("second")))
        eventually(lambda: node_of(admin, "second") == "n2", BOUND)


def _remove_pods(admin: Admin, app: str) -> None:
    for item in admin.must("GET", f"{objects.PODS}?labelSelector=app%3D{app}")["items"]:
        objects.remove(admin, f"{objects.PODS}/{item['metadata']['name']}")


def test_built_in_keys_do_not_stay_without_their_condition(control_plane: ControlPlane) -> None:
    """Why evictd has keys of its own: the node lifecycle controller removes a built-in taint that no condition explains."""
    admin = control_plane.admin
    own = {"key": "evictd.io/memory-pressure", "effect": "NoSchedule"}
    manager = control_plane.controller_manager(program_of("kube-controller-manager"), "node-lifecycle-controller")
    with ready_node(admin, "n1"), running(manager):
        path = f"{objects.NODES}/n1"
        admin.must("PATCH", path, {"spec": {"taints": [own, {"key": BUILT_IN, "effect": "NoSchedule"}]}})
        eventually(lambda: BUILT_IN not in str(admin.must("GET", path)["spec"].get("taints")), BOUND)
        assert own in admin.must("GET", path)["spec"]["taints"]
