"""A private containerd is isolated, can be restarted, and leaves nothing behind."""

from pathlib import Path

import pytest

from evictd.clients.cri.client import CriClient
from evictd.core.gc.container_gc import ContainerState
from evictd.errors import NodeError, RuntimeUnavailableError
from evictd_testnode.binaries import Binaries
from evictd_testnode.cgroups import pids_of
from evictd_testnode.containerd import PrivateContainerd
from evictd_testnode.pods import PodRecipe
from evictd_testnode.sweep import shim_sockets
from evictd_testnode.tool import start_time, wait_for
from tests.conftest import NodeFactory

pytestmark = [pytest.mark.root, pytest.mark.containerd]


def test_in_private_mode_its_end_is_the_end_of_its_containers(make_node: NodeFactory) -> None:
    node = make_node()
    pod = node.run_pod(PodRecipe(name="web"))
    assert pids_of(node.cgroup)
    assert not any(path.exists() for path in shim_sockets(node.folder)), (
        "its shims' sockets are in its own mount namespace"
    )
    node.containerd.kill()
    assert wait_for(lambda: not pids_of(node.cgroup))
    with pytest.raises(RuntimeUnavailableError):
        node.client.container_status(pod.container_id)


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_in_plain_mode_its_containers_outlive_it(make_node: NodeFactory, end: str) -> None:
    node = make_node(private=False)
    pod = node.run_pod(PodRecipe(name="web"))
    pause = pids_of(f"{pod.cgroup_parent}/{pod.sandbox_id}")
    first = node.containerd.pid
    getattr(node.containerd, end)()
    assert start_time(first) is None
    assert pause
    assert pids_of(f"{pod.cgroup_parent}/{pod.sandbox_id}") == pause
    node.containerd.start()
    assert node.containerd.pid != first
    assert node.client.container_status(pod.container_id).state is ContainerState.RUNNING


def test_a_failed_start_shows_the_end_of_the_log(tmp_path: Path, binaries: Binaries) -> None:
    broken = PrivateContainerd(binaries=binaries, folder=tmp_path / "run", root=tmp_path / "root")
    (tmp_path / "run/cri.sock").mkdir(parents=True)
    (tmp_path / "run/cri.sock/in").write_text("the way")
    with pytest.raises(NodeError, match=r"does not respond; the end of its log: .*cri\.sock"):
        broken.start()


def test_one_that_was_not_started_has_no_pid(tmp_path: Path, binaries: Binaries) -> None:
    idle = PrivateContainerd(binaries=binaries, folder=tmp_path, root=tmp_path)
    idle.stop()
    with pytest.raises(NodeError, match="not started"):
        _ = idle.pid
    assert idle.log_tail() == ""


def test_two_at_once_do_not_meet(make_node: NodeFactory) -> None:
    one, other = make_node(), make_node()
    pod = one.run_pod(PodRecipe(name="web"))
    with CriClient(other.endpoint) as client:
        assert client.list_sandboxes() == ()
    assert one.client.container_status(pod.container_id).state is ContainerState.RUNNING
