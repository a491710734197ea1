"""What else kills on a node: systemd-oomd, which evictd names, and the kernel at a container's limit, which is no eviction."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evictd_testnode.pods import ContainerRecipe, PodRecipe, VolumeRecipe
from tests.vm.guest import service
from tests.vm.guest.bench_oom import oomd
from tests.vm.guest.figures import figure
from tests.vm.guest.node import PODS_CGROUP, Node, pod_cgroup, processes
from tests.vm.guest.test_scenarios import PATIENCE, Story
from tests.vm.guest.waiting import wait_for

pytestmark = pytest.mark.vm

LIMIT = "48Mi"
FILLS = "sleep 100000 & until [ -e /data/go ]; do sleep 0.2; done; dd if=/dev/zero of=/dev/null bs=100M count=1; wait"


@pytest.fixture
def with_oomd(evictd: None, node: Node) -> Iterator[None]:
    """systemd-oomd with `ManagedOOMMemoryPressure=kill` for all pods, and a start of evictd beside it."""
    with oomd():
        service.systemctl("restart", service.NAME)
        yield
    service.systemctl("restart", service.NAME)
    service.wait_until_watching()


def test_systemd_oomd_is_named_where_it_may_kill_pods(with_oomd: None) -> None:
    service.wait_until_watching()
    (problem,) = service.status()["problems"]
    assert problem["source"] == f"systemd-oomd {PODS_CGROUP.name}"
    argv = ["evictd", "check", str(service.CONFIG)]
    report = " ".join(subprocess.run(argv, check=False, capture_output=True, text=True).stdout.split())
    assert f"{PODS_CGROUP.name} has ManagedOOMMemoryPressure=kill" in report
    assert problem["detail"] in report


@pytest.mark.parametrize("group", [0, 1])
def test_a_container_at_its_limit_is_the_kernels_business(evictd: None, node: Node, group: int) -> None:
    """`memory.oom.group`, which a kubelet sets to 1: the whole container ends, else its largest process."""
    story = Story()
    container = ContainerRecipe(script=FILLS, limits={"cpu": "1", "memory": LIMIT})
    pod = node.run_pod(PodRecipe(name="fills", containers=(container,), volumes=(VolumeRecipe(name="data"),)))
    other = node.run_pod(PodRecipe(name="other"))
    scope = pod_cgroup(pod) / f"cri-containerd-{pod.container_id}.scope"
    (scope / "memory.oom.group").write_text(str(group))
    before = killed(pod_cgroup(pod))
    (pod.volumes["data"] / "go").touch()
    wait_for(lambda: killed(pod_cgroup(pod)) > before, PATIENCE, "the OOM killer")
    if group:
        wait_for(lambda: not node.running(pod), PATIENCE, "the container to end")
    else:
        assert len(processes(scope)) >= 2, "the shell and its child"
    figure(f"memory.oom.group {group}: {killed(pod_cgroup(pod)) - before} processes killed")
    assert node.running(other)
    assert story.victims() == []
    assert service.conditions().get("MemoryPressure", "False") == "False"


def killed(cgroup: Path) -> int:
    """Count the processes that the OOM killer took from a cgroup and those below it."""
    lines = (cgroup / "memory.events").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))


def test_a_kill_that_is_not_at_the_pod_s_limit_is_in_the_history(evictd: None, node: Node) -> None:
    """A limit above the pods of a class stands for the end of memory: the kernel counts both as no limit of the pod."""
    story, data = Story(), (VolumeRecipe(name="data"),)
    limited = ContainerRecipe(script=FILLS, limits={"cpu": "1", "memory": LIMIT})
    own = node.run_pod(PodRecipe(name="limited", containers=(limited,), volumes=data))
    pod = node.run_pod(PodRecipe(name="fills", containers=(ContainerRecipe(script=FILLS),), volumes=data))
    above = pod_cgroup(pod).parent / "memory.max"
    seen = killed(pod_cgroup(own)), killed(pod_cgroup(pod))
    (own.volumes["data"] / "go").touch()
    wait_for(lambda: killed(pod_cgroup(own)) > seen[0], PATIENCE, "a kill at the pod's limit")
    above.write_text(LIMIT.removesuffix("i"))  # the kernel reads M as 2^20
    try:
        (pod.volumes["data"] / "go").touch()
        wait_for(lambda: killed(pod_cgroup(pod)) > seen[1], PATIENCE, "a kill above the pod")
    finally:
        above.write_text("max")
    wait_for(lambda: kernel_kills(story), PATIENCE, "the kill in the journal")
    assert {each["where"] for each in kernel_kills(story)} == {"default/fills"}
    assert {each["uid"] for each in kernel_kills(story)} == {pod.uid}
    lines = subprocess.run(["evictd", "history"], check=True, capture_output=True, text=True).stdout
    assert "of default/fills for want of memory of the node, not at a limit of the pod" in " ".join(lines.split())


def kernel_kills(story: Story) -> list[dict[str, Any]]:
    """List the kills by the kernel that the journal has since the story began."""
    return [each for entry in story.entries() for each in entry["extra"].get("kernelKilled", ())]
