"""Measures the time from memory crossing a threshold to the first stop call, beside earlyoom and a poll every 10 s.

A node is a memory cgroup of 2 GiB around a private containerd; in a pod's cgroup a process fills 500 MiB/s past a
threshold of 768 MiB. earlyoom watches the whole machine, so its threshold is set relative to the memory available there, and
it runs dry, so that it kills no other process. Takes ten minutes, half of it for the plain poll. Needs root, cgroup v1
and Debian's packages; a mode that is not available is skipped with a message. EVICTD_BENCH_RUNS and EVICTD_BENCH_MODES change
the size.

`reaction/starved` is `notify` beside 20 processes that compute, on however many processors, with evictd in a memory cgroup that
others keep under reclaim. evictd is set up as its unit does it: `--lock-memory`, and ten times the processor weight of the rest.
"""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from statistics import median

from bench.filler import left_on_machine
from bench.harness import Result, summarize
from bench.lines import Lines, pressure_ends, started
from bench.report import loads, write_section
from evictd.errors import EvictdError
from evictd_testnode.binaries import default_cache, find_binaries
from evictd_testnode.cgroups import group, pids_of
from evictd_testnode.node import DisposableNode, NodeRecipe
from evictd_testnode.pods import PodRecipe, RunningPod
from evictd_testnode.tool import run_tool, wait_for

RUNS = int(os.environ.get("EVICTD_BENCH_RUNS", "20"))
RATE_MIB = 500
NODE = 2 << 30
THRESHOLD = 768 << 20
BEYOND_MIB = 600
"""How far the filler continues beyond the crossing; below the node's limit, so that no OOM kill occurs."""
MACHINE_DISTANCE = 1 << 30

STARVED = "reaction/starved"

Fields = Mapping[str, object]

MODES: dict[str, tuple[Fields, Fields]] = {
    "reaction/notify": ({"kernelMemcgNotification": True}, {"memory": {"watch": True}}),
    "reaction/poll": ({}, {"memory": {"watch": True}}),
    STARVED: ({"kernelMemcgNotification": True}, {"memory": {"watch": True}}),
    "reaction/interval10s": ({}, {"memory": {"watch": False}}),
}
SELECTED = os.environ.get("EVICTD_BENCH_MODES", " ".join((*MODES, "reaction/earlyoom"))).split()
BUSY = 20
SQUEEZED = 320 << 20
_COMPUTE = "import os, sys\nwhile os.getppid() == int(sys.argv[1]): sum(range(10**5))"
_REREAD = """
import os, sys
with open(sys.argv[2], "w+b", buffering=0) as file:
    while os.getppid() == int(sys.argv[1]):
        file.seek(0)
        for _ in range(400):
            file.write(bytes(1 << 20))
        file.seek(0)
        while file.read(1 << 20):
            pass
"""


def run() -> list[Result]:
    """Measure every mode."""
    if os.geteuid() != 0 or not group("memory", "/").joinpath("cgroup.event_control").exists():
        print("reaction: needs root and a memory controller of cgroup v1; left out")
        return []
    recipe = NodeRecipe(binaries=find_binaries(default_cache()), memory_bytes=NODE)
    samples: dict[str, list[float]] = {}
    for name in (each for each in MODES if each in SELECTED):
        print(f"{name}: {RUNS} runs ...", flush=True)
        with DisposableNode(recipe) as node:
            samples[name] = _reactions(node, name)
    try:
        if "reaction/earlyoom" in SELECTED:
            samples["reaction/earlyoom"] = _earlyoom(find_earlyoom(Path("build/earlyoom")))
    except EvictdError as error:
        print(f"reaction/earlyoom: left out: {error}")
    write_section("reaction", _section(samples))
    return [summarize(name, each) for name, each in samples.items()]


def _section(samples: dict[str, list[float]]) -> str:
    what = f"{RATE_MIB} MiB/s past {THRESHOLD >> 20}Mi on a node of {NODE >> 20} MiB (cgroup v1), crossing to the call that stops"
    lines = [
        "## Reaction",
        "",
        f"`make bench SUITE=reaction`: {what}; starved: {BUSY} busy processes and memory under reclaim. {loads()}",
        "",
        *reaction_table(samples),
    ]
    return "\n".join(lines)


def reaction_table(samples: Mapping[str, list[float]]) -> list[str]:
    """Show samples in milliseconds as a table, in lines of Markdown."""
    rows = [
        f"| {name} | {len(each)} | {median(each):.0f} | {sorted(each)[-(len(each) // 100) - 1]:.0f} | {max(each):.0f} |"
        for name, each in samples.items()
    ]
    return [
        "| Mode | Runs | Median, ms | 99th percentile | Longest |",
        "|---|---|---|---|---|",
        *rows,
    ]


@contextmanager
def _starving(node: DisposableNode) -> Iterator[tuple[Path, ...]]:
    """Keep processors and one memory cgroup busy; gives the cgroups for evictd. All end with this process."""
    squeezed, preferred = group("memory", f"{node.cgroup}/squeezed"), group("cpu", f"{node.cgroup}/preferred")
    for folder, file, value in ((squeezed, "memory.limit_in_bytes", SQUEEZED), (preferred, "cpu.shares", 10240)):
        folder.mkdir(parents=True)
        (folder / file).write_text(str(value))
    argv = [sys.executable, "-c"]
    hogs = [subprocess.Popen([*argv, _COMPUTE, str(os.getpid())]) for _ in range(BUSY - 2)]
    for number in range(2):
        hogs.append(subprocess.Popen([*argv, _REREAD, str(os.getpid()), str(node.folder / f"reread-{number}")]))
        (squeezed / "cgroup.procs").write_text(str(hogs[-1].pid))
    try:
        yield squeezed, preferred
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait(60)


def _reactions(node: DisposableNode, name: str) -> list[float]:
    (kubelet, evictd), plain, starved = MODES[name], name.endswith("interval10s"), name == STARVED
    samples = []
    with (
        _starving(node) if starved else nullcontext(()) as cgroups,
        daemon(node, kubelet, evictd, cgroups=cgroups) as stops,
    ):
        for number in range(RUNS):
            pod = node.run_pod(PodRecipe(name=f"hog-{number}", grace_period_seconds=1))
            # Not in step with the interval: where in it the crossing falls is what a plain poll depends on, and whether
            # evictd has listed the pod before.
            time.sleep(random.uniform(0.5, 10.5 if plain or starved else 1.0))
            stops.forget()
            with _filler("cgroup", *_places(node, pod), cgroups=cgroups[1:]) as filler:
                crossed = int(filler.next("crossed", 300)[1].split()[1])
                stopped = int(stops.next("stop")[1].split()[1])
            samples.append((stopped - crossed) / 1e6)
            _until_calm(node, pod, number)
    return samples


def _places(node: DisposableNode, pod: RunningPod) -> tuple[str, ...]:
    container = group("memory", f"{pod.cgroup_parent}/{pod.container_id}")
    return str(container), str(group("memory", node.cgroup)), str(NODE), str(THRESHOLD)


def write_config(node: DisposableNode, kubelet: Fields, evictd: Fields, *, threshold: int) -> Path:
    """Write a daemon's configuration for a node, with further fields of both documents."""
    first = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "evictionHard": {"memory.available": str(threshold)},
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
        "allowApiPodsStandalone": True,  # what the demo's pods look like
        **evictd,
    }
    config = node.folder / "config.yaml"
    config.write_text(json.dumps(first) + "\n---\n" + json.dumps(second) + "\n")
    return config


@contextmanager
def daemon(
    node: DisposableNode,
    kubelet: Fields,
    evictd: Fields,
    *,
    threshold: int = THRESHOLD,
    cgroups: tuple[Path, ...] = (),
) -> Iterator[Lines]:
    """Run the daemon on a node, in these cgroups; gives the times of its stop calls."""
    config = write_config(node, kubelet, evictd, threshold=threshold)
    argv = [
        "setpriv",
        "--pdeathsig",
        "KILL",
        sys.executable,
        "-m",
        "bench.stop_clock",
    ]  # it outlived a run that was killed
    argv += ["run", "--config", str(config), "--node-cgroup", node.cgroup, "--lock-memory"]
    with (node.folder / "evictd.log").open("w") as log:
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        for folder in cgroups:
            (folder / "cgroup.procs").write_text(str(process.pid))
        if not wait_for((node.folder / "evictd/conditions.json").exists):
            raise AssertionError((node.folder / "evictd.log").read_text())
        yield Lines(process)
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def _filler(*arguments: str, cgroups: tuple[Path, ...] = ()) -> Iterator[Lines]:
    argv = [sys.executable, "-m", "bench.filler", str(RATE_MIB), str(BEYOND_MIB), *arguments]
    with started(argv, cgroups=cgroups) as (_, lines):  # outside of them it would not get to the crossing
        yield lines


def _until_calm(node: DisposableNode, pod: RunningPod, number: int) -> None:
    """Wait until the pod has stopped, and evictd has observed that the pressure is over."""
    log = node.folder / "evictd.log"
    if not wait_for(lambda: pressure_ends(log) > number, seconds=60, step_seconds=0.1):
        raise AssertionError(log.read_text())
    if not wait_for(lambda: not is_running(node, pod), seconds=60):
        raise AssertionError(f"{pod.name} runs on")
    node.remove_pod(pod)


def first_process(pod: RunningPod) -> int:
    """Return the id of process 1 of a pod's container, as the machine sees it."""
    pids = pids_of(f"{pod.cgroup_parent}/{pod.container_id}")
    return next(pid for pid in pids if _innermost_pid(pid) == 1)  # not the lowest: the kernel's numbers wrap around


def _innermost_pid(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except FileNotFoundError:
        return 0
    return next((int(line.split()[-1]) for line in lines if line.startswith("NSpid:")), 0)


def is_running(node: DisposableNode, pod: RunningPod) -> bool:
    """Whether a container of the pod may run."""
    return any(each.sandbox_id == pod.sandbox_id and each.state.may_run for each in node.client.list_containers())


def find_earlyoom(folder: Path) -> Path:
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
