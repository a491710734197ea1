"""Counts OOM kills on this machine of 1 GiB beside evictd and beside earlyoom; `make bench SUITE=oom_vm` runs it, no test does.

A process in a pod's cgroup fills memory until it is killed: anonymous memory, the same beside a pod that keeps the page cache
busy, or a volume in memory. A trial is lost if the kernel's count of OOM kills has risen. The threshold is one that can fire
here: 300Mi of the lower of both formulas, and the same for earlyoom's MemAvailable.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evictd.demo.pods import IGNORE_TERM, ContainerRecipe, PodRecipe, RunningPod, VolumeRecipe
from evictd.errors import EvictdError
from tests.vm.guest import service
from tests.vm.guest.figures import FILE
from tests.vm.guest.node import Node, pod_cgroup
from tests.vm.guest.test_scenarios import oom_kills
from tests.vm.guest.waiting import wait_for

pytestmark = [pytest.mark.vm, pytest.mark.timeout(900)]

TRIALS = 5
THRESHOLD = 300
RATE = 100
"""MiB per second."""
EARLYOOM = Path("/srv/job/earlyoom")
READER = "while :; do dd if=/dev/zero of=/data/file bs=1M count=150; cat /data/file >/dev/null; done"
FILLER = f"""
import mmap, os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for name, text in ((sys.argv[1] + "/cgroup.procs", "0"), ("/proc/self/oom_score_adj", "1000")):
    with open(name, "w") as file:
        file.write(text)
held, begun, piece = [], time.monotonic(), bytes(1 << 20)
at_once = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
file = open(sys.argv[2] + "/file", "wb", buffering=0) if sys.argv[2:] else None
while True:
    if file:
        file.write(piece)
    held.append(None if file else mmap.mmap(-1, len(piece), flags=at_once))
    time.sleep(max(0, begun + len(held) / {RATE} - time.monotonic()))
"""


def record(**values: object) -> None:
    with FILE.with_name("oom.jsonl").open("a", encoding="utf-8") as out:
        out.write(json.dumps(values) + "\n")
        out.flush()
        os.fsync(out.fileno())  # what was measured counts also where the time runs out


@contextmanager
def earlyoom() -> Iterator[None]:
    """Earlyoom with the same threshold; only the filler, whose score is the greatest, is worth a kill."""
    argv = [str(EARLYOOM), "-r", "0", "-M", f"{THRESHOLD << 10},{THRESHOLD << 9}"]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def evictd() -> Iterator[None]:
    service.start()
    service.wait_until_watching()
    try:
        yield
    finally:
        service.stop()


def trial(node: Node, number: int, kind: str) -> tuple[float, bool]:
    """Fill until the filler is dead; gives the seconds that it lived, and whether the OOM killer was there."""
    in_memory = (VolumeRecipe(name="shm", medium="Memory"),) if kind == "tmpfs" else ()
    recipe = PodRecipe(name=f"hog-{number}", containers=(ContainerRecipe(script=IGNORE_TERM),), volumes=in_memory)
    pod = node.run_pod(recipe)
    if in_memory:
        subprocess.run(["mount", "-o", "remount,size=900m", pod.volumes["shm"]], check=True)
    scope = pod_cgroup(pod) / f"cri-containerd-{pod.container_id}.scope"
    before, began = oom_kills(), time.monotonic()
    argv = [sys.executable, "-c", FILLER, str(scope), *map(str, pod.volumes.values())]
    filler = subprocess.Popen(argv, stderr=subprocess.DEVNULL)
    try:
        filler.wait(150)
    except subprocess.TimeoutExpired:
        filler.kill()
        filler.wait(60)
    lived = time.monotonic() - began
    time.sleep(1)
    lost = oom_kills() > before
    remove(node, pod)
    return lived, lost


def remove(node: Node, pod: RunningPod) -> None:
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


@pytest.mark.parametrize("mode", ["evictd", "earlyoom"])
@pytest.mark.parametrize("kind", ["anonymous", "page cache beside it", "tmpfs"])
def test_trials(node: Node, installed: None, mode: str, kind: str) -> None:
    """Earlyoom has no volumes to empty: it would kill one process after another, so it takes no part in that."""
    FILE.with_name("oom.jsonl").touch()
    if mode == "earlyoom" and (kind == "tmpfs" or not EARLYOOM.exists()):
        return
    Path("/proc/self/oom_score_adj").write_text("-1000")
    service.configure(
        {"evictionHard": {"memory.available": f"{THRESHOLD}Mi"}, "evictionPressureTransitionPeriod": "1s"},
        {"memory": {"formula": "Lowest"}, "allowApiPodsStandalone": True},
    )
    if kind == "page cache beside it":
        limits = {"cpu": "1", "memory": "250Mi"}
        node.run_pod(
            PodRecipe(
                name="reader",
                containers=(ContainerRecipe(script=READER, limits=limits),),
                volumes=(VolumeRecipe(name="data"),),
            )
        )
    with evictd() if mode == "evictd" else earlyoom():
        for number in range(int(os.environ.get("EVICTD_VM_TRIALS", str(TRIALS)))):
            lived, lost = trial(node, number, kind)
            record(mode=mode, kind=kind, seconds=lived, lost=lost)
            wait_for(lambda: mode == "earlyoom" or service.conditions().get("MemoryPressure") == "False", 120, "calm")
