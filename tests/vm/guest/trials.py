"""What the benches inside the machine share: their size, their results, and a pod with a process that fills memory."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evictd.errors import EvictdError
from evictd_testnode.pods import IGNORE_TERM, ContainerRecipe, PodRecipe, RunningPod, VolumeRecipe
from tests.vm.guest import service
from tests.vm.guest.figures import FILE
from tests.vm.guest.node import Node, pod_cgroup
from tests.vm.guest.waiting import wait_for

THRESHOLD = 300
"""MiB; one that can fire on a machine of 1 GiB."""
RATE = 100
"""MiB per second."""
EARLYOOM = Path("/srv/job/earlyoom")


def count(default: int) -> int:
    """The number of trials of each kind."""
    return int(os.environ.get("EVICTD_VM_TRIALS", str(default)))


def record(name: str, **values: object) -> None:
    """Append one trial to the file `name` of the results."""
    with FILE.with_name(name).open("a", encoding="utf-8") as out:
        out.write(json.dumps(values) + "\n")
        out.flush()
        os.fsync(out.fileno())  # what was measured counts also where the time runs out


@contextmanager
def evictd() -> Iterator[None]:
    """Run the service as it is configured, after its first cycle."""
    service.start()
    service.wait_until_watching()
    try:
        yield
    finally:
        service.stop()


def run_hog(node: Node, number: int, *volumes: VolumeRecipe) -> tuple[RunningPod, Path]:
    """Start a pod that ignores SIGTERM; gives it with its container's cgroup."""
    container = ContainerRecipe(script=IGNORE_TERM)
    pod = node.run_pod(PodRecipe(name=f"hog-{number}", containers=(container,), volumes=volumes))
    return pod, pod_cgroup(pod) / f"cri-containerd-{pod.container_id}.scope"


def remove(node: Node, pod: RunningPod) -> None:
    """Remove a pod, evicted or not."""

    def removed() -> bool:
        try:
            node.client.stop_sandbox(pod.sandbox_id)
            node.client.remove_sandbox(pod.sandbox_id)
        except EvictdError:
            return False  # its shim is ending
        return True

    wait_for(removed, 120, f"{pod.name} to be removed")
    for volume in pod.volumes.values():
        subprocess.run(["umount", "--lazy", volume], check=False)


def wait_until_calm() -> None:
    """Wait for evictd to have seen that the pressure is over."""
    wait_for(lambda: service.conditions().get("MemoryPressure") == "False", 120, "calm")
