"""The pods that an API server has bound to this node."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from evictd.codec.config.kubelet_config import eviction_config
from evictd.config.settings import ClusterSettings, Settings
from evictd.core.model.config import Policy
from evictd.errors import InputError
from evictd.observe.live import LiveNode
from evictd.observe.pods.cluster_pods import API_SERVER, ClusterPods
from tests.kube.api_server import ApiServer
from tests.kube.fixtures import api
from tests.kube.objects import pod
from tests.observe.runtime_double import sandbox, view

__all__ = ["api"]


def clock() -> int:
    return 1


def _settings(server: ApiServer) -> ClusterSettings:
    return ClusterSettings(kubeconfig=str(server.kubeconfig()), node_name="n1")


def test_pods_of_this_node_and_no_other(api: ApiServer) -> None:
    for made in (pod("b"), pod("a"), pod("elsewhere", node_name="n2")):
        api.store.create("pods", made)
    api.store.create("pods", pod("over"))
    api.store.update(("pods", "default", "over"), lambda item: item["status"].update(phase="Failed"))
    with ClusterPods(_settings(api), clock=clock) as pods:
        active, problems = pods.active()
    assert active is not None
    assert [each.name for each in active] == ["a", "b"]
    assert problems == ()


def test_an_unavailable_server_is_a_problem(tmp_path: Path) -> None:
    with ApiServer(tmp_path) as server:
        settings = _settings(server)
    with ClusterPods(settings, clock=clock) as pods:
        active, problems = pods.active(seconds=5)
    assert active is None
    assert [problem.source for problem in problems] == [API_SERVER]


def test_a_credential_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        ClusterPods(ClusterSettings(kubeconfig=str(tmp_path / "none"), node_name="n1"), clock=clock)


def test_a_live_node_in_a_cluster(api: ApiServer, tmp_path: Path) -> None:
    """Without a runtime the pods are known all the same; their usage is not."""
    api.store.create("pods", pod("a"))
    settings = Settings(
        root_dir=tmp_path,
        pod_logs_dir=tmp_path,
        container_runtime_endpoint=f"unix://{tmp_path}/none.sock",
        cluster=_settings(api),
    )
    with LiveNode(settings) as node:
        assert [each.name for each in node.read().observation.pods] == ["a"]


@pytest.mark.parametrize(("policy", "seen"), [(Policy.STANDARD, ["listed", "web"]), (Policy.KUBELET, ["listed"])])
def test_a_live_node_counts_pods_that_run_and_are_not_listed(
    api: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: Policy, seen: list[str]
) -> None:
    """`explain` left the pod out that the daemon would evict. Another pod's claim to be its mirror hides none."""
    claims = pod("listed", uid="u1", annotations={"kubernetes.io/config.mirror": "u2"})
    api.store.create("pods", claims)
    annotations = {"kubernetes.io/config.source": "api"}
    rows = tuple(replace(sandbox(uid), annotations=annotations) for uid in ("u1", "u2"))
    listing = replace(view(), sandboxes=rows, wall=time.time_ns())
    monkeypatch.setattr(LiveNode, "_view", lambda *_: (listing, ()))
    settings = Settings(
        root_dir=tmp_path,
        pod_logs_dir=tmp_path,
        container_runtime_endpoint=f"unix://{tmp_path}/none.sock",
        cluster=_settings(api),
        eviction=eviction_config({}, policy=policy, default_hard=True),
    )
    with LiveNode(settings) as node:
        found = node.read().observation
    assert [each.name for each in found.pods] == seen
    named = [problem.source for problem in found.problems if problem.source == "apiserver/pods"]
    assert named == ["apiserver/pods"] * (policy is Policy.STANDARD)
