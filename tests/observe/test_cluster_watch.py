"""The API server's list of this node's pods, for one reading."""

from pathlib import Path

import pytest

from evictd.config.settings import ClusterSettings
from evictd.errors import InputError
from evictd.observe.cluster_watch import SOURCE, ClusterWatch
from tests.kube.api_server import ApiServer
from tests.kube.fixtures import api
from tests.kube.objects import pod

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
    with ClusterWatch(_settings(api), clock=clock) as watch:
        assert watch.wait() == ()
        assert [each.name for each in watch.pods.bound() or ()] == ["a", "b"]


def test_the_version_of_the_nodes_kubelet(api: ApiServer) -> None:
    """It says whose defaults count; where no kubelet has reported one it is not known."""
    with ClusterWatch(_settings(api), clock=clock) as watch:
        for reported in ({"kubeletVersion": "v1.37.0"}, {}):
            change = {"nodeInfo": reported}
            api.store.update(("nodes", "", "n1"), lambda item, change=change: item["status"].update(change))  # type: ignore[misc]
            assert watch.kubelet_version() == reported.get("kubeletVersion", "")


def test_an_unavailable_server_is_a_problem(tmp_path: Path) -> None:
    with ApiServer(tmp_path) as server:
        settings = _settings(server)
    with ClusterWatch(settings, clock=clock) as watch:
        assert watch.kubelet_version() == ""
        assert [problem.source for problem in watch.wait(seconds=30)] == [SOURCE]
        assert watch.pods.bound() is None


def test_a_credential_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        ClusterWatch(ClusterSettings(kubeconfig=str(tmp_path / "none"), node_name="n1"), clock=clock)
