"""A story in a cluster: the API server's double over HTTPS, and the kubelet's part played on the node's real containers.

Evidence comes from the double. With every write it notes who was running when the write was done and its answer not yet out: so
"before the first kill" is read off, and not timed.
"""

import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evictd.clients.cri import CriClient
from evictd.clients.cri.values import ContainerState
from evictd.demo.node import DisposableNode
from evictd.demo.pods import CONFIG_SOURCE, RunningPod, VolumeRecipe, manifest
from tests.e2e.story import SLEEPS, Story
from tests.kube.api_server import ApiServer, Logged
from tests.kube.kubelet import Containers, Kubelet
from tests.kube.objects import node as node_object
from tests.kube.store import Json, Key, stamp

NODE_NAME = "n1"
NODE: Key = ("nodes", "", NODE_NAME)
OWN = "Evictd"
READING = {"get", "list", "watch"}


class Runtime(Containers):
    """The node's real containers as the kubelet double and the API server double see them, from any thread.

    Nothing is restarted: a stopped pod's object is on its way out by the time a kubelet would notice.
    """

    def __init__(self, node: DisposableNode) -> None:
        super().__init__()
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

    def stop(self, uid: str, *names: str, exit_code: int = 137) -> None:
        """End the pod, and remove its volumes as a kubelet does."""
        with self.lock:
            for sandbox in self._client.list_sandboxes():
                if sandbox.uid == uid:
                    self._client.stop_sandbox(sandbox.id)
            shutil.rmtree(self._folder / uid, ignore_errors=True)
            self.by_pod[uid] = dict.fromkeys(names or ("main",), exit_code)

    def close(self) -> None:
        self._client.close()


@dataclass(frozen=True, slots=True)
class Write:
    """A request that was to change something, and the uids of the pods that ran when it was done."""

    line: Logged
    alive: frozenset[str]

    @property
    def what(self) -> str:
        """`patch nodes/status`."""
        return self.line.what

    @property
    def name(self) -> str:
        """The name of the object."""
        return self.line.attributes.name


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
                self._writes.append(Write(line, self.runtime.alive()))

    def writes(self, what: str = "", name: str = "") -> list[Write]:
        """The writes in order, or those that read like `patch pods/status` and are about this object."""
        with self._noting:
            found = list(self._writes)
        return [each for each in found if what in ("", each.what) and name in ("", each.name)]

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
        """The pressure conditions that the API shows as True, whoever's type they have; `ready` once evictd reported."""
        own = {kind.removeprefix(OWN): row for kind, row in self.api.reported().items() if kind.startswith(OWN)}
        found = own or {kind: row for kind, row in self.api.reported().items() if kind.endswith("Pressure")}
        return {"ready" for _ in found} | {kind for kind, row in found.items() if row["status"] == "True"}

    def until_reported(self) -> None:
        """Wait until evictd has said for the first time how the node is."""
        self.until(lambda: "ready" in self.conditions(), "the node is reported calm")

    def uid(self, name: str) -> str:
        """The uid of a pod that was started."""
        return self.pods[name].uid


def bound(pod: RunningPod) -> Json:
    """A running pod as the API server shows it."""
    made: Json = manifest(pod.recipe, pod.uid)
    made["metadata"]["annotations"].pop(CONFIG_SOURCE, None)
    made["spec"]["nodeName"] = NODE_NAME
    made["status"] = {"phase": "Running", "startTime": stamp(), "conditions": []}
    return made
