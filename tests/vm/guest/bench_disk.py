"""Measures how full this machine's disk runs before the pod that fills it is stopped; `make bench SUITE=disk_fill_vm` runs it.

A process in a pod's cgroup, which ignores SIGTERM, takes bytes of the root disk at a steady rate, in the pod's volume or in its
container's layer. The thresholds are the kubelet's defaults: `nodefs.available<10%`, `imagefs.available<15%` of the same disk.
Four pods run beside it, each with a volume of its own; one that is gone at the end was evicted though it was innocent.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evictd_testnode.pods import ContainerRecipe, PodRecipe, RunningPod, VolumeRecipe
from tests.vm.guest import hogs, service, trials
from tests.vm.guest.figures import FILE
from tests.vm.guest.node import KUBELET_ROOT, Node, processes
from tests.vm.guest.trials import evictd, remove, run_hog
from tests.vm.guest.waiting import wait_for

pytestmark = [pytest.mark.vm, pytest.mark.timeout(3000)]

NAME = "disk.jsonl"
TRIALS = 5
PEER_SHARE = 5
"""Of the trials of Standard policy Kubelet has one in so many."""
SHARE = 15
"""Percent of the disk: the higher of both thresholds."""
FILL_SECONDS = 4
"""How long a fill goes on before the crossing."""
INNOCENTS = 4
PATIENCE = 150
"""Seconds."""
MIB = 1 << 20
DEFAULTS = {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": f"{SHARE}%",
    "imagefs.inodesFree": "5%",
}


def left() -> int:
    """Return the bytes that the disk has left for ordinary users."""
    found = os.statvfs(KUBELET_ROOT)
    return found.f_bavail * found.f_frsize


def limit() -> int:
    """Return the bytes at which the higher threshold is met."""
    found = os.statvfs(KUBELET_ROOT)
    return found.f_blocks * found.f_frsize * SHARE // 100


@contextmanager
def ballast(rate: int) -> Iterator[None]:
    """Take so much of the disk, outside of any pod, that a fill meets the threshold after `FILL_SECONDS`."""
    file = KUBELET_ROOT / "ballast"
    surplus = left() - limit() - FILL_SECONDS * rate
    with file.open("wb") as out:
        os.posix_fallocate(out.fileno(), 0, max(surplus, 1))
    try:
        yield
    finally:
        file.unlink()


def trial(node: Node, number: int, place: str, rate: int) -> dict[str, float]:
    """Fill until the process that fills is dead: bytes left at least, seconds from the crossing to its end, bytes a second."""
    pod, scope = run_hog(node, number, VolumeRecipe(name="data"))
    root = f"/proc/{processes(scope)[0]}/root"
    folder = Path(str(pod.volumes["data"]) if place == "volume" else f"{root}/var/tmp") / "fill"
    folder.mkdir(parents=True)
    threshold, least = limit(), left()
    argv = [sys.executable, "-m", "bench.disk_filler", "bytes", str(folder), str(rate), str(threshold)]
    filler = subprocess.Popen([*argv, str(scope / "cgroup.procs")], stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + PATIENCE
    crossed = None
    while filler.poll() is None and time.monotonic() < deadline:
        least = min(least, left())
        if crossed is None and least < threshold:
            crossed = time.monotonic()
        time.sleep(0.005)
    ended = time.monotonic()
    filler.kill()
    said = (filler.communicate()[0] or "").split()
    remove(node, pod)
    subprocess.run(["rm", "-rf", *map(str, pod.volumes.values()), str(pod.log_directory)], check=True)
    return {
        "least": least,
        "seconds": ended - (crossed or ended),
        "rate": int(said[2]) if said else rate,
        "ended": ended < deadline,
    }


def innocent(node: Node, number: int) -> RunningPod:
    """Start a pod that keeps 20 MiB in its volume."""
    recipe = PodRecipe(
        name=f"innocent-{number}",
        containers=(ContainerRecipe(script=hogs.holds(1)),),
        volumes=(VolumeRecipe(name="data"),),
    )
    pod = node.run_pod(recipe)
    (pod.volumes["data"] / "kept").write_bytes(bytes(20 * MIB))
    return pod


RATES = {"Standard": (20, 100, 300), "Kubelet": (20,)}
"""MiB a second. A faster fill uses up the disk under policy Kubelet, and containerd then cannot remove the pod."""


@pytest.mark.parametrize("place", ["volume", "layer"])
@pytest.mark.parametrize(("mode", "rate"), [(mode, rate) for mode, rates in RATES.items() for rate in rates])
def test_fills(node: Node, installed: None, mode: str, rate: int, place: str) -> None:
    """Fill a number of times beside the same innocent pods."""
    FILE.with_name(NAME).touch()
    service.configure(
        {"evictionHard": DEFAULTS, "evictionPressureTransitionPeriod": "1s"},
        {"decisionPolicy": mode, "allowApiPodsStandalone": True},
    )
    innocents = [innocent(node, number) for number in range(INNOCENTS)]
    wanted = trials.count(TRIALS)
    with ballast(rate * MIB), evictd():
        for number in range(wanted if mode == "Standard" else -(-wanted // PEER_SHARE)):
            found = trial(node, number, place, rate * MIB)
            gone = sum(not node.running(pod) for pod in innocents)
            trials.record(NAME, mode=mode, kind=f"{rate} MiB/s, {place}", innocents=gone, **found)
            wait_for(lambda: service.conditions().get("DiskPressure") == "False", PATIENCE, "calm")
