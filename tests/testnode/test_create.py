"""Starting pods for the disposable node; requests are verified by the runtime's responses."""

from dataclasses import replace

import pytest

from evictd.clients.cri.values import CriMount
from evictd.errors import RuntimeNotFoundError
from evictd_testnode.create import PodStarter
from evictd_testnode.node import DisposableNode
from evictd_testnode.pods import ContainerRecipe, PodRecipe, RunningPod

pytestmark = [pytest.mark.root, pytest.mark.containerd]


def test_a_pod_as_a_kubelet_would_start_it(node: DisposableNode) -> None:
    logs = node.log_folder / "default_made_u1"
    logs.mkdir(parents=True)
    container = ContainerRecipe(script="sleep 1000", requests={"memory": "1Mi"})
    pod = RunningPod(
        name="made",
        namespace="default",
        uid="u1",
        sandbox_id="",
        containers={},
        volumes={"m": logs},
        cgroup_parent=f"{node.cgroup}/kubepods/podu1",
        log_directory=logs,
        recipe=PodRecipe(name="made", labels={"app": "x", "io.kubernetes.pod.uid": "forged"}, containers=(container,)),
    )
    starter = PodStarter(node.endpoint)
    pod = replace(pod, sandbox_id=starter.run_sandbox(pod))
    container_id = starter.run_container(pod, container, 3)
    row = node.client.sandbox_status(pod.sandbox_id)
    assert (row.attempt, row.labels["app"], row.labels["io.kubernetes.pod.uid"]) == (0, "x", "u1")
    status = node.client.container_status(container_id)
    assert (status.attempt, status.log_path) == (3, f"{logs}/main/3.log")
    assert status.mounts == (CriMount(container_path="/m", host_path=str(logs)),)
    assert status.resources is not None
    assert status.resources.oom_score_adj == 900
    with pytest.raises(RuntimeNotFoundError):
        starter.run_container(replace(pod, sandbox_id="absent"), container, 0)
    starter.close()
