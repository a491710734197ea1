"""How long from memory crossing a threshold to the first stop call? Beside earlyoom and a plain poll every 10 s.

A node is a memory cgroup of 2 GiB around a private containerd; in a pod's cgroup a process fills 500 MiB/s past a
threshold of 768 MiB. earlyoom watches the whole machine, so its threshold lies so far below what is available there; it
runs dry, so that it can hit nobody else. Takes ten minutes, half of it for the plain poll. Needs root, cgroup v1
and Debian's packages; what cannot be had is left out and said so.
"""

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue

from bench.filler import left_on_machine
from bench.harness import Result, summarize
from evictd.demo.binaries import default_cache, find_binaries
from evictd.demo.cgroups import group
from evictd.demo.node import DisposableNode, NodeRecipe
from evictd.demo.pods import PodRecipe, RunningPod
from evictd.demo.tool import run_tool, wait_for
from evictd.errors import EvictdError

RUNS = int(os.environ.get("EVICTD_BENCH_RUNS", "20"))
RATE_MIB = 500
NODE = 2 << 30
THRESHOLD = 768 << 20
BEYOND_MIB = 600
"""How far the filler goes on beyond the crossing; below the node's limit, so that nothing is killed for it."""
MACHINE_DISTANCE = 1 << 30

Fields = Mapping[str, object]

MODES: dict[str, tuple[Fields, Fields]] = {
    "reaction/notify": ({"kernelMemcgNotification": True}, {"memory": {"watch": True}}),
    "reaction/poll": ({}, {"memory": {"watch": True}}),
    "reaction/interval10s": ({}, {"memory": {"watch": False}}),
}


def run() -> list[Result]:
    """Measure every mode."""
    if os.geteuid() != 0 or not group("memory", "/").joinpath("cgroup.event_control").exists():
        print("reaction: needs root and a memory controller of cgroup v1; left out")
        return []
    results = []
    recipe = NodeRecipe(binaries=find_binaries(default_cache()), memory_bytes=NODE)
    for name, (kubelet, evictd) in MODES.items():
        print(f"{name}: {RUNS} runs ...", flush=True)
        with DisposableNode(recipe) as node:
            results.append(summarize(name, _reactions(node, kubelet, evictd, plain=name.endswith("interval10s"))))
    try:
        results.append(summarize("reaction/earlyoom", _earlyoom(_find_earlyoom(Path("build/earlyoom")))))
    except EvictdError as error:
        print(f"reaction/earlyoom: left out: {error}")
    return results


class Lines:
    """The lines that a process writes, with a time limit on each."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._queue: Queue[tuple[int, str]] = Queue()
        self._stream = process.stdout
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._stream or ():
            self._queue.put((time.clock_gettime_ns(time.CLOCK_BOOTTIME), line))

    def next(self, word: str, seconds: float = 60) -> tuple[int, str]:
        """Give the next line with this word, and when it was read."""
        while True:
            try:
                at, line = self._queue.get(timeout=seconds)
            except Empty:
                raise AssertionError(f"no line with {word!r} in {seconds} s") from None
            if word in line:
                return at, line

    def forget(self) -> None:
        """Drop what was said so far."""
        while not self._queue.empty():
            self._queue.get_nowait()


def _reactions(node: DisposableNode, kubelet: Fields, evictd: Fields, *, plain: bool) -> list[float]:
    samples = []
    with _daemon(node, kubelet, evictd) as stops:
        for number in range(RUNS):
            pod = node.run_pod(PodRecipe(name=f"hog-{number}", grace_period_seconds=1))
            # Not in step with the interval: where in it the crossing falls is what a plain poll depends on.
            time.sleep(random.uniform(0.5, 10.5 if plain else 1.0))
            stops.forget()
            with _filler("cgroup", *_places(node, pod)) as filler:
                crossed = int(filler.next("crossed")[1].split()[1])
                stopped = int(stops.next("stop")[1].split()[1])
            samples.append((stopped - crossed) / 1e6)
            _until_calm(node, pod, number)
    return samples


def _places(node: DisposableNode, pod: RunningPod) -> tuple[str, ...]:
    container = group("memory", f"{pod.cgroup_parent}/{pod.container_id}")
    return str(container), str(group("memory", node.cgroup)), str(NODE), str(THRESHOLD)


@contextmanager
def _daemon(node: DisposableNode, kubelet: Fields, evictd: Fields) -> Iterator[Lines]:
    first = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "evictionHard": {"memory.available": str(THRESHOLD)},
        "evictionPressureTransitionPeriod": "1s",
        "containerRuntimeEndpoint": node.endpoint,
        "staticPodPath": str(node.manifests),
        "podLogsDir": str(node.log_folder),
        "cgroupRoot": node.cgroup,
        **kubelet,
    }
    second = {
        "apiVersion": "evictd.io/v1alpha1",
        "kind": "EvictdConfiguration",
        "housekeepingInterval": "10s",
        "stateDirectory": str(node.folder / "evictd"),
        "rootDir": str(node.kubelet_folder),
        "listenAddress": "",
        **evictd,
    }
    config = node.folder / "config.yaml"
    config.write_text(json.dumps(first) + "\n---\n" + json.dumps(second) + "\n")
    argv = [sys.executable, "-m", "bench.stop_clock", "run", "--config", str(config), "--node-cgroup", node.cgroup]
    with (node.folder / "evictd.log").open("w") as log:
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        if not wait_for((node.folder / "evictd/conditions.json").exists):
            raise AssertionError((node.folder / "evictd.log").read_text())
        yield Lines(process)
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def _filler(*arguments: str) -> Iterator[Lines]:
    argv = [sys.executable, "-m", "bench.filler", str(RATE_MIB), str(BEYOND_MIB), *arguments]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield Lines(process)
    finally:
        process.kill()
        process.wait(60)


def _until_calm(node: DisposableNode, pod: RunningPod, number: int) -> None:
    """Wait until evictd has seen the pod gone, and with it the pressure."""
    log = node.folder / "evictd.log"
    if not wait_for(lambda: log.read_text().count("pod is gone") > number, seconds=60, step_seconds=0.1):
        raise AssertionError(log.read_text())
    node.remove_pod(pod)


def _find_earlyoom(folder: Path) -> Path:
    """Unpack Debian's package; nothing is installed."""
    program = folder / "root/usr/bin/earlyoom"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        run_tool("apt-get", "download", "earlyoom", folder=folder)
        (package,) = folder.glob("earlyoom_*.deb")
        run_tool("dpkg-deb", "-x", package, folder / "root")
    return program.absolute()


def _earlyoom(program: Path) -> list[float]:
    samples = []
    for _ in range(RUNS):
        threshold = left_on_machine() - MACHINE_DISTANCE
        argv = [str(program), "--dryrun", "-r", "0", "-M", str(threshold >> 10)]
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            said = Lines(process)
            said.next("mem total", 10)
            with _filler("machine", str(threshold)) as filler:
                crossed = int(filler.next("crossed")[1].split()[1])
                at, _ = said.next("low memory", 10)
            samples.append((at - crossed) / 1e6)
        finally:
            process.terminate()
            process.wait(60)
    return samples
