"""`evictd cleanup` on the real server, with the account, the role and the admission policy of `deploy/cleanup`."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evictd import cli
from evictd.clients.kube.transport import Transport
from evictd.core.model.signal import NodeCondition
from evictd.errors import ExitCode
from tests.cluster import objects
from tests.cluster.control_plane import ControlPlane
from tests.cluster.rig import Rig
from tests.deploy.manifests import DEPLOY, cleanup, documents
from tests.kube.admin import Admin
from tests.kube.waiting import eventually

pytestmark = pytest.mark.cluster

Json = dict[str, Any]
ACCOUNT = "evictd-cleanup"
FOREIGN = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
STRATEGIC = "application/strategic-merge-patch+json"


@dataclass(frozen=True, slots=True)
class Account:
    """The removal's account: a client of its own, and its kubeconfig."""

    client: Admin
    kubeconfig: Path


@pytest.fixture
def account(control_plane: ControlPlane) -> Iterator[Account]:
    """Two nodes with the marks of an evictd that is gone, and the account whose policy is in force."""
    admin = control_plane.admin
    with ExitStack() as stack:
        items = [*documents(DEPLOY / "base" / "namespace.yaml"), *cleanup()]
        for item in items:
            if item["kind"] != "Job":
                stack.enter_context(objects.created(admin, item))
        for name in ("n1", "n2"):
            stack.enter_context(objects.node(admin, name, taints=[FOREIGN]))
        token = control_plane.service_account_token("evictd", ACCOUNT)
        client = control_plane.client_with(token)
        stack.callback(client.close)
        probe = {"metadata": {"labels": {"probe": "x"}}}
        path = f"{objects.NODES}/n1?dryRun=All"
        eventually(lambda: "may not change a node's metadata" in client.request("PATCH", path, probe).message)
        yield Account(client, control_plane.kubeconfig_with({"token": token}, "cleanup.kubeconfig"))


def test_one_node_then_all_with_the_least_rights(
    control_plane: ControlPlane, real_transport: Transport, account: Account
) -> None:
    """Conditions and taints of evictd go, of the named node first; other taints stay."""
    admin = control_plane.admin
    for name in ("n1", "n2"):
        Rig(real_transport, node_name=name).report(NodeCondition.MEMORY_PRESSURE)
        assert marks(admin, name) == (True, True)
    kubeconfig = f"--kubeconfig={account.kubeconfig}"
    assert cli.main(["cleanup", "--node", "n1", kubeconfig]) == ExitCode.DONE
    assert [marks(admin, name) for name in ("n1", "n2")] == [(False, False), (True, True)]
    assert cli.main(["cleanup", "--all", kubeconfig]) == ExitCode.DONE
    assert [marks(admin, name) for name in ("n1", "n2")] == [(False, False)] * 2
    for name in ("n1", "n2"):
        assert admin.must("GET", f"{objects.NODES}/{name}")["spec"]["taints"] == [FOREIGN]


def marks(admin: Admin, name: str) -> tuple[bool, bool]:
    """Whether a node has conditions and taints of evictd."""
    node = admin.must("GET", f"{objects.NODES}/{name}")
    found = node["status"].get("conditions", [])
    return any(each["type"].startswith("Evictd") for each in found), "evictd.io/" in str(node["spec"].get("taints"))


def test_the_account_may_do_nothing_else(account: Account) -> None:
    """The policy forbids what the role alone would allow; the role allows no pods, no secrets, and not the node's kubelet."""
    node = f"{objects.NODES}/n1"
    own = {"key": "evictd.io/memory-pressure", "effect": "NoSchedule"}
    writes: list[tuple[str, Json, str]] = [
        (node, {"spec": {"taints": [FOREIGN, own]}}, ""),
        (node, {"spec": {"taints": []}}, ""),
        (node, {"spec": {"unschedulable": True}}, ""),
        (f"{node}/status", {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, STRATEGIC),
        (f"{node}/status", {"status": {"conditions": [{"type": "MemoryPressure", "status": "True"}]}}, STRATEGIC),
    ]
    for path, body, kind in writes:
        answer = account.client.request("PATCH", f"{path}?dryRun=All", body, kind)
        assert (answer.status, "the cleanup of evictd may" in answer.message) == (403, True), body
    for path in ("/api/v1/secrets", objects.PODS, f"{node}/proxy/"):
        assert account.client.request("GET", path).status == 403
