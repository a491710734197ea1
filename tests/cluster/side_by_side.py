"""Runs the kubelet's own eviction and evictd (policy Kubelet, dry run) on the same node, and collects what each decided.

The kubelet acts; evictd only records. Both read the same files and the same configuration, so the pod that the kubelet evicts
next is the pod that evictd names until it is gone.
"""

import json
import ssl
import sys
import time
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from evictd.core.units.quantity import parse_quantity
from evictd_testnode.images import BUSYBOX
from tests.cluster import objects
from tests.cluster.control_plane import ControlPlane
from tests.cluster.node import NAME, RealNode
from tests.cluster.processes import Process
from tests.kube.waiting import eventually

Json = dict[str, Any]
NEARLY_ALL = "nearly all of the node"
MI = 1 << 20
WATCHED = {"limits": {"ephemeral-storage": "3Gi"}, "requests": {"ephemeral-storage": "0"}}
EVENTS = "/api/v1/namespaces/default/events"
HIGH = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
OFF = dict.fromkeys(
    ("memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree"), "0%"
)
"""Every default of the kubelet's evictionHard, switched off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resize:
    """What is asked for in place, and the kubelet's answer: `Deferred`, `Infeasible`, or nothing where it is granted."""

    memory: str
    """`NEARLY_ALL` of the node's memory is deferred; more than all of it is refused by the API server."""
    cpu: str = ""
    """Of a Guaranteed pod: infeasible under the static CPU manager policy, and the memory with it."""
    answer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A pod of a scenario: its script, requests, limits and priority class; `/scratch` is an emptyDir."""

    name: str
    script: str = "true"
    resources: Json = field(default_factory=dict)
    priority_class: str = ""
    image: str = BUSYBOX
    size_limit: str = ""
    medium: str = ""
    figure: str = "ephemeral-storage.usedBytes"
    """What the script raises, as the kubelet's summary names it, and by how much at least."""
    least: int = 0
    restart_policy: str = "Never"
    grace_seconds: int = 1

    def manifest(self) -> Json:
        """Write the pod."""
        pod = objects.pod(self.name, NAME)
        fields = {"sizeLimit": self.size_limit, "medium": self.medium}
        volume: Json = {name: value for name, value in fields.items() if value}
        pod["spec"] |= {
            "hostNetwork": True,
            "terminationGracePeriodSeconds": self.grace_seconds,
            "restartPolicy": self.restart_policy,
            "volumes": [{"name": "scratch", "emptyDir": volume}],
            "containers": [
                {
                    "name": "main",
                    "image": self.image,
                    "imagePullPolicy": "Never",
                    "command": ["/bin/sh", "-c", f"{self.script}; exec sleep 3600"],
                    "resources": self.resources,
                    "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
                }
            ],
        }
        if self.priority_class:
            pod["spec"]["priorityClassName"] = self.priority_class
        return pod


def disk(name: str, mib: int, *, place: str = "/scratch", **fields: Any) -> Load:
    """A pod that takes disk at once, without writing it: of its emptyDir, or of its writable layer."""
    return Load(name=name, script=f"/bin/busybox fallocate -l {mib * MI} {place}/x", least=mib * MI, **fields)


def memory(name: str, mib: int, **fields: Any) -> Load:
    """A pod that fills an emptyDir in memory: its working set stays as it is."""
    return disk(name, mib, medium="Memory", figure="memory.workingSetBytes", **fields)


def files(name: str, count: int) -> Load:
    """A pod with many empty files. The limit has evictd count them while the node is calm, as the kubelet always does."""
    script = f"i=0; while [ $i -lt {count} ]; do : > /scratch/$i; i=$((i + 1)); done"
    return Load(name=name, script=script, figure="ephemeral-storage.inodesUsed", least=count, resources=WATCHED)


def sleepers(name: str, count: int, **fields: Any) -> Load:
    """A pod with many processes."""
    script = f"i=0; while [ $i -lt {count} ]; do sleep 3600 & i=$((i + 1)); done"
    return Load(name=name, script=script, figure="process_stats.process_count", least=count, **fields)


@contextmanager
def kubelet_with(node: RealNode, **config: Any) -> Iterator[None]:
    """Restart the kubelet with these fields, and with its own at the end."""
    path = node.folder / "kubelet.json"
    before = path.read_text()
    try:
        path.write_text(json.dumps({**json.loads(before), **config}))
        _restart(node)
        yield
    finally:
        path.write_text(before)
        _restart(node)


def _restart(node: RealNode) -> None:
    """Restart the kubelet; its lease is renewed by the new one, which answers."""
    assert node.kubelet is not None
    lease = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{NAME}"
    eventually(lambda: node.plane.admin.request("GET", lease).status == 200, 120)
    node.kubelet.stop()
    node.path("/var/lib/kubelet/cpu_manager_state").unlink(
        missing_ok=True
    )  # with that of another policy it does not start
    before = node.plane.admin.must("GET", lease)["spec"]["renewTime"]
    node.kubelet.start()
    eventually(lambda: node.plane.admin.must("GET", lease)["spec"]["renewTime"] != before and node.ready(), 120)
    eventually(lambda: _answers(node), 120)


def _answers(node: RealNode) -> bool:
    """Whether the kubelet serves its own address; a part of it that has begun may renew the lease earlier."""
    try:
        of_kubelet(node, "/configz")
    except OSError:
        return False
    return True


@contextmanager
def daemon(node: RealNode, evictd: Json, *flags: str, **config: Any) -> Iterator["Recorded"]:
    """Run evictd inside the node's namespaces, as its flags, its own document and the fields of the kubelet's document say."""
    folder = node.folder / f"evictd-{time.monotonic_ns()}"
    folder.mkdir()
    kubelet = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": node.cgroup,
        **config,
    }
    own = {
        "apiVersion": "evictd.io/v1alpha1",
        "kind": "EvictdConfiguration",
        "listenAddress": "",
        "stateDirectory": str(folder / "state"),
        **evictd,
        "cluster": {
            "kubeconfig": str(node.plane.kubeconfig("evictd")),
            "nodeName": NAME,
            **evictd.get("cluster", {}),
        },
    }
    path = folder / "config.yaml"
    path.write_text(f"{json.dumps(kubelet)}\n---\n{json.dumps(own)}\n")
    arguments = [sys.executable, "-m", "evictd", "run", f"--config={path}", "--log-format=json", *flags]
    process = node.process(folder.name, arguments)
    process.start()
    try:
        eventually(lambda: "starting" in process.log.read_text() or not process.running(), 120)
        assert process.running(), process.last_words()
        yield Recorded(Path(own["stateDirectory"]), process)
    finally:
        process.stop()


@contextmanager
def pods(node: RealNode, loads: Iterable[Load], *, running: bool = True) -> Iterator[None]:
    """Create pods and wait until each runs or has ended, unless `running` is False; they are gone at the end."""
    admin = node.plane.admin
    try:
        for load in loads:
            admin.must("POST", objects.PODS, load.manifest())
        for load in loads if running else ():
            eventually(partial(_begun, node, load.name), 120)
        yield
    finally:
        for load in loads:
            objects.remove(admin, f"{objects.PODS}/{load.name}")


def resize(node: RealNode, resizes: Mapping[str, Resize]) -> None:
    """Ask for these resizes of pods in place, by name, and wait until the kubelet has answered each as it should."""
    for name, asked in resizes.items():
        wanted = _nearly_all(node) if asked.memory == NEARLY_ALL else asked.memory
        resources: Json = {"requests": {"memory": wanted}}
        if asked.cpu:
            both = {"memory": wanted, "cpu": asked.cpu}
            resources = {"requests": both, "limits": both}
        path, kind = f"{objects.PODS}/{name}/resize", "application/strategic-merge-patch+json"
        spec = {"containers": [{"name": "main", "resources": resources}]}
        node.plane.admin.must("PATCH", path, {"spec": spec}, kind)
        eventually(partial(_answered, node, name, asked.answer or wanted), 120)


def _nearly_all(node: RealNode) -> str:
    allocatable = node.plane.admin.must("GET", f"{objects.NODES}/{NAME}")["status"]["allocatable"]["memory"]
    return f"{parse_quantity(allocatable).value() // MI - 16}Mi"


def _answered(node: RealNode, name: str, answer: str) -> bool:
    """Whether a resize is pending for this reason, or this memory request is the allocated one."""
    status = status_of(node, name)
    reasons = [each["reason"] for each in status["conditions"] if each["type"] == "PodResizePending"]
    return answer in reasons or status["containerStatuses"][0]["allocatedResources"]["memory"] == answer


def _begun(node: RealNode, pod: str) -> bool:
    return status_of(node, pod).get("phase") in {"Running", "Failed"}


def status_of(node: RealNode, pod: str) -> Json:
    """Return the pod's status."""
    found: Json = node.plane.admin.must("GET", f"{objects.PODS}/{pod}")["status"]
    return found


class Recorded:
    """What a daemon recorded."""

    def __init__(self, state: Path, process: Process) -> None:
        self.state = state
        self.process = process

    def records(self) -> list[Json]:
        """Return the journal's complete records."""
        files = sorted(self.state.glob("journal.jsonl*"), key=lambda path: path.stat().st_mtime)
        texts = [path.read_text() for path in files]
        return [json.loads(line) for text in texts for line in text[: text.rfind("\n") + 1].splitlines()]


def summary(node: RealNode) -> Json:
    """Ask the kubelet for its summary of the node and its pods."""
    return of_kubelet(node, "/stats/summary")


def of_kubelet(node: RealNode, path: str) -> Json:
    """Read an address of the kubelet, as the API server does; it proxies no request to a node on loopback."""
    context = ssl.create_default_context(cafile=None)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # the kubelet's certificate is its own
    context.load_cert_chain(node.folder / "kubelet-client.crt", node.folder / "kubelet-client.key")
    port = json.loads((node.folder / "kubelet.json").read_text())["port"]
    with urllib.request.urlopen(f"https://127.0.0.1:{port}{path}", context=context, timeout=30) as answer:
        found: Json = json.load(answer)
    return found


def all_measured(node: RealNode, loads: Iterable[Load]) -> bool:
    """Whether the kubelet has measured all that the pods take, and the runtime their writable layers, which are never empty."""
    pods = {each["podRef"]["name"]: each for each in summary(node)["pods"]}
    return all(load.name in pods and _measured(pods[load.name], load) for load in loads)


def _measured(pod: Json, load: Load) -> bool:
    outer, _, inner = load.figure.partition(".")
    layers = [each.get("rootfs", {}).get("usedBytes", 0) for each in pod["containers"]]
    return bool(layers) and all(layers) and pod.get(outer, {}).get(inner, 0) >= load.least


def disruption_targets(plane: ControlPlane, uid: str) -> list[Json]:
    """Return the DisruptionTarget conditions that were written for a pod.

    From the audit log: the pod's object may be gone before a busy machine looks at it again.
    """
    lines = plane.audit_log.read_text().rpartition("\n")[0].splitlines()
    patches = [json.loads(line) for line in lines if uid in line and "DisruptionTarget" in line]
    bodies = [
        each["requestObject"]
        for each in patches
        if each["verb"] == "patch" and each["stage"] == "ResponseComplete" and each["responseStatus"]["code"] == 200
    ]
    return [
        condition
        for body in bodies
        if body["metadata"].get("uid") == uid
        for condition in body["status"]["conditions"]
        if condition["type"] == "DisruptionTarget"
    ]


def events(node: RealNode, pod: str) -> list[Json]:
    """Return the Evicted events of a pod, by the kubelet."""
    return [each for each in evicted_events(node) if each["involvedObject"]["name"] == pod]


def evicted_events(node: RealNode) -> list[Json]:
    """Return all Evicted events in the order of their writing."""
    items = [each for each in node.plane.admin.must("GET", EVENTS)["items"] if each["reason"] == "Evicted"]
    return sorted(items, key=lambda each: int(each["metadata"]["resourceVersion"]))
