"""Runs a story in a cluster: the API server's double over HTTPS, and a kubelet double on the node's real containers.

Evidence comes from the double. With every write it notes who was running when the write was done and its answer not yet out: so
"before the first kill" is read off, and not timed.
"""

import shutil
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from evictd.act.cluster.conditions import TAINTS
from evictd.act.cluster.pod_eviction import BEFORE_KILL
from evictd.clients.cri.client import CriClient
from evictd.core.gc.container_gc import ContainerState
from evictd.core.model.signal import NodeCondition
from evictd.errors import EvictdError
from evictd_testnode.node import DisposableNode
from evictd_testnode.pods import CONFIG_SOURCE, RunningPod, VolumeRecipe, manifest
from tests.e2e.story import SLEEPS, Story
from tests.kube.api_server import ApiServer, Logged
from tests.kube.kubelet import Containers, Kubelet
from tests.kube.objects import node as node_object
from tests.kube.store import Json, Key, stamp
from tests.kube.waiting import eventually

NODE_NAME = "n1"
NODE: Key = ("nodes", "", NODE_NAME)
OWN = "Evictd"
CONFLICT = 409
ONE_CYCLE = 0.6
"""Seconds; what the standalone stories have seen to stay calm for longer needs no more than another look."""
CONFIG_MIRROR = "kubernetes.io/config.mirror"
READING = {"get", "list", "watch"}


class Runtime(Containers):
    """The node's real containers as the kubelet double and the API server double see them, from any thread.

    Nothing is restarted: a stopped pod's object is on its way out by the time a kubelet would notice.
    """

    def __init__(self, node: DisposableNode) -> None:
        super().__init__()
        self.left_alone: set[str] = set()
        """Uids of the pods to which the kubelet gives all the grace that they have."""
        self._client = CriClient(node.endpoint)
        self._folder = node.kubelet_folder / "pods"

    def alive(self) -> frozenset[str]:
        """The uids of the pods with a running container."""
        with self.lock:
            uids = {sandbox.id: sandbox.uid for sandbox in self._client.list_sandboxes()}
            rows = self._client.list_containers()
        return frozenset(uids.get(row.sandbox_id, "") for row in rows if row.state is ContainerState.RUNNING)

    def running(self, uid: str) -> bool:
        return uid in self.alive()

    def stop(self, uid: str, *names: str, exit_code: int = 137) -> bool:
        """End the pod, and remove its volumes as a kubelet does."""
        if uid in self.left_alone and self.running(uid):
            return False
        with self.lock:
            for sandbox in self._client.list_sandboxes():
                if sandbox.uid == uid:
                    eventually(partial(self._stopped, sandbox.id))
            eventually(partial(self._emptied, self._folder / uid))
            self.by_pod[uid] = dict.fromkeys(names or ("main",), exit_code)
        return True

    def _stopped(self, sandbox_id: str) -> bool:
        try:
            self._client.stop_sandbox(sandbox_id)
        except EvictdError:  # evictd stops it at the same moment; a kubelet tries again
            return False
        return True

    def _emptied(self, folder: Path) -> bool:
        shutil.rmtree(folder, ignore_errors=True)  # a process that is about to end may still write there
        return not any(path.is_file() for path in folder.rglob("*"))

    def close(self) -> None:
        self._client.close()


@dataclass(frozen=True, slots=True)
class Write:
    """A request that was to change something, and the uids of the pods that ran when it was done."""

    line: Logged
    alive: frozenset[str]
    noted_at: int
    """Nanoseconds of the boot-time clock, the journal's: when it was known who ran, and the answer was still to come."""

    @property
    def what(self) -> str:
        """`patch nodes/status`."""
        return self.line.what

    @property
    def name(self) -> str:
        """The name of the object."""
        return self.line.attributes.name

    def status_of(self, kind: str) -> str:
        """The status of a condition in a patch."""
        rows = (self.line.body.get("status") or {}).get("conditions") or []
        return next((row["status"] for row in rows if row["type"] == kind), "")

    def sets(self, kind: str) -> bool:
        """Whether a patch sets this condition."""
        return self.status_of(kind) == "True"

    @property
    def own_taints(self) -> list[str]:
        """The keys of evictd's taints in the list that a patch gives the node."""
        keys = (row["key"] for row in self.line.body["spec"]["taints"])
        return [key for key in keys if key in TAINTS.values()]


class WitnessServer(ApiServer):
    """The API server double of one real node."""

    def __init__(self, folder: Path, runtime: Runtime) -> None:
        super().__init__(folder)
        self.runtime = runtime
        self._writes: list[Write] = []
        self._noting = threading.Lock()

    def note(self, line: Logged) -> None:
        super().note(line)
        if line.attributes.verb not in READING:
            with self._noting:
                alive = self.runtime.alive()
                self._writes.append(Write(line, alive, time.clock_gettime_ns(time.CLOCK_BOOTTIME)))

    def writes(self, what: str = "", name: str = "") -> list[Write]:
        """The writes in order, or those that read like `patch pods/status` and are about this object.

        Taints that met a conflict are left out: the kubelet's double writes the node at the same time, and they are sent again.
        """
        with self._noting:
            found = [each for each in self._writes if (each.what, each.line.status) != ("patch nodes", CONFLICT)]
        return [each for each in found if what in ("", each.what) and name in ("", each.name)]

    def said_of(self, kind: str, *, since: int = 0) -> list[str]:
        """The statuses that a condition was given, one after the other, beginning with this write; repetitions left out."""
        statuses = [status for write in self.writes()[since:] if (status := write.status_of(kind))]
        return [status for status, _ in groupby(statuses)]

    def node(self) -> Json:
        """The node's object."""
        return self.store.get(NODE) or {}

    def reported(self) -> dict[str, Json]:
        """The node's conditions by type."""
        return {row["type"]: row for row in self.node()["status"]["conditions"]}

    def taints(self) -> set[str]:
        """The node's taints of evictd, as `key:effect`."""
        rows = self.node()["spec"].get("taints") or []
        return {f"{row['key']}:{row['effect']}" for row in rows if row["key"].startswith("evictd.io/")}

    def pod(self, name: str) -> Json:
        """A pod's object; empty where there is none."""
        return self.store.get(("pods", "default", name)) or {}

    def events(self, reason: str) -> list[Json]:
        """The events with this reason."""
        return [event for event in self.store.list("events")[0] if event["reason"] == reason]


@contextmanager
def a_cluster(node: DisposableNode, folder: Path, *, kubelet: bool = True) -> Iterator[WitnessServer]:
    """An API server that knows the node, and a kubelet that reports and keeps the pods."""
    with closing(Runtime(node)) as runtime, WitnessServer(folder, runtime) as api:
        api.store.create("nodes", node_object(NODE_NAME, kubelet=kubelet))
        played = Kubelet(api.store, NODE_NAME, runtime)
        if kubelet:
            played.sync()
        with played.running(0.1) if kubelet else nullcontext():
            yield api


class ClusterStory(Story):
    """A story whose pods the API server knows, and whose conditions are read there."""

    def __init__(
        self,
        node: DisposableNode,
        api: WitnessServer,
        kubelet: Mapping[str, Any],
        cluster: Mapping[str, Any] | None = None,
        *,
        arguments: Sequence[str] = (),
        **evictd: Any,
    ) -> None:
        settings = {"kubeconfig": str(api.kubeconfig()), "nodeName": NODE_NAME, **(cluster or {})}
        given = {
            "stateDirectory": str(api.folder / "state"),
            "reclaim": {"images": "Off"},  # the node is used again
            "cluster": settings,
            **evictd,
        }
        super().__init__(node, kubelet, given, arguments=arguments)
        self.api = api
        (node.folder / "evictd.log").unlink(missing_ok=True)

    def pod(
        self, name: str, script: str = SLEEPS, *, volumes: Sequence[VolumeRecipe] = (), **recipe: Any
    ) -> RunningPod:
        """Start a pod, and show it in the API."""
        made = super().pod(name, script, volumes=volumes, manifest=False, **recipe)
        self.api.store.create("pods", bound(made))
        return made

    def conditions(self) -> set[str]:
        """The pressure conditions that are True in the API, of any writer's type; `ready` once evictd has reported."""
        own = {kind.removeprefix(OWN): row for kind, row in self.api.reported().items() if kind.startswith(OWN)}
        found = own or {kind: row for kind, row in self.api.reported().items() if kind.endswith("Pressure")}
        return {"ready" for _ in found} | {kind for kind, row in found.items() if row["status"] == "True"}

    def until_condition(self, condition: str) -> float:
        """Wait until the node reports it, or has reported it: a short pressure may be over before a busy machine looks."""

        def reported() -> bool:
            kinds = (condition, OWN + condition)
            return any(write.sets(kind) for write in self.api.writes("patch nodes/status") for kind in kinds)

        return self.until(reported, f"{condition} is reported")

    def until_reported(self) -> None:
        """Wait until evictd has reported the node's conditions for the first time."""
        self.until(lambda: "ready" in self.conditions(), "the node is reported calm")

    def until_settled(self, *victims: str) -> None:
        """Wait until these pods' objects are removed, their events written, and the node has no condition and no taint."""
        self.until(lambda: not any(self.api.pod(name) for name in victims), "the victims' objects are gone")
        self.until(lambda: set(victims) <= self._told_of(), "the victims' events arrive")
        self.until_calm("pressure", calm=ONE_CYCLE)
        self.until(lambda: not self.api.taints(), "the taints are gone")

    def _told_of(self) -> set[str]:
        return {event["regarding"]["name"] for event in self.api.events("Evicted")}

    def verify_face(self, pressure: str, *victims: str) -> None:
        """The writes to the API server of one time of pressure: each once, in order, and about no other object."""
        api, own = self.api, OWN + pressure
        # A write is noted after it was done; one thread sends the conditions and then the taints.
        self.until(lambda: len(api.writes("patch nodes")) >= 2, "the second change of the taints is noted")
        assert api.said_of(own) == ["False", "True", "False"]
        reported = next(w for w in api.writes("patch nodes/status") if w.sets(own))
        tainted, cleared = api.writes("patch nodes")
        assert tainted.own_taints == [TAINTS[NodeCondition(pressure)]]
        assert cleared.own_taints == []
        about_pods = [w for w in api.writes() if w.line.attributes.resource == "pods"]
        assert {w.name for w in about_pods} == set(victims)
        assert {w.line.status for w in api.writes()} <= {200, 201}
        for name in victims:
            (event,) = [each for each in api.events("Evicted") if each["regarding"]["name"] == name]
            assert event["regarding"]["uid"] == self.uid(name)
        if victims:
            self.verify_order(victims[0], reported, tainted, about_pods[0])
        told = [(e["regarding"].get("uid"), e["reason"], e["note"]) for e in api.store.list("events")[0]]
        assert len(told) == len(set(told))

    def verify_order(self, victim: str, *writes: Write) -> None:
        """The writes came in this order, and the node's own ones while the victim still ran.

        An eviction waits for them for half a second, and one without grace not at all: what a busy machine writes later has no
        order. What was sent by one thread, as the writes about the node are, has one in any case.
        """
        about_node = [write for write in writes if write.line.attributes.resource == "nodes"]
        ordered = writes if self._waits_for(victim, *about_node) else about_node
        times = [write.line.at for write in ordered]
        assert times == sorted(times)
        if ordered is writes:
            assert all(self.uid(victim) in write.alive for write in about_node)

    def _waits_for(self, victim: str, *writes: Write) -> bool:
        eviction = next(each for each in self.evictions() if each["pod"]["name"] == victim)
        killed_at_once = f"default/{victim} (grace period 0s)" in self.log()
        return not killed_at_once and all(write.noted_at < eviction["now"] + BEFORE_KILL for write in writes)

    def uid(self, name: str) -> str:
        """The uid of a pod that was started."""
        return self.pods[name].uid


def bound(pod: RunningPod) -> Json:
    """A running pod as the API server shows it; a static one by its mirror."""
    made: Json = manifest(pod.recipe, pod.uid)
    if pod.recipe.source == "api":
        made["metadata"]["annotations"].pop(CONFIG_SOURCE, None)
    else:  # the mirror of a static pod, which has a uid of its own
        made["metadata"]["annotations"][CONFIG_MIRROR] = pod.uid
        made["metadata"]["uid"] = str(uuid.uuid4())
        node = {"apiVersion": "v1", "kind": "Node", "name": NODE_NAME, "uid": "node", "controller": True}
        made["metadata"]["ownerReferences"] = [node]
    made["spec"]["nodeName"] = NODE_NAME
    made["status"] = {"phase": "Running", "startTime": stamp(), "conditions": []}
    return made
