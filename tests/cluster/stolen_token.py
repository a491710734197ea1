"""What a token of evictd that was stolen from node n1 might ask of the API server, and what the server answers.

    KUBEBUILDER_ASSETS=... python -m tests.cluster.stolen_token       # writes the table of docs/stolen-token.md anew

Each row is sent to a real server that has the shipped role and admission policies. Every target exists, and every request is one
that the cluster's administrator may send: what is refused is refused to the token.
"""

import contextlib
import copy
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster import objects, processes
from tests.cluster.binaries import Missing, find
from tests.cluster.control_plane import PROGRAMS, ControlPlane
from tests.deploy.manifests import base
from tests.kube.admin import MERGE_PATCH, Admin, Answer
from tests.kube.waiting import eventually

DOCUMENT = Path(__file__).parents[2] / "docs" / "stolen-token.md"
START, END = "<!-- stolen token: start -->\n", "<!-- stolen token: end -->\n"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
CREATED_TAINT = "node.kubernetes.io/out-of-service"

NODE, OTHER_NODE = f"{objects.NODES}/n1", f"{objects.NODES}/n2"
POD, OTHER_POD = f"{objects.PODS}/mine", f"{objects.PODS}/theirs"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
OWN = {"key": "evictd.io/memory-pressure", "effect": "NoSchedule"}
FOREIGN = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
TIME = "2026-11-21T02:00:00Z"

Json = Any


@dataclass(frozen=True, slots=True)
class Row:
    """One request. `allowed` is whether the server does it; `kind` is the body's content type."""

    what: str
    method: str
    path: str
    body: Json = None
    allowed: bool = False
    kind: str = MERGE_PATCH


def condition(kind: str, status: str = "True") -> Json:
    return {"type": kind, "status": status, "reason": "R", "message": "m", "lastTransitionTime": TIME}


def taints(*found: Json) -> Json:
    return {"spec": {"taints": list(found)}}


def status(**fields: Json) -> Json:
    return {"status": fields}


def conditions(kind: str, value: str = "True") -> Json:
    return status(conditions=[condition(kind, value)])


def meta(**fields: Json) -> Json:
    return {"metadata": fields}


OWNER = [{"apiVersion": "v1", "kind": "Pod", "name": "mine", "uid": "11111111-1111-1111-1111-111111111111"}]
CONTAINER = {"name": "c", "image": "i", "imageID": "i", "ready": True, "started": True, "restartCount": 1}
RUNNING = {**CONTAINER, "state": {"running": {}}}
EXIT = {"exitCode": 137, "reason": "Evicted", "finishedAt": TIME}
ENDED = {**CONTAINER, "state": {"terminated": EXIT}, "ready": False, "started": False}
EVICTED = {"phase": "Failed", "reason": "Evicted", "message": "m", "conditions": [condition("DisruptionTarget")]}


def ended(*kinds: str, **fields: Json) -> Json:
    """An evicted pod with its container and these conditions ended, and some fields of the container changed."""
    conditions_ = [condition(each, "False") for each in kinds]
    return status(**{**EVICTED, "containerStatuses": [{**ENDED, **fields}], "conditions": conditions_})


def eviction(name: str) -> Json:
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "default"}}


def patches(path: str, kind: str, *rows: tuple[str, Json, bool]) -> tuple[Row, ...]:
    return tuple(Row(what, "PATCH", path, body, allowed, kind) for what, body, allowed in rows)


NODE_EVENTS = POD_EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
MICRO = "2026-11-21T02:00:00.000001Z"
ABOUT_NODE = {"apiVersion": "v1", "kind": "Node", "name": "n1"}
ABOUT_POD = {**ABOUT_NODE, "kind": "Pod", "name": "mine", "namespace": "default", "uid": OWNER[0]["uid"]}
NAMED_BY_POD = {"name": "e.1", "annotations": {"starved_resource": "memory"}}
BIG = {"starved_resource": "x" * 100_000}


def managed(annotations: Json, *managers: str) -> Json:
    """Managed fields of an event with these annotations, an entry for each manager."""
    entry = {"operation": "Update", "apiVersion": "events.k8s.io/v1", "time": TIME, "fieldsType": "FieldsV1"}
    fields = {"f:note": {}, "f:metadata": {"f:annotations": {".": {}, **annotations}}}
    return [{**entry, "manager": manager, "fieldsV1": fields} for manager in managers or ("evictd",)]


def event(**fields: Json) -> Json:
    """An event as evictd writes it, with some fields changed."""
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e.1"},
        "eventTime": MICRO,
        "reportingController": "evictd.io/evictd",
        "reportingInstance": "evictd-n1",
        "action": "Reporting",
        "reason": "R",
        "regarding": ABOUT_NODE,
        "note": "n",
        "type": "Normal",
        **fields,
    }


ROWS = (
    # --- the node's status
    *patches(
        f"{NODE}/status",
        STRATEGIC,
        ("own condition on its node", conditions("EvictdMemoryPressure"), True),
        ("built-in pressure condition on its node", conditions("DiskPressure"), True),
        ("Ready of its node", conditions("Ready"), False),
        ("a condition of another program", conditions("NetworkUnavailable"), False),
        ("remove Ready", status(conditions=[{"type": "Ready", "$patch": "delete"}]), False),
        ("addresses of its node", status(addresses=[{"type": "InternalIP", "address": "192.0.2.9"}]), False),
        ("capacity of its node", status(capacity={"memory": "1Ti"}), False),
        ("allocatable of its node", status(allocatable={"memory": "1Ti"}), False),
        ("the kubelet's port", status(daemonEndpoints={"kubeletEndpoint": {"Port": 4194}}), False),
        ("images of its node", status(images=[{"names": ["a"], "sizeBytes": 1}]), False),
        ("kernel version", status(nodeInfo={"kernelVersion": "0"}), False),
        ("volumes in use", status(volumesInUse=["kubernetes.io/csi/x"]), False),
        ("phase of its node", status(phase="Terminated"), False),
        ("labels through the node's status", meta(labels={"pool": "secret"}), False),
        ("finalizer through the node's status", meta(finalizers=["evictd.io/stay"]), False),
    ),
    Row(
        "own condition on another node",
        "PATCH",
        f"{OTHER_NODE}/status",
        conditions("EvictdMemoryPressure"),
        False,
        STRATEGIC,
    ),
    # --- the node itself
    *patches(
        NODE,
        MERGE_PATCH,
        ("own taint on its node", taints(FOREIGN, OWN), True),
        ("own taint with PreferNoSchedule", taints(FOREIGN, {**OWN, "effect": "PreferNoSchedule"}), True),
        ("remove own taint", taints(FOREIGN), True),
        ("remove a foreign taint", taints(), False),
        ("another value for a foreign taint", taints({**FOREIGN, "value": "x"}), False),
        ("foreign taint added", taints(FOREIGN, {"key": CREATED_TAINT, "effect": "NoSchedule"}), False),
        ("own key with NoExecute", taints(FOREIGN, {**OWN, "effect": "NoExecute"}), False),
        ("unknown key of evictd.io", taints(FOREIGN, {"key": "evictd.io/x", "effect": "NoSchedule"}), False),
        ("cordon", {"spec": {"unschedulable": True}}, False),
        ("podCIDR", {"spec": {"podCIDR": "192.0.2.0/28", "podCIDRs": ["192.0.2.0/28"]}}, False),
        ("providerID", {"spec": {"providerID": "aws:///x"}}, False),
        ("labels of its node", meta(labels={"pool": "secret"}), False),
        ("annotations of its node", meta(annotations={"a": "b"}), False),
        ("finalizer on its node", meta(finalizers=["evictd.io/stay"]), False),
        ("owner of its node", meta(ownerReferences=OWNER), False),
    ),
    Row("own taint on another node", "PATCH", OTHER_NODE, taints(OWN)),
    Row(
        "cordon by JSON patch",
        "PATCH",
        NODE,
        [{"op": "add", "path": "/spec/unschedulable", "value": True}],
        kind=JSON_PATCH,
    ),
    Row("replace its node", "PUT", NODE, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}),
    Row("delete its node", "DELETE", NODE),
    Row("create a node", "POST", objects.NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n3"}}),
    Row("read another node", "GET", OTHER_NODE, allowed=True),
    # --- pods' status
    *patches(
        f"{POD}/status",
        STRATEGIC,
        ("DisruptionTarget on a pod of its node", conditions("DisruptionTarget"), True),
        ("Ready of a pod", status(conditions=[condition("Ready", "False")]), False),
        (
            "IP of a pod",
            status(podIP="192.0.2.9", podIPs=[{"ip": "192.0.2.3", "$patch": "delete"}, {"ip": "192.0.2.9"}]),
            False,
        ),
        ("IP of a pod's host", status(hostIP="192.0.2.9"), False),
        ("container states of a pod", status(containerStatuses=[]), False),
        ("phase Succeeded", status(phase="Succeeded"), False),
        ("another reason", status(reason="NodeLost"), False),
        ("labels through a pod's status", meta(labels={"app": "x"}), False),
        ("annotations through a pod's status", meta(annotations={"a": "b"}), False),
        ("finalizer through a pod's status", meta(finalizers=["evictd.io/stay"]), False),
        ("owner through a pod's status (the server ignores it)", meta(ownerReferences=OWNER), True),
        ("Failed and Evicted on a pod of its node", status(**EVICTED), True),
        ("the containers of an evicted pod as terminated", ended("Ready", "ContainersReady"), True),
        ("ended containers of a pod that is not evicted", status(containerStatuses=[ENDED]), False),
        ("Ready False of a pod that is not evicted", conditions("Ready", "False"), False),
        ("Initialized of an evicted pod", ended("Initialized"), False),
        ("image of an ended container", ended(image="x"), False),
        ("image id of an ended container", ended(imageID="x"), False),
        ("restarts of an ended container", ended(restartCount=0), False),
        ("last state of an ended container", ended(lastState={"terminated": EXIT}), False),
        ("name of an ended container", ended(name="x"), False),
        ("resources of an ended container", ended(resources={"limits": {"memory": "1Ti"}}), False),
        ("an ended container that is ready", ended(ready=True), False),
        ("another reason of an ended container", ended(state={"terminated": {**EXIT, "reason": "Completed"}}), False),
        ("exit code 0 of an ended container", ended(state={"terminated": {**EXIT, "exitCode": 0}}), False),
        ("an evicted pod's containers waiting", ended(state={"waiting": {"reason": "x"}}), False),
        ("one more container of an evicted pod", status(**EVICTED, containerStatuses=[ENDED, ENDED]), False),
        ("containers that were never listed", status(**EVICTED, ephemeralContainerStatuses=[ENDED]), False),
    ),
    Row("Failed and Evicted on another node's pod", "PATCH", f"{OTHER_POD}/status", status(**EVICTED), kind=STRATEGIC),
    # --- pods
    Row("labels of a pod", "PATCH", POD, meta(labels={"app": "x"})),
    Row("image of a pod", "PATCH", POD, {"spec": {"containers": [{"name": "c", "image": "x"}]}}, kind=STRATEGIC),
    Row("a pod on its node", "POST", objects.PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}),
    Row("a command in a pod", "POST", f"{POD}/exec?command=id"),
    Row("delete another node's pod", "DELETE", OTHER_POD),
    Row("delete all pods of a namespace", "DELETE", objects.PODS),
    Row("evict another node's pod (not covered)", "POST", f"{OTHER_POD}/eviction", eviction("theirs"), allowed=True),
    Row("delete a pod of its node", "DELETE", POD, allowed=True),
    # --- events
    *(
        Row(what, "POST", path, event(**fields), allowed)
        for what, path, fields, allowed in (
            ("event about its node", NODE_EVENTS, {}, True),
            (
                "event about a pod",
                POD_EVENTS,
                {"regarding": ABOUT_POD, "metadata": NAMED_BY_POD},
                True,
            ),
            (
                "event about the owner of a pod",
                POD_EVENTS,
                {"regarding": {**ABOUT_POD, "apiVersion": "apps/v1", "kind": "ReplicaSet"}},
                True,
            ),
            (
                "event about an owner in another namespace",
                POD_EVENTS,
                {"regarding": {**ABOUT_POD, "kind": "ReplicaSet", "namespace": "kube-system"}},
                False,
            ),
            ("event in another component's name", NODE_EVENTS, {"reportingController": "kubelet"}, False),
            ("event in the name of another node's evictd", NODE_EVENTS, {"reportingInstance": "evictd-n2"}, False),
            ("event about another node", NODE_EVENTS, {"regarding": {**ABOUT_NODE, "name": "n2"}}, False),
            ("event about a secret", NODE_EVENTS, {"regarding": {**ABOUT_POD, "kind": "Secret"}}, False),
            (
                "event about its node in another namespace",
                "/apis/events.k8s.io/v1/namespaces/kube-system/events",
                {},
                False,
            ),
            ("event with a label", NODE_EVENTS, {"metadata": {"name": "e.1", "labels": {"a": "b"}}}, False),
            (
                "event with a finalizer",
                NODE_EVENTS,
                {"metadata": {"name": "e.1", "finalizers": ["evictd.io/stay"]}},
                False,
            ),
            (
                "event with another annotation",
                NODE_EVENTS,
                {"metadata": {"name": "e.1", "annotations": {"a": "b"}}},
                False,
            ),
            (
                "event with an annotation of 100 KiB",
                NODE_EVENTS,
                {"metadata": {"name": "e.1", "annotations": BIG}},
                False,
            ),
            ("event with a related object", NODE_EVENTS, {"related": ABOUT_POD}, False),
            (
                "event with managed fields as evictd's",
                NODE_EVENTS,
                {"metadata": {**NAMED_BY_POD, "managedFields": managed({"f:starved_resource": {}})}},
                True,
            ),
            (
                "event with many managed fields",
                NODE_EVENTS,
                {"metadata": {"name": "e.1", "managedFields": managed({f"f:{n}": {} for n in range(10_000)})}},
                False,
            ),
            (
                "event with a managed field of 100 KiB",
                NODE_EVENTS,
                {"metadata": {"name": "e.1", "managedFields": managed({"f:" + "x" * 100_000: {}})}},
                False,
            ),
            (
                "event with managed fields of many managers",
                NODE_EVENTS,
                {"metadata": {"name": "e.1", "managedFields": managed({}, *map(str, range(100)))}},
                False,
            ),
            (
                "event with a path of 100 KiB",
                NODE_EVENTS,
                {"regarding": {**ABOUT_NODE, "fieldPath": "x" * 100_000}},
                False,
            ),
        )
    ),
    *patches(
        f"{NODE_EVENTS}/own",
        MERGE_PATCH,
        ("count its own event", {"series": {"count": 2, "lastObservedTime": MICRO}}, True),
        ("finalizer on its own event", meta(finalizers=["evictd.io/stay"]), False),
        ("labels of its own event", meta(labels={"a": "b"}), False),
    ),
    *patches(
        f"{NODE_EVENTS}/foreign",
        MERGE_PATCH,
        ("count another component's event", {"series": {"count": 2, "lastObservedTime": MICRO}}, False),
        ("finalizer on another component's event", meta(finalizers=["evictd.io/stay"]), False),
    ),
    # --- anything else
    Row("secrets", "GET", "/api/v1/secrets"),
    Row("config maps", "GET", "/api/v1/configmaps"),
    Row("list nodes", "GET", objects.NODES),
    Row("a token of its own account", "POST", "/api/v1/namespaces/evictd/serviceaccounts/evictd/token", {}),
    Row("the node's lease", "PATCH", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1", {"spec": {}}),
    Row("the role", "PATCH", "/apis/rbac.authorization.k8s.io/v1/clusterroles/evictd", {"rules": []}),
    Row("the policy", "DELETE", f"{ADMISSION}/validatingadmissionpolicies/evictd-own-node"),
    Row("the policy's binding", "DELETE", f"{ADMISSION}/validatingadmissionpolicybindings/evictd-own-pods"),
)


@dataclass(frozen=True, slots=True)
class Stage:
    """The cluster with what is shipped, a token of the DaemonSet's pod on n1, and one of the account without a pod."""

    admin: Admin
    token: Admin
    unbound: Admin


@contextlib.contextmanager
def stage(plane: ControlPlane) -> Iterator[Stage]:
    """Install the role and the policies, and steal a token."""
    admin = plane.admin
    with contextlib.ExitStack() as stack:
        for item in [each for each in base() if each["kind"] not in {"DaemonSet", "ConfigMap"}]:
            stack.enter_context(objects.created(admin, item))
        for name in ("n1", "n2"):
            stack.enter_context(objects.node(admin, name, taints=[FOREIGN]))
        stack.enter_context(objects.created(admin, objects.service_account("default", "default")))
        own = objects.pod("evictd-x", "n1", namespace="evictd", service_account="evictd")
        stack.enter_context(objects.created(admin, own))
        own = admin.must("GET", "/api/v1/namespaces/evictd/pods/evictd-x")
        made = Stage(
            admin=admin,
            token=plane.client_with(plane.service_account_token("evictd", "evictd", own)),
            unbound=plane.client_with(plane.service_account_token("evictd", "evictd")),
        )
        stack.callback(made.token.close)
        stack.callback(made.unbound.close)
        with targets(admin):  # a policy takes a moment to be in force
            probes = [
                (made.token, NODE, meta(labels={"probe": "x"})),
                (made.unbound, f"{POD}/status", status(message="x")),
            ]
            for client, path, body in probes:
                eventually(lambda: client.request("PATCH", f"{path}?dryRun=All", body).status in {403, 422})  # noqa: B023
            forged = event(reportingInstance="x")
            eventually(lambda: made.token.request("POST", f"{NODE_EVENTS}?dryRun=All", forged).status == 403)
        yield made


@contextlib.contextmanager
def targets(admin: Admin) -> Iterator[None]:
    """A pod on each node, running and Ready, and the nodes as they were."""
    with contextlib.ExitStack() as stack:
        for name, node in (("mine", "n1"), ("theirs", "n2")):
            stack.enter_context(objects.created(admin, objects.pod(name, node)))
            running = {
                "phase": "Running",
                "conditions": [condition("Ready")],
                "podIP": "192.0.2.3",
                "hostIP": "192.0.2.4",
            }
            running["containerStatuses"] = [RUNNING]
            admin.must("PATCH", f"{objects.PODS}/{name}/status", {"status": running})
        for path in (NODE, OTHER_NODE):
            admin.must("PATCH", path, taints(FOREIGN, OWN))
            ready = {"conditions": [condition("Ready", "False")], "phase": "Running"}
            admin.must("PATCH", f"{path}/status", {"status": ready})
        for name, fields in (("own", {}), ("foreign", {"reportingController": "kubelet", "reportingInstance": "n1"})):
            admin.request("POST", NODE_EVENTS, event(metadata={"name": name}, **fields))
            stack.callback(admin.request, "DELETE", f"{NODE_EVENTS}/{name}")
        yield


def send(client: Admin, row: Row) -> Answer:
    """Send a row; it changes nothing (`dryRun`)."""
    mark = "&" if "?" in row.path else "?"
    path = row.path if row.method == "GET" else f"{row.path}{mark}dryRun=All"
    body = copy.deepcopy(row.body)
    return client.request(row.method, path, body, row.kind if row.method == "PATCH" else "")


def table(stage_: Stage) -> str:
    """The table of the document: each answer of the server with the requests that have it."""
    requests: dict[tuple[int, str], list[str]] = {}
    with targets(stage_.admin):
        for row in ROWS:
            answer = send(stage_.token, row)
            words = "done" if answer.status < 300 else _short(answer.message)
            what = row.what if row.method == "PATCH" else f"{row.what} ({row.method})"
            requests.setdefault((answer.status, words), []).append(what)
    return grouped(requests)


def grouped(requests: Mapping[tuple[int, str], list[str]]) -> str:
    """A row for each answer, in the order in which they come first."""
    rows = [f"| {status} {words} | {'; '.join(what)} |" for (status, words), what in requests.items()]
    return "\n".join(["| answer | requests |", "|---|---|", *rows]) + "\n"


def _short(message: str) -> str:
    """A refusal by a policy in the policy's words, one by the role as that."""
    denied = re.search(r"denied request: (.*)$", message)
    if denied:
        return denied[1]
    return "no such right" if "cannot" in message else message[:80]


def documented() -> str:
    """The table that stands in the document."""
    return DOCUMENT.read_text().partition(START)[2].partition(END)[0]


def main() -> None:
    programs = find(*PROGRAMS)
    assert not isinstance(programs, Missing), str(programs)
    with processes.folder() as folder, ControlPlane(folder, programs) as plane, stage(plane) as made:
        found = table(made)
    before, _, rest = DOCUMENT.read_text().partition(START)
    DOCUMENT.write_text(before + START + found + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
