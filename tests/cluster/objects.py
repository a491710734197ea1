"""Objects on the real server for one test: made by the API, gone afterwards."""

import contextlib
from collections.abc import Iterator
from typing import Any

from tests.kube.admin import Admin
from tests.kube.waiting import eventually

Json = dict[str, Any]
NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
AT_ONCE = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}


@contextlib.contextmanager
def node(admin: Admin, name: str = "n1", **spec: Any) -> Iterator[str]:
    """A Node object without a kubelet; gives its path. `spec` replaces what admission puts into a new node's."""
    admin.must("POST", NODES, {"kind": "Node", "apiVersion": "v1", "metadata": {"name": name}})
    path = f"{NODES}/{name}"
    try:
        admin.must("PATCH", path, {"spec": {"taints": [], **spec}})
        yield path
    finally:
        remove(admin, path)


def remove(admin: Admin, path: str) -> None:
    """Delete an object at once and wait until it is gone."""
    admin.request("DELETE", path, AT_ONCE)
    eventually(lambda: admin.request("GET", path).status == 404)


PATHS = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
    "Pod": "/api/v1/namespaces/{}/pods",
    "Secret": "/api/v1/namespaces/{}/secrets",
    "Service": "/api/v1/namespaces/{}/services",
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "DaemonSet": "/apis/apps/v1/namespaces/{}/daemonsets",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "ReplicaSet": "/apis/apps/v1/namespaces/{}/replicasets",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
    "ResourceQuota": "/api/v1/namespaces/{}/resourcequotas",
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
    "ValidatingAdmissionPolicy": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
}


@contextlib.contextmanager
def created(admin: Admin, item: Json) -> Iterator[str]:
    """An object as a manifest has it; gives its path. A namespace stays: nothing runs here that would finalize it."""
    folder = PATHS[item["kind"]].format(item["metadata"].get("namespace", ""))
    path = f"{folder}/{item['metadata']['name']}"
    answer = admin.request("POST", folder, item)
    assert answer.status in {201, 409}, answer.message
    try:
        yield path
    finally:
        if item["kind"] != "Namespace":
            remove(admin, path)


def service_account(namespace: str, name: str) -> Json:
    """An account as the controller manager makes it in each namespace."""
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta, "automountServiceAccountToken": False}


def pod(name: str, node_name: str, *, namespace: str = "default", service_account: str = "default") -> Json:
    """A pod of one container, bound to a node."""
    spec = {"nodeName": node_name, "serviceAccountName": service_account, "automountServiceAccountToken": False}
    containers = [{"name": "c", "image": "i"}]
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {**spec, "containers": containers}}


def budget(admin: Admin, name: str, labels: dict[str, str], allowed: int | None) -> str:
    """Make or change a budget that allows so many disruptions; gives its path. `None`: its controller has not seen it yet."""
    path = f"{BUDGETS}/{name}"
    spec = {"minAvailable": 1, "selector": {"matchLabels": labels}}
    body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec}
    if admin.request("GET", path).status == 404:
        admin.must("POST", BUDGETS, body)
    if allowed is not None:
        counts = {"disruptionsAllowed": allowed, "currentHealthy": 1 + allowed, "desiredHealthy": 1, "expectedPods": 1}
        generation = admin.must("GET", path)["metadata"]["generation"]
        admin.must("PATCH", f"{path}/status", {"status": {"observedGeneration": generation, **counts}})
    return path
