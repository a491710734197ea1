"""A real node whose disk becomes short by what pods take, and what evictd on it makes of that."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from tests.cluster import objects
from tests.cluster.node import NAME, RealNode
from tests.cluster.pressure import PRESSURES, written
from tests.cluster.side_by_side import MI, OFF, Json, Load, Recorded, status_of

BOUND = 120.0
NODEFS = "nodefs.available"
NODE_PATH = f"{objects.NODES}/{NAME}"


def limit(node: RealNode, mib: int = 400) -> Json:
    """A threshold that is crossed when so much is taken from here on."""
    return {NODEFS: written(NODEFS, PRESSURES[NODEFS].available(node) - mib * MI)}


def hard(node: RealNode, mib: int = 400) -> Json:
    """The kubelet's fields for a hard threshold at `limit`."""
    return {"evictionHard": {**OFF, **limit(node, mib)}, "evictionPressureTransitionPeriod": "3s"}


def soft(node: RealNode, mib: int = 400) -> Json:
    """The kubelet's fields for a soft threshold at `limit`."""
    grace = {"evictionSoftGracePeriod": {NODEFS: "2s"}, "evictionMaxPodGracePeriod": 1}
    periods = {"evictionHard": OFF, "evictionPressureTransitionPeriod": "3s"}
    return {"evictionSoft": limit(node, mib), **grace, **periods}


def chosen(recorded: Recorded) -> list[str]:
    """The names of the pods that evictd chose, each time anew."""
    return [
        each["pod"]["name"]
        for record in recorded.records()
        for each in record["decisions"]
        if each["kind"] == "EvictPod" and not each.get("shortens")
    ]


def explained(recorded: Recorded) -> str:
    """Each eviction with the ranking and the other findings of its cycle, a line each, for the message of a failure."""
    return "\n".join(
        f"{record['now']} {each['pod']['name']}: {json.dumps(record['findings'])}"
        for record in recorded.records()
        for each in record["decisions"]
        if each["kind"] == "EvictPod"
    )


def pressure(node: RealNode) -> str:
    """The status of evictd's condition for the disk; empty without one."""
    found = node.plane.admin.must("GET", NODE_PATH)["status"]["conditions"]
    return next((str(each["status"]) for each in found if each["type"] == "EvictdDiskPressure"), "")


def taints(node: RealNode) -> str:
    """The node's taints as text."""
    return str(node.plane.admin.must("GET", NODE_PATH)["spec"].get("taints"))


def gone(node: RealNode, name: str) -> bool:
    """Whether the API server has no such pod any more."""
    return node.plane.admin.request("GET", f"{objects.PODS}/{name}").status == 404


def undisturbed(node: RealNode, pod: str) -> bool:
    """Whether a pod runs as it did when it began."""
    if gone(node, pod):
        return False
    shown = status_of(node, pod)
    return (shown["phase"], shown["containerStatuses"][0]["restartCount"]) == ("Running", 0)


@contextmanager
def created(node: RealNode, load: Load, metadata: Json | None = None) -> Iterator[Json]:
    """A pod that is not waited for; gives its object."""
    manifest = load.manifest()
    manifest["metadata"] |= metadata or {}
    try:
        yield node.plane.admin.must("POST", objects.PODS, manifest)
    finally:
        node.plane.admin.request("PATCH", f"{objects.PODS}/{load.name}", {"metadata": {"finalizers": None}})
        objects.remove(node.plane.admin, f"{objects.PODS}/{load.name}")
