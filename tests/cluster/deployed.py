"""Puts manifests on the real node's cluster, and looks at evictd's pod there.

`for_node` changes what has to differ from `deploy/` on the test's node, and nothing else: the network (its pods use the host's,
and the API server is on loopback) and, in the configuration, the name of the node's cgroup.
"""

import copy
import json
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import yaml

from evictd_testnode import cgroups
from tests.cluster.node import NAME, RealNode
from tests.cluster.objects import NODES, PATHS
from tests.deploy.kustomize import merge
from tests.kube.waiting import eventually
from tests.ports import free_ports

Json = dict[str, Any]
PODS = "/api/v1/namespaces/evictd/pods"
(PORT,) = free_ports(1)
"""Pods use the host's network: the usual port may be taken."""
ADDRESS = f"127.0.0.1:{PORT}"
START_SECONDS = 120.0
_APPLY = "application/apply-patch+yaml"


def for_node(node: RealNode, items: Iterable[Json], **settings: Any) -> list[Json]:
    """Copy manifests for the test's node; `settings` are fields of the EvictdConfiguration."""
    made = copy.deepcopy(list(items))
    for item in made:
        if item["kind"] in {"DaemonSet", "Job", "Pod"}:
            spec = item["spec"] if item["kind"] == "Pod" else item["spec"]["template"]["spec"]
            port = str(node.plane.port)
            env = [
                {"name": "KUBERNETES_SERVICE_HOST", "value": "127.0.0.1"},
                {"name": "KUBERNETES_SERVICE_PORT", "value": port},
            ]
            merge(spec, {"hostNetwork": True, "containers": [{"name": spec["containers"][0]["name"], "env": env}]})
        elif item["kind"] == "ConfigMap":
            kubelet, evictd = yaml.safe_load_all(item["data"]["config.yaml"])
            kubelet |= {"cgroupDriver": "cgroupfs", "cgroupRoot": node.cgroup, **settings.pop("kubelet", {})}
            item["data"]["config.yaml"] = yaml.safe_dump_all(
                [kubelet, {**evictd, "listenAddress": ADDRESS, **settings}]
            )
    return made


def apply(node: RealNode, items: Iterable[Json]) -> None:
    """Apply on the server's side, as `kubectl apply --server-side` and Helm 4 do."""
    for item in items:
        path = f"{path_of(item)}?fieldManager=test&force=true"
        node.plane.admin.must("PATCH", path, item, _APPLY)


def remove(node: RealNode, items: list[Json]) -> None:
    """Delete everything as docs/cluster.md says: the DaemonSet first, so that evictd can still take its taints back."""
    daemons = [item for item in items if item["kind"] == "DaemonSet"]
    others = [item for item in reversed(items) if item["kind"] != "DaemonSet"]
    for group in (daemons, others):
        for item in group:
            node.plane.admin.request("DELETE", path_of(item), {"propagationPolicy": "Foreground"})
        for item in group:
            wait_until_gone(node, item)


def wait_until_gone(node: RealNode, item: Json) -> None:
    """Wait until the server no longer knows an object."""
    eventually(lambda: node.plane.admin.request("GET", path_of(item)).status == 404, START_SECONDS)


@contextmanager
def applied(node: RealNode, items: list[Json]) -> Iterator["Daemon"]:
    """Apply, wait for evictd's pod, and remove everything at the end."""
    try:
        apply(node, items)
        daemon = Daemon(node)
        daemon.wait_until_ready()
        yield daemon
    finally:
        remove(node, items)


def path_of(item: Json) -> str:
    """Return the object's path on the server."""
    return f"{PATHS[item['kind']].format(item['metadata'].get('namespace', ''))}/{item['metadata']['name']}"


class Daemon:
    """Evictd's pod on the node, as its administrator sees it."""

    def __init__(self, node: RealNode) -> None:
        self._node = node

    @property
    def pod(self) -> Json:
        """The pod that the DaemonSet's controller made; empty while there is none."""
        items = self._node.plane.admin.must("GET", f"{PODS}?labelSelector=app.kubernetes.io/name=evictd")["items"]
        living = [item for item in items if "deletionTimestamp" not in item["metadata"]]
        return living[0] if living else {}

    def wait_until_ready(self) -> None:
        """Wait for the pod's Ready condition."""
        try:
            eventually(lambda: condition(self.pod, "Ready") == "True", START_SECONDS)
        except AssertionError as error:
            error.add_note(self._describe())
            raise

    def _describe(self) -> str:
        found = self._node.plane.admin.must("GET", PODS)["items"]
        events = self._node.plane.admin.must("GET", "/api/v1/namespaces/evictd/events")["items"]
        taints = self._node.plane.admin.must("GET", f"{NODES}/{NAME}")["spec"].get("taints", [])
        texts = [json.dumps(pod["status"]) for pod in found] + [event["message"] for event in events[-10:]]
        return "\n".join([*texts, f"taints: {taints}"])

    @property
    def cgroup(self) -> str:
        """The pod's cgroup."""
        return f"{self._node.cgroup}/kubepods/pod{self.pod['metadata']['uid']}"

    def container_id(self, name: str = "evictd") -> str:
        """Return containerd's id of a container of the pod."""
        statuses = self.pod["status"]["containerStatuses"]
        return next(str(each["containerID"]).partition("//")[2] for each in statuses if each["name"] == name)

    def main_process(self) -> tuple[int, int]:
        """Return the id of the container's first process and its start in clock ticks; probes add others for a moment."""
        found: dict[int, int] = {}
        for pid in cgroups.pids_of(f"{self.cgroup}/{self.container_id()}"):
            with suppress(FileNotFoundError, ProcessLookupError):
                found[pid] = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
        return min(found.items(), key=lambda each: each[1])

    def run(self, *command: str) -> str:
        """Run a command in the container, as `kubectl exec` does."""
        return self._node.ctr("task", "exec", "--exec-id", f"test-{abs(hash(command))}", self.container_id(), *command)

    def log(self) -> list[Json]:
        """Return the lines of the log so far, of the container that runs, with the runtime's time in `at`."""
        pod = self.pod["metadata"]
        folder = self._node.path(f"/var/log/pods/evictd_{pod['name']}_{pod['uid']}/evictd")
        newest = max(folder.glob("*.log"), key=lambda path: int(path.stem))
        complete = newest.read_text().rpartition("\n")[0]
        lines = (line.split(" ", 3) for line in complete.splitlines())
        return [{"at": at, **json.loads(text)} for at, _, _, text in lines if text.startswith("{")]

    def events(self) -> list[str]:
        """Return the events of the log."""
        return [line["event"] for line in self.log()]

    def metrics(self) -> dict[str, float]:
        """Scrape it, from the host's loopback."""
        return scraped(ADDRESS)


def scraped(address: str) -> dict[str, float]:
    """Return the metrics at an address: their values by name and labels."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=20) as answer:
        lines = answer.read().decode().splitlines()
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}


def condition(item: Json, kind: str) -> str:
    """Return the status of a condition; empty without one."""
    found = item.get("status", {}).get("conditions", ())
    return next((str(each["status"]) for each in found if each["type"] == kind), "")
