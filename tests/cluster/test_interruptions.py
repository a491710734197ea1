"""Evictions on a real node that are disturbed: the API server or evictd is killed, an object is held back or deleted meanwhile.

However it is disturbed, the pod that fills the disk goes, once, its neighbour stays, and the node's condition ends.
"""

import signal
import time
from contextlib import ExitStack

import pytest

from tests.cluster import objects
from tests.cluster.node import NAME, RealNode
from tests.cluster.short_disk import (
    BOUND,
    NODE_PATH,
    chosen,
    created,
    gone,
    hard,
    pressure,
    soft,
    taints,
    undisturbed,
)
from tests.cluster.side_by_side import Json, daemon, disk, events, pods, status_of
from tests.kube.waiting import eventually

pytestmark = [pytest.mark.cluster, pytest.mark.root]

HOG = disk("hog", 800)
NEIGHBOUR = disk("neighbour", 20)


def runs(node: RealNode, pod: str) -> bool:
    """Whether containerd runs a container of a pod, apart from its sandbox."""
    named = (f'labels."io.kubernetes.pod.name"=={pod}', 'labels."io.kubernetes.container.name"==main')
    ids = node.ctr("containers", "list", "--quiet", ",".join(named)).split()
    tasks = [line.split() for line in node.ctr("tasks", "list").splitlines()]
    return any(line[0] in ids and line[2] == "RUNNING" for line in tasks)


def calm_again(node: RealNode, hog: Json) -> None:
    """The laws: the pressure has ended, one event of one victim, and the neighbour runs as it did."""
    eventually(lambda: pressure(node) == "False", BOUND)
    uid = hog["metadata"]["uid"]
    found = eventually(lambda: [each for each in events(node, "hog") if each["involvedObject"]["uid"] == uid], BOUND)
    assert len(found) == 1
    assert undisturbed(node, "neighbour")
    eventually(lambda: "evictd.io/" not in taints(node), BOUND)


@pytest.fixture
def node(real_node: RealNode) -> RealNode:
    eventually(lambda: not any(real_node.path("/var/lib/kubelet/pods").iterdir()), BOUND)
    return real_node


def test_an_api_server_that_is_killed_during_an_eviction(node: RealNode) -> None:
    """The containers are stopped meanwhile; what is left is sent when it is back."""
    with daemon(node, {}, **hard(node)) as recorded, pods(node, [NEIGHBOUR]), created(node, HOG) as hog:
        eventually(lambda: "hog" in chosen(recorded), BOUND)
        node.plane.apiserver.stop(signal.SIGKILL)
        eventually(lambda: not runs(node, "hog"), BOUND)
        node.plane.apiserver.start()
        node.plane.wait_until_ready()
        eventually(lambda: gone(node, "hog"), BOUND)
        eventually(lambda: events(node, "hog"), BOUND)
        calm_again(node, hog)
        assert set(chosen(recorded)) == {"hog"}


@pytest.mark.side_by_side
def test_an_evictd_that_is_killed_during_an_eviction(node: RealNode) -> None:
    """The next one goes on with what the last one had begun, and takes its taint and condition back."""
    state = node.folder / f"state-{time.monotonic_ns()}"
    config, own = hard(node), {"stateDirectory": str(state)}
    with pods(node, [NEIGHBOUR]), ExitStack() as stack:
        with daemon(node, own, **config) as recorded:
            hog = stack.enter_context(created(node, HOG))
            eventually(lambda: "hog" in chosen(recorded), BOUND)
            recorded.process.stop(signal.SIGKILL)
        with daemon(node, own, **config):
            eventually(lambda: gone(node, "hog"), BOUND)
            eventually(lambda: events(node, "hog"), BOUND)
            calm_again(node, hog)
            assert set(chosen(recorded)) == {"hog"}


@pytest.mark.side_by_side
def test_a_pod_that_a_finalizer_holds_back(node: RealNode) -> None:
    """It has stopped and frees its disk; that its object stays is no reason for another eviction."""
    held = {"finalizers": ["evictd.test/held"]}
    with daemon(node, {}, **hard(node)) as recorded, pods(node, [NEIGHBOUR]), created(node, HOG, held) as hog:
        eventually(lambda: status_of(node, "hog").get("phase") in {"Failed", "Succeeded"}, BOUND)
        calm_again(node, hog)
        assert chosen(recorded) == ["hog"]
        assert "deletionTimestamp" in node.plane.admin.must("GET", f"{objects.PODS}/hog")["metadata"]


@pytest.mark.side_by_side
def test_a_node_object_that_is_deleted_during_an_eviction(node: RealNode) -> None:
    """The eviction goes on without it. A kubelet does not register a second time; somebody does it for it."""
    admin = node.plane.admin
    labels = admin.must("GET", NODE_PATH)["metadata"]["labels"]
    with daemon(node, {}, **hard(node)) as recorded, pods(node, [NEIGHBOUR]), created(node, HOG) as hog:
        eventually(lambda: "hog" in chosen(recorded), BOUND)
        admin.must("DELETE", NODE_PATH)
        eventually(lambda: gone(node, "hog"), BOUND)
        made = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": NAME, "labels": labels}}
        admin.must("POST", objects.NODES, made)
        eventually(node.ready, BOUND)
        calm_again(node, hog)
        assert set(chosen(recorded)) == {"hog"}


@pytest.mark.side_by_side
def test_a_budget_that_refuses_has_the_next_pod_evicted_and_is_past_after_its_time(node: RealNode) -> None:
    """By the real disruption controller."""
    labels = {"app": "protected"}
    with ExitStack() as stack:
        path = objects.budget(node.plane.admin, "keep", labels, None)
        stack.callback(objects.remove, node.plane.admin, path)
        recorded = stack.enter_context(daemon(node, {"cluster": {"evictionTimeout": "20s"}}, **soft(node)))
        stack.enter_context(pods(node, [NEIGHBOUR]))
        hog = stack.enter_context(created(node, HOG, {"labels": labels}))
        eventually(lambda: gone(node, "neighbour"), BOUND)
        assert not gone(node, "hog")
        eventually(lambda: gone(node, "hog"), BOUND)
        eventually(lambda: pressure(node) == "False", BOUND)
        found = [each for each in events(node, "hog") if each["involvedObject"]["uid"] == hog["metadata"]["uid"]]
        assert len(found) == 1
        assert chosen(recorded)[0] == "hog"
