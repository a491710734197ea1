"""Measures what evictd costs on a calm node: processor time of evictd and of containerd, memory, threads, wake-ups.

A node is a private containerd with a number of pods that do nothing. containerd and its shims are measured for a while without
evictd, then again beside it once its first work (the statuses of all containers) is done. Processor time is the kernel's count
over the window, so load on the machine changes it little. Then the disk of the largest node, on which each pod has a volume of
100 files, is filled by degrees towards `nodefs.available<10%`. The last rows are of the largest node of at most 110 pods, with an
API server (`bench.pod_events`) without pod events, and with ten a second. Needs root and the demo's containerd.
EVICTD_BENCH_PODS, EVICTD_BENCH_DISKS (per cent) and EVICTD_BENCH_SECONDS change the size; 500 pods need 8 GiB for their shims.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from bench.harness import Result, summarize
from bench.pod_events import NODE_NAME, POD_BYTES, PodEvents, served
from bench.report import loads, write_section
from bench.service_account import in_cluster
from bench.suite_reaction import write_config
from evictd.clients.kube.service_account import IN_CLUSTER
from evictd_testnode.binaries import default_cache, find_binaries
from evictd_testnode.cgroups import group
from evictd_testnode.disks import DiskKind, DiskRecipe
from evictd_testnode.node import DisposableNode, NodeRecipe
from evictd_testnode.pods import PodRecipe, RunningPod, VolumeRecipe
from evictd_testnode.tool import wait_for

PODS = tuple(int(each) for each in os.environ.get("EVICTD_BENCH_PODS", "10 110 500").split())
DISKS = tuple(int(each) for each in os.environ.get("EVICTD_BENCH_DISKS", "50 80 88").split())
SECONDS = int(os.environ.get("EVICTD_BENCH_SECONDS", "60"))
WARM_UP_SECONDS = 15
EVENTFUL = max((each for each in PODS if each <= 110), default=0)
"""The number of pods beside which pods change; a kubelet's default allows no more."""
EVENTS = 10
CLUSTER = (
    ("API server, no events", 0, "label"),
    (f"{EVENTS} pod events a second", EVENTS, "label"),
    (f"{EVENTS} changes of readiness a second", EVENTS, "readiness"),
)
"""The rows with an API server: events a second, and what they change."""
NODE = 4 << 30
DISK = DiskRecipe(kind=DiskKind.EXT4, size_bytes=6 << 30, inodes=400_000)
FILES = 100
THRESHOLD = 100 << 20
_TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")


class Part(IntEnum):
    """The parts of the table, in their order."""

    PODS = 0
    DISKS = 1
    EVENTS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Processor time in milliseconds per second, and what evictd holds; wake-ups per second."""

    runtime_alone: float
    runtime_beside: float
    evictd: float
    wake_ups: float
    resident_mib: float
    threads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of the table."""

    part: Part
    what: str
    cost: Cost

    def __str__(self) -> str:
        cost = self.cost
        cells = (
            self.what,
            f"{cost.evictd / 10:.2f}",
            f"{cost.runtime_alone / 10:.2f}",
            f"{cost.runtime_beside / 10:.2f}",
            f"{cost.resident_mib:.0f}",
            f"{cost.threads}",
            f"{cost.wake_ups:.1f}",
        )
        return f"| {' | '.join(cells)} |"

    def results(self) -> list[Result]:
        """Return the figures to keep."""
        figures = {
            "evictd": self.cost.evictd,
            "runtime_alone": self.cost.runtime_alone,
            "runtime_beside": self.cost.runtime_beside,
        }
        return [summarize(f"calm/{self.what}/{name}_ms_per_s", [value]) for name, value in figures.items()]


def run() -> list[Result]:
    """Measure nodes of every size, and write the table of `docs/benchmarks.md`."""
    if os.geteuid() != 0:
        print("calm: needs root; left out")
        return []
    recipe = NodeRecipe(
        binaries=find_binaries(default_cache()), memory_bytes=NODE, node_disk=DISK, stats_collect_period_seconds=10
    )
    rows: list[Row] = []
    with DisposableNode(recipe) as node:
        for row in _rows(node):
            print(row, flush=True)
            rows.append(row)
            write_section("calm", _section(sorted(rows, key=lambda each: each.part)))
    return [result for row in rows for result in row.results()]


def _rows(node: DisposableNode) -> Iterator[Row]:
    """Measure in the order in which the node grows and fills; the table has the rows of pods first, and those of events last."""
    running: list[RunningPod] = []
    for count in PODS:
        print(f"calm: {count} pods ...", flush=True)
        running += [_run_pod(node, number) for number in range(len(running), count)]
        alone = _alone(node)
        yield Row(part=Part.PODS, what=f"{count}", cost=_cost(node, alone))
        if count == EVENTFUL:
            for what, rate, kind in CLUSTER:
                with served(node.folder / f"api-{rate}-{kind}", running, rate, kind) as events:
                    yield Row(part=Part.EVENTS, what=f"{count}, {what}", cost=_cost(node, alone, events))
        for percent in DISKS if count == PODS[-1] else ():
            _fill(node, percent)
            yield Row(part=Part.DISKS, what=f"{count}, disk at {percent} %", cost=_cost(node, alone))


def _run_pod(node: DisposableNode, number: int) -> RunningPod:
    running = node.run_pod(PodRecipe(name=f"pod-{number}", volumes=(VolumeRecipe(name="data"),)))
    for file in range(FILES):
        (running.volumes["data"] / str(file)).touch()
    return running


def _section(rows: list[Row]) -> str:
    what = (
        f"idle pods of one container and a volume of {FILES} files on containerd, `memory.available<{THRESHOLD >> 20}Mi` and "
        f"`nodefs.available<10%`, windows of {SECONDS} s; % of one core"
    )
    lines = [
        "## The price of a calm node",
        "",
        f"`make bench SUITE=calm`: {what}. {loads()}",
        "",
        "| Pods | evictd, % | containerd and shims alone | beside evictd | Memory, MiB | Threads | Wake-ups a second |",
        "|---|---|---|---|---|---|---|",
        *(str(row) for row in rows),
    ]
    if any(row.part is Part.EVENTS for row in rows):
        lines += [
            "",
            f"API server: in-cluster, as in the DaemonSet, pods of {POD_BYTES >> 10} KiB; with a kubeconfig 20 MiB more, for the",
            "package that reads it. A pod event changes a label, which evictd reads; it does not read readiness.",
        ]
    return "\n".join(lines)


def _alone(node: DisposableNode) -> float:
    """Measure containerd and its shims without evictd."""
    time.sleep(WARM_UP_SECONDS)
    before = _runtime_ms(node)
    time.sleep(SECONDS)
    return (_runtime_ms(node) - before) / SECONDS


def _fill(node: DisposableNode, percent: int) -> None:
    """Fill the node's disk to this share, by a file that belongs to no pod."""
    disk = os.statvfs(node.node_folder)
    missing = disk.f_blocks * percent // 100 - (disk.f_blocks - disk.f_bfree)
    with (node.node_folder / f"filled-{percent}").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, missing * disk.f_frsize)


def _cost(node: DisposableNode, alone: float, events: PodEvents | None = None) -> Cost:
    with _daemon(node, events) as pid:
        time.sleep(WARM_UP_SECONDS)
        ours, runtime, woken, changes = cpu_ms(pid), _runtime_ms(node), _switches(pid), events.count() if events else 0
        time.sleep(SECONDS)
        cost = Cost(
            runtime_alone=alone,
            runtime_beside=(_runtime_ms(node) - runtime) / SECONDS,
            evictd=(cpu_ms(pid) - ours) / SECONDS,
            wake_ups=(_switches(pid) - woken) / SECONDS,
            resident_mib=status_value(Path(f"/proc/{pid}"), "VmRSS") / 1024,
            threads=len(list(Path(f"/proc/{pid}/task").iterdir())),
        )
        if events:
            print(f"calm: {(events.count() - changes) / SECONDS:.1f} pod events a second", flush=True)
        return cost


@contextmanager
def _daemon(node: DisposableNode, events: PodEvents | None) -> Iterator[int]:
    """Run evictd, in a cgroup of the node through which it is found and ended after this process was killed."""
    config = _config(node, events)
    argv = [sys.executable, "-m", "evictd", "run", "--config", str(config), "--node-cgroup", node.cgroup]
    environment = dict(os.environ)
    if events is not None:
        argv = in_cluster(events.account, argv)
        environment |= {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(events.port)}
    said = node.folder / "evictd.log"
    cgroup = group("cpu", f"{node.cgroup}/evictd")
    cgroup.mkdir(parents=True, exist_ok=True)
    with said.open("w") as log:
        process = subprocess.Popen(argv, stdout=log, stderr=log, env=environment)
    try:
        (cgroup / "cgroup.procs").write_text(str(process.pid))
        if not wait_for(lambda: "conditions: none" in said.read_text()):
            raise AssertionError(said.read_text())
        yield process.pid
    finally:
        process.terminate()
        process.wait(60)


def _config(node: DisposableNode, events: PodEvents | None) -> Path:
    """Write the configuration: without an API server with the pods' manifests, else with none, as beside a kubelet."""
    kubelet: dict[str, object] = {"evictionHard": {"memory.available": str(THRESHOLD), "nodefs.available": "10%"}}
    evictd: dict[str, object] = {"memory": {"watch": True}}
    if events is not None:
        kubelet["staticPodPath"] = ""
        evictd |= {
            "cluster": {"kubeconfig": IN_CLUSTER, "nodeName": NODE_NAME},
            "allowApiPodsStandalone": False,
        }
    return write_config(node, kubelet, evictd, threshold=THRESHOLD)


def _runtime_ms(node: DisposableNode) -> float:
    """Sum the processor time of containerd and its shims; the pods' own processes are left out."""
    first = node.containerd.pid
    children: dict[int, list[int]] = {}
    names: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat(entry)) is not None:
            children.setdefault(int(fields[1]), []).append(int(entry.name))
            names[int(entry.name)] = entry.joinpath("comm").read_text() if entry.exists() else ""
    pending, total = [first], 0.0
    while pending:
        pid = pending.pop()
        pending += children.get(pid, [])
        if names.get(pid, "").startswith("containerd"):
            total += cpu_ms(pid)
    return total


def _stat(process: Path) -> list[str] | None:
    try:
        return process.joinpath("stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None  # it has ended


def cpu_ms(pid: int) -> float:
    fields = _stat(Path(f"/proc/{pid}"))
    return 0.0 if fields is None else (int(fields[11]) + int(fields[12])) * _TICK_MS


def _switches(pid: int) -> int:
    return sum(status_value(task, "voluntary_ctxt_switches") for task in Path(f"/proc/{pid}/task").iterdir())


def status_value(folder: Path, name: str) -> int:
    for line in folder.joinpath("status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    return 0
