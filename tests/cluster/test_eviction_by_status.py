"""Evicts pods by their status on a node whose kubelet is away: what is shown, and what a kubelet that returns makes of it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from tests.cluster import objects
from tests.cluster.node import NAME, RealNode
from tests.cluster.side_by_side import OFF, Load, daemon, pods, status_of
from tests.kube.waiting import eventually

pytestmark = [pytest.mark.cluster, pytest.mark.root]

LEASE = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{NAME}"
FILL = "/bin/busybox fallocate -l 33554432 /scratch/x"
SCRIPTS = {"ignores": FILL, "obeys": f"trap 'exit 0' TERM; {FILL}; sleep 3600 & wait"}
LOADS = tuple(Load(name=name, script=text, size_limit="8Mi", restart_policy="Always") for name, text in SCRIPTS.items())


def test_an_evicted_pod_is_shown_as_evicted_and_stays_so_when_a_kubelet_returns(real_node: RealNode) -> None:
    """Whatever its containers ended with: the runtime has none of them any more, so a kubelet keeps what was written."""
    admin = real_node.plane.admin
    with pods(real_node, LOADS):
        with _kubelet_away(real_node), daemon(real_node, {}, evictionHard=OFF):
            for load in LOADS:
                path = f"{objects.PODS}/{load.name}"
                eventually(lambda path=path: _printed(admin.printed(path)) == ("Evicted", "0/1"), 120)  # type: ignore[misc]
            written = {load.name: status_of(real_node, load.name) for load in LOADS}
            eventually(lambda: not _containers(real_node))
        with pods(real_node, [Load(name="after")]):  # the kubelet works again
            for load in LOADS:
                eventually(lambda name=load.name: _seen_by_kubelet(real_node, name), 120)  # type: ignore[misc]
                found, before = status_of(real_node, load.name), written[load.name]
                for name in ("phase", "reason", "message", "containerStatuses"):
                    assert found[name] == before[name]
                assert _printed(admin.printed(f"{objects.PODS}/{load.name}")) == ("Evicted", "0/1")
    eventually(lambda: admin.must("GET", f"{objects.NODES}/{NAME}") and real_node.ready(), 120)


@contextmanager
def _kubelet_away(node: RealNode) -> Iterator[None]:
    """Stop the kubelet; its lease has run out."""
    assert node.kubelet is not None
    eventually(lambda: node.plane.admin.request("GET", LEASE).status == 200, 120)
    node.kubelet.stop()
    try:
        node.plane.admin.must("PATCH", LEASE, {"spec": {"renewTime": "2026-01-01T00:00:00.000000Z"}})
        yield
    finally:
        node.kubelet.start()


def _printed(row: Mapping[str, object]) -> tuple[object, object]:
    """What is written in two requests: the pod's status, then its containers'."""
    return row["Status"], row["Ready"]


def _containers(node: RealNode) -> str:
    """The ids of the containers of these pods; the kubelet that is away may have left some of others."""
    filters = (
        f'labels."io.kubernetes.pod.name"=={load.name},labels."io.kubernetes.container.name"==main' for load in LOADS
    )
    return node.ctr("containers", "list", "--quiet", *filters)


def _seen_by_kubelet(node: RealNode, pod: str) -> bool:
    """Whether a kubelet has written the status after evictd."""
    managers = node.plane.admin.must("GET", f"{objects.PODS}/{pod}")["metadata"]["managedFields"]
    times = {each["manager"]: each["time"] for each in managers if each.get("subresource") == "status"}
    return bool(times.get("kubelet", "") > times["evictd"])
