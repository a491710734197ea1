"""evictd on a node of a cluster: a real containerd, and the API server's double (the kubelet's part is played by the test)."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import NodeFactory
from tests.e2e.story import BOUND, Story, writes
from tests.kube.api_server import ApiServer
from tests.kube.objects import node as node_object
from tests.kube.objects import pod as pod_object

from evictd.demo.disks import DiskRecipe
from evictd.demo.pods import RunningPod, VolumeRecipe

pytestmark = [pytest.mark.root, pytest.mark.containerd]

DATA = (VolumeRecipe(name="data"),)
NODE = ("nodes", "", "n1")


def bind(api: ApiServer, pod: RunningPod) -> None:
    """Show a pod that runs on the node in the API server, too."""
    made = pod_object(pod.name, uid=pod.uid)
    made["spec"]["volumes"] = [{"name": name, "emptyDir": {}} for name in pod.volumes]
    made["spec"]["containers"] = [{"name": "main", "image": "x", "resources": {}}]
    made["spec"].pop("initContainers", None)
    api.store.create("pods", made)


def conditions(api: ApiServer) -> dict[str, str]:
    found: Any = api.store.get(NODE)
    return {row["type"]: row["status"] for row in found["status"]["conditions"]}


def test_a_pod_of_the_cluster_is_deleted_and_stopped_and_the_node_says_why(
    make_node: NodeFactory, tmp_path: Path
) -> None:
    """Condition, taint, event, DisruptionTarget, delete; all of it taken back when the pressure is over."""
    node = make_node(node_disk=DiskRecipe(size_bytes=96 << 20, inodes=12_000))
    with ApiServer(tmp_path) as api:
        api.store.create("nodes", node_object())
        cluster = {
            "kubeconfig": str(api.kubeconfig()),
            "nodeName": "n1",
            "podTermination": "Delete",
            "conditionTypes": "Own",
        }
        with Story(node, {"evictionHard": {"nodefs.available": "40Mi"}}, {"cluster": cluster}) as story:
            story.until(lambda: conditions(api).get("EvictdDiskPressure") == "False", "the node is reported calm")
            bind(api, story.pod("innocent"))
            hog = story.pod("writer", writes("/data", 200), volumes=DATA)
            bind(api, hog)
            story.until(lambda: conditions(api)["EvictdDiskPressure"] == "True", "the node reports DiskPressure")
            story.until(lambda: not story.runs("writer"), "the pod is stopped")
            story.until(lambda: bool(_leaving(api, "writer")), "the pod is deleted", BOUND)
            shutil.rmtree(hog.volumes["data"])  # the kubelet's part
            story.until(lambda: conditions(api)["EvictdDiskPressure"] == "False", "the pressure is over")
            assert story.evicted() == ["writer"]
            assert story.running() == {"innocent"}
            reasons = [event["reason"] for event in api.store.list("events")[0]]
            assert reasons.count("Evicted") == 1


def _leaving(api: ApiServer, name: str) -> bool:
    found = [pod for pod in api.store.list("pods")[0] if pod["metadata"]["name"] == name]
    return not found or "deletionTimestamp" in found[0]["metadata"]
