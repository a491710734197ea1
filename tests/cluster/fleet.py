"""Many nodes without a kubelet on one real API server: Node objects and pods made here, and one evictd client for each node.

The clients are those of the daemon (`act.cluster.wiring.build`) in one process, each with its node's bound token, under the
shipped role and policies; only the containers are simulated: they stop at once. `Traffic` counts requests from the audit log.
`Kubelets` sends what a kubelet is documented to send: a lease every 10 s, its status every 5 minutes, one watch of its pods.
"""

import contextlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from heapq import heappop, heappush
from random import random
from typing import Any

from evictd.act.cluster.request_queue import Clocks
from evictd.act.cluster.wiring import Cluster, build
from evictd.clients.kube.credentials import Credentials
from evictd.clients.kube.pods import PodWatch
from evictd.clients.kube.transport import MERGE_PATCH, Transport
from evictd.clock import boot_clock, wall_clock
from evictd.config.settings import ClusterSettings
from evictd.core.model.decision import EvictionCause, EvictionReason, EvictPod, PodCondition
from evictd.core.model.pod import Pod
from evictd.core.model.signal import NodeCondition
from tests.cluster import objects
from tests.cluster.control_plane import ControlPlane
from tests.deploy.manifests import USER, base
from tests.kube.waiting import eventually

CLOCKS = Clocks(now=boot_clock, wall=wall_clock, random=random)
NAMESPACE, LEASES = "evictd", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
LOOP_SECONDS = 1.0
WORKERS = 16
SOON = 300.0
MESSAGE = "The node was low on resource: memory."
NODE_NAME = "authentication.kubernetes.io/node-name"
_ORDER = ("Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")

Json = dict[str, Any]


class Stopped:
    """The runtime of one node: what is stopped has stopped."""

    def __init__(self) -> None:
        self._uids: set[str] = set()

    def stop(self, pod: Pod, grace_seconds: int, *, freeze: bool = False) -> None:
        self._uids.add(pod.uid)

    def stopped(self, uid: str) -> bool:
        return uid in self._uids

    def forget(self, uid: str) -> None:
        self._uids.discard(uid)


@contextlib.contextmanager
def nodes(plane: ControlPlane, count: int, pods: int) -> Iterator[list[str]]:
    """Make nodes, and on each evictd's own pod and some others; gives their names. The server is the caller's to end."""
    admin = plane.admin
    for item in sorted(base(), key=lambda item: _ORDER.index(item["kind"]) if item["kind"] in _ORDER else len(_ORDER)):
        if item["kind"] in objects.PATHS and item["kind"] != "DaemonSet":
            folder = objects.PATHS[item["kind"]].format(item["metadata"].get("namespace", ""))
            assert admin.request("POST", folder, item).status in {201, 409}
    admin.request(
        "POST", objects.PATHS["ServiceAccount"].format("default"), objects.service_account("default", "default")
    )
    names = [f"scale-{number}" for number in range(count)]

    def make(name: str) -> None:
        admin.must("POST", objects.NODES, {"kind": "Node", "apiVersion": "v1", "metadata": {"name": name}})
        own = objects.pod(f"evictd-{name}", name, namespace=NAMESPACE, service_account="evictd")
        made = admin.must("POST", objects.PATHS["Pod"].format(NAMESPACE), own)
        token = plane.service_account_token(NAMESPACE, "evictd", made)
        plane.kubeconfig_with({"token": token}, f"{name}.kubeconfig")
        for number in range(pods):
            pod = admin.must("POST", objects.PODS, objects.pod(f"{name}-{number}", name))
            status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
            admin.must("PATCH", f"{objects.PODS}/{pod['metadata']['name']}/status", {"status": status})

    _everywhere(make, names)
    yield names


def _everywhere(work: Callable[[Any], object], items: Iterable[Any]) -> None:
    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(work, items))


class Fleet:
    """The clients of all nodes and their loops; `start` begins all at the same moment, which a rolling update would not."""

    def __init__(self, plane: ControlPlane, names: list[str]) -> None:
        self.clusters: dict[str, Cluster] = {}
        self._stop = threading.Event()
        self._loop = threading.Thread(target=self._run, name="fleet", daemon=True)
        for name in names:
            settings = ClusterSettings(kubeconfig=str(plane.folder / f"{name}.kubeconfig"), node_name=name)
            self.clusters[name] = build(settings, node_name=name, stopper=Stopped(), clocks=CLOCKS, environ={})

    def start(self) -> None:
        """Start every client, with no condition to report, and wait until the server shows that."""
        for each in self.clusters.values():
            each.start()
            each.reporter.report((), boot_clock())
        self._loop.start()
        self.wait_until_calm()

    def wait_until_calm(self) -> None:
        """Wait until every client has its pods and nothing left to send."""
        eventually(lambda: all(self._calm(each) for each in self.clusters.values()), SOON)

    def _calm(self, each: Cluster) -> bool:
        followed = each.watch.snapshot.synced and not each.watch.snapshot.problem
        return followed and not each.reporter.pending and not each.queue.problem and not each.evictor.in_flight()

    def press(self) -> None:
        """Report memory pressure on every node and evict one pod of each; waits until the last has its status."""
        for name, each in self.clusters.items():
            each.reporter.report((NodeCondition.MEMORY_PRESSURE,), boot_clock())
            pod = next(pod for pod in each.pods.bound() or () if pod.name == f"{name}-0")
            each.evictor.begin(_decision(pod), boot_clock())
        eventually(lambda: all(any(_terminal(each)) for each in self.clusters.values()), SOON)

    def relieve(self) -> None:
        """Report no condition again."""
        for each in self.clusters.values():
            each.reporter.report((), boot_clock())
        self.wait_until_calm()

    def close(self) -> None:
        """End every client."""
        self._stop.set()
        if self._loop.is_alive():
            self._loop.join()
        _everywhere(lambda each: each.close(report=False), self.clusters.values())

    def _run(self) -> None:
        """What the loop of each daemon calls, once a second."""
        while not self._stop.wait(LOOP_SECONDS):
            now = boot_clock()
            for each in self.clusters.values():
                each.evictor.advance(now)
                each.evictor.take_evicted()
                each.reporter.heartbeat(now)


def _terminal(each: Cluster) -> Iterator[bool]:
    return (pod.terminal for pod in each.watch.snapshot.pods.values())


def _decision(pod: Pod) -> EvictPod:
    because = EvictionCause(reason=EvictionReason.PRESSURE)
    return EvictPod(
        pod=pod,
        grace_period_seconds=0,
        message=MESSAGE,
        because=because,
        condition=PodCondition(type="DisruptionTarget", status="True", reason="TerminationByKubelet", message=MESSAGE),
    )


class Kubelets:
    """The documented traffic of as many kubelets, each with a connection of its own; sent by a few threads when due."""

    def __init__(self, plane: ControlPlane, names: list[str]) -> None:
        self._credentials = Credentials(str(plane.kubeconfig("other")))
        self._transports = {name: Transport(self._credentials) for name in names}
        self._watches = [
            PodWatch(each, name, clock=boot_clock, random=random) for name, each in self._transports.items()
        ]
        self._due: list[tuple[float, str, str]] = []
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(WORKERS)]
        now = time.monotonic()
        for name in names:
            heappush(self._due, (now + 10 * random(), "lease", name))
            heappush(self._due, (now + 300 * random(), "status", name))

    def start(self) -> None:
        """Begin; nothing is waited for."""
        for watch in self._watches:
            watch.start()
        for thread in self._threads:
            thread.start()

    def wait_until_calm(self) -> None:
        """Wait until every watch goes on."""
        eventually(lambda: all(each.snapshot.synced and not each.snapshot.problem for each in self._watches), SOON)

    def close(self) -> None:
        """End all threads."""
        self._stop.set()
        _everywhere(lambda each: each.close(), self._watches)
        for each in self._threads:
            each.join()
        for transport in self._transports.values():
            transport.close()

    def _run(self) -> None:
        while not self._stop.wait(0.02):
            with self._lock:
                if not self._due or self._due[0][0] > time.monotonic():
                    continue
                due, what, name = heappop(self._due)
                heappush(self._due, (due + (10 if what == "lease" else 300) * (0.98 + 0.04 * random()), what, name))
            with contextlib.suppress(
                Exception
            ):  # the server is away; a kubelet tries its lease again with the next one
                self._send(what, name)

    def _send(self, what: str, name: str) -> None:
        transport = self._transports[name]
        at = datetime.now().astimezone().isoformat()
        if what == "status":
            ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": at}
            body: Json = {"status": {"conditions": [ready]}}
            transport.request("PATCH", f"{objects.NODES}/{name}/status", body=body, content_type=MERGE_PATCH)
            return
        spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": at}
        missing = frozenset({404})
        path = f"{LEASES}/{name}"
        if (
            transport.request("PATCH", path, body={"spec": spec}, content_type=MERGE_PATCH, accept=missing).status
            == 404
        ):
            lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}, "spec": spec}
            transport.request("POST", LEASES, body=lease)


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    """Requests of a part of the run, by kind and second; the most of one node in a second, 0 if users name no node."""

    total: int
    kinds: Counter[str]
    seconds: Counter[int]
    refused: int
    most_of_a_node: int

    @property
    def most(self) -> int:
        """The most in one second."""
        return max(self.seconds.values(), default=0)


class Traffic:
    """Counts the requests since the last call, of evictd or of another user."""

    def __init__(self, plane: ControlPlane) -> None:
        self._log = plane.audit_log
        self._read = self._log.stat().st_size

    def since(self, user: str = USER) -> Requests:
        """Count what has been written to the audit log; a watch counts once, when it begins."""
        with self._log.open("rb") as log:
            log.seek(self._read)
            text = log.read()
        text = text[: text.rfind(b"\n") + 1]
        self._read += len(text)
        seen: dict[str, Json] = {}
        for line in text.splitlines():
            if user.encode() in line:
                entry = json.loads(line)
                if entry["user"]["username"] == user:
                    first = seen.setdefault(entry["auditID"], entry)
                    first["responseStatus"] = entry.get("responseStatus", {})
        kinds, seconds, nodes, refused = Counter[str](), Counter[int](), Counter[tuple[str, int]](), 0
        for entry in seen.values():
            at = int(datetime.fromisoformat(entry["requestReceivedTimestamp"]).timestamp())
            target = entry.get("objectRef", {})
            kinds["/".join(filter(None, (f"{entry['verb']} {target.get('resource')}", target.get("subresource"))))] += 1
            seconds[at] += 1
            for node in entry["user"].get("extra", {}).get(NODE_NAME, ()):
                nodes[node, at] += 1
            refused += entry["responseStatus"].get("code", 200) == 429
        most = max(nodes.values(), default=0)
        return Requests(total=len(seen), kinds=kinds, seconds=seconds, refused=refused, most_of_a_node=most)
