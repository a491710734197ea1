"""Starting pods for the disposable node; requests are verified by the runtime's responses."""

import pytest

from evictd.clients.cri.values import CriMount, LinuxResources
from evictd.errors import RuntimeNotFoundError
from evictd_testnode.create import ContainerRequest, PodStarter, SandboxRequest
from evictd_testnode.images import BUSYBOX
from evictd_testnode.node import DisposableNode

pytestmark = [pytest.mark.root, pytest.mark.containerd]


def test_a_pod_as_a_kubelet_would_start_it(node: DisposableNode) -> None:
    logs = node.log_folder / "default_made_u1"
    (logs / "main").mkdir(parents=True)
    sandbox = SandboxRequest(
        name="made",
        namespace="default",
        uid="u1",
        cgroup_parent=f"{node.cgroup}/kubepods/podu1",
        log_directory=str(logs),
        attempt=2,
        labels={"app": "x", "io.kubernetes.pod.uid": "forged"},
    )
    request = ContainerRequest(
        name="main",
        image=BUSYBOX,
        command=("/bin/sh", "-c", "sleep 1000"),
        log_path="main/3.log",
        attempt=3,
        mounts=(CriMount(container_path="/m", host_path=str(logs), readonly=True),),
        resources=LinuxResources(cpu_shares=2, oom_score_adj=500),
    )
    starter = PodStarter(node.endpoint)
    sandbox_id = starter.run_sandbox(sandbox)
    container_id = starter.create_container(sandbox_id, sandbox, request)
    starter.start_container(container_id)
    row = node.client.sandbox_status(sandbox_id)
    assert (row.attempt, row.labels["app"], row.labels["io.kubernetes.pod.uid"]) == (2, "x", "u1")
    status = node.client.container_status(container_id)
    assert (status.attempt, status.log_path, status.mounts) == (3, f"{logs}/main/3.log", request.mounts)
    assert status.resources is not None
    assert status.resources.oom_score_adj == 500
    with pytest.raises(RuntimeNotFoundError):
        starter.start_container("absent")
    starter.close()
