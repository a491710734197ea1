"""Kills and freezes by `cgroup.kill` and `cgroup.freeze` of cgroup v2; only emptying gives back a volume in memory."""

import os
import signal
import time
from pathlib import Path

import pytest

from evictd.act.stop.cgroup_tree import write
from evictd.act.stop.freezer import PodFreezer
from evictd.act.stop.victim_cgroups import VictimCgroups
from evictd.act.volumes import remove_empty_dirs
from evictd.clients.cri.values import SandboxState
from evictd.worker import STDERR
from evictd_testnode.pods import IGNORE_TERM, ContainerRecipe, PodRecipe, RunningPod, VolumeRecipe
from tests.real_cgroups import kill_cgroup
from tests.vm.guest.figures import figure
from tests.vm.guest.node import KUBELET_ROOT, Node, pod_cgroup, processes
from tests.vm.guest.waiting import wait_for

pytestmark = pytest.mark.vm

MIB = 1 << 20
FILE = 40 * MIB
LEVELS, LONG_NAME = 40, "n" * 200


def noticed(node: Node, pod: RunningPod) -> bool:
    """Whether the runtime knows that the pod is dead; while its shim ends, no call about the pod succeeds."""
    ready = any(each.state is SandboxState.READY for each in node.client.list_sandboxes() if each.id == pod.sandbox_id)
    return not ready and not node.running(pod)


def in_memory(volume: Path) -> int:
    """Bytes that a tmpfs holds, to the page; `Shmem` of /proc/meminfo is late by some pages of each processor."""
    found = os.statvfs(volume)
    return (found.f_blocks - found.f_bfree) * found.f_frsize


def test_one_write_kills_a_whole_pod_that_ignores_sigterm_and_no_other(node: Node) -> None:
    deaf = ContainerRecipe(script=f"sleep 100000 & {IGNORE_TERM}")
    pod, other = (node.run_pod(PodRecipe(name=name, containers=(deaf,))) for name in ("pod", "other"))
    cgroup = pod_cgroup(pod)
    assert (cgroup / "cgroup.kill").exists()
    assert len(processes(cgroup)) >= 3, "pause, the shell and its child"
    began = time.monotonic()
    kill_cgroup(cgroup, pod.uid)
    wait_for(lambda: not processes(cgroup), 240, "the pod's processes to be gone")
    figure(f"cgroup.kill: a pod's processes were gone after {1000 * (time.monotonic() - began):.0f} ms")
    assert processes(pod_cgroup(other))
    wait_for(lambda: noticed(node, pod), 240, "the runtime to have noticed it")


def test_a_frozen_pod_does_nothing_and_handles_sigterm_when_it_is_thawed(node: Node) -> None:
    script = "trap 'touch /data/heeded; exit' TERM; while :; do echo >> /data/lines; done"
    container = ContainerRecipe(name="writer", script=script)
    pod = node.run_pod(PodRecipe(name="writer", containers=(container,), volumes=(VolumeRecipe(name="data"),)))
    cgroup, volume = pod_cgroup(pod), pod.volumes["data"]
    wait_for((volume / "lines").exists, 240, "the pod to write")
    (scope,) = cgroup.glob(f"*{pod.containers['writer']}*")
    freezer = PodFreezer(lambda _: [cgroup], STDERR)
    freezer.freeze(pod.uid)
    wait_for(lambda: "frozen 1" in (scope / "cgroup.events").read_text(), 240, "the container to be frozen")
    written = (volume / "lines").stat().st_size
    os.kill(int(processes(scope)[0]), signal.SIGTERM)
    assert "frozen 1" in (scope / "cgroup.events").read_text()
    assert (volume / "lines").stat().st_size == written
    assert not (volume / "heeded").exists()
    PodFreezer(lambda _: [cgroup], STDERR).thaw(pod.uid)
    wait_for((volume / "heeded").exists, 240, "the pod to handle SIGTERM")
    wait_for(lambda: not node.running(pod), 240, "the pod to end")


def test_a_frozen_process_at_the_end_of_the_longest_path_dies_by_one_write(node: Node) -> None:
    """The tree is deeper than a path may be long."""
    pod = node.run_pod(PodRecipe(name="deep", containers=(ContainerRecipe(script=IGNORE_TERM),)))
    cgroup = pod_cgroup(pod)
    victim = min(map(int, processes(cgroup)))  # the newest one is a `sleep`, which may have ended before it is moved
    here = os.open(cgroup, os.O_RDONLY)
    for _ in range(LEVELS):
        os.mkdir(LONG_NAME, dir_fd=here)
        here = entered(here, LONG_NAME)
    write(here, "cgroup.procs", str(victim).encode())
    (cgroup / "cgroup.freeze").write_text("1")
    wait_for(lambda: "frozen 1" in (cgroup / "cgroup.events").read_text(), 240, "the pod to be frozen")
    assert VictimCgroups(lambda _: [cgroup], STDERR).has_processes(pod.uid)
    wait_for(lambda: kill_cgroup(cgroup, pod.uid), 240, "the pod's processes to be gone")
    wait_for(lambda: not Path(f"/proc/{victim}").exists(), 240, "the process to be waited for")
    for _ in range(LEVELS):
        here = entered(here, "..")
        os.rmdir(LONG_NAME, dir_fd=here)
    os.close(here)
    wait_for(lambda: noticed(node, pod), 240, "the runtime to have noticed it")


def entered(here: int, name: str) -> int:
    below = os.open(name, os.O_RDONLY, dir_fd=here)
    os.close(here)
    return below


def test_the_memory_of_a_volume_comes_back_when_it_is_emptied_and_not_before(node: Node) -> None:
    script = f"dd if=/dev/zero of=/shm/file bs=1M count={FILE // MIB} 2>/dev/null; touch /shm/done; {IGNORE_TERM}"
    recipe = PodRecipe(
        name="shm",
        containers=(ContainerRecipe(script=script),),
        volumes=(VolumeRecipe(name="shm", medium="Memory"),),
    )
    pod = node.run_pod(recipe)
    volume = pod.volumes["shm"]
    wait_for((volume / "done").exists, 240, "the volume to be full")
    kill_cgroup(pod_cgroup(pod), pod.uid)
    wait_for(lambda: not processes(pod_cgroup(pod)), 240, "the pod's processes to be gone")
    assert in_memory(volume) >= FILE
    remove_empty_dirs(KUBELET_ROOT, pod.uid)
    assert in_memory(volume) < MIB
    assert volume.is_mount()
    wait_for(lambda: noticed(node, pod), 240, "the runtime to have noticed it")
