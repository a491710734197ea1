"""Measures what evictd costs on a calm node: processor time of evictd and of containerd, memory, threads, wake-ups.

A node is a private containerd with a number of pods that do nothing. containerd and its shims are measured for a while without
evictd, then again beside it once its first work (the statuses of all containers) is done. Processor time is the kernel's count
over the window, so load on the machine changes it little. Then the disk of the largest node, on which each pod has a volume of
100 files, is filled by degrees towards `nodefs.available<10%`. Needs root and the demo's containerd. EVICTD_BENCH_PODS,
EVICTD_BENCH_DISKS (per cent) and EVICTD_BENCH_SECONDS change the size; 500 pods need some 8 GiB for their shims.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.harness import Result, summarize
from bench.report import bars, loads, write_section
from bench.suite_reaction import write_config
from evictd.demo.binaries import default_cache, find_binaries
from evictd.demo.disks import DiskKind, DiskRecipe
from evictd.demo.node import DisposableNode, NodeRecipe
from evictd.demo.pods import PodRecipe, VolumeRecipe
from evictd.demo.tool import wait_for

PODS = tuple(int(each) for each in os.environ.get("EVICTD_BENCH_PODS", "10 110 500").split())
DISKS = tuple(int(each) for each in os.environ.get("EVICTD_BENCH_DISKS", "50 80 88").split())
SECONDS = int(os.environ.get("EVICTD_BENCH_SECONDS", "60"))
WARM_UP_SECONDS = 15
NODE = 4 << 30
DISK = DiskRecipe(kind=DiskKind.EXT4, size_bytes=6 << 30, inodes=400_000)
FILES = 100
THRESHOLD = 100 << 20
_TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Processor time in milliseconds per second, and what evictd holds; wake-ups per second."""

    runtime_alone: float
    runtime_beside: float
    evictd: float
    wake_ups: float
    resident_mib: float
    threads: int


def run() -> list[Result]:
    """Measure nodes of every size, and write the table of `docs/benchmarks.md`."""
    if os.geteuid() != 0:
        print("calm: needs root; left out")
        return []
    recipe = NodeRecipe(
        binaries=find_binaries(default_cache()), memory_bytes=NODE, node_disk=DISK, stats_collect_period_seconds=10
    )
    results: list[Result] = []
    rows: list[str] = []
    shares: dict[str, float] = {}
    with DisposableNode(recipe) as node:
        for number, count in enumerate(PODS):
            print(f"calm: {count} pods ...", flush=True)
            for pod in range(PODS[number - 1] if number else 0, count):
                recipe_of_pod = PodRecipe(name=f"pod-{pod}", volumes=(VolumeRecipe(name="data"),))
                volume = node.run_pod(recipe_of_pod).volumes["data"]
                for file in range(FILES):
                    (volume / str(file)).touch()
            alone = _alone(node)
            for percent in (None, *(DISKS if count == PODS[-1] else ())):
                what = f"{count}" if percent is None else f"{count}, disk at {percent} %"
                if percent is not None:
                    _fill(node, percent)
                cost = _cost(node, alone)
                shares[what] = cost.evictd / 10
                rows.append(
                    f"| {what} | {cost.evictd / 10:.2f} % | {cost.runtime_alone / 10:.2f} % "
                    f"| {cost.runtime_beside / 10:.2f} % | {cost.resident_mib:.0f} MiB | {cost.threads} | {cost.wake_ups:.1f} |"
                )
                print(rows[-1], flush=True)
                results += [
                    summarize(f"calm/{what}/evictd_ms_per_s", [cost.evictd]),
                    summarize(f"calm/{what}/runtime_alone_ms_per_s", [cost.runtime_alone]),
                    summarize(f"calm/{what}/runtime_beside_ms_per_s", [cost.runtime_beside]),
                ]
                write_section("calm", _section(rows, shares))
    return results


def _section(rows: list[str], shares: dict[str, float]) -> str:
    what = (
        f"idle pods of one container and a volume of {FILES} files on containerd, `memory.available<{THRESHOLD >> 20}Mi` and "
        f"`nodefs.available<10%`, windows of {SECONDS} s; % of one core"
    )
    lines = [
        "## The price of a calm node",
        "",
        f"`make bench SUITE=calm`: {what}. {loads()}",
        "",
        "| Pods | evictd | containerd and shims alone | beside evictd | Resident memory | Threads | Wake-ups a second |",
        "|---|---|---|---|---|---|---|",
        *rows,
        "",
        "evictd:",
        "",
        *bars(shares, "%"),
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


def _cost(node: DisposableNode, alone: float) -> Cost:
    with _daemon(node) as pid:
        time.sleep(WARM_UP_SECONDS)
        ours, runtime, woken = cpu_ms(pid), _runtime_ms(node), _switches(pid)
        time.sleep(SECONDS)
        return Cost(
            runtime_alone=alone,
            runtime_beside=(_runtime_ms(node) - runtime) / SECONDS,
            evictd=(cpu_ms(pid) - ours) / SECONDS,
            wake_ups=(_switches(pid) - woken) / SECONDS,
            resident_mib=status_value(Path(f"/proc/{pid}"), "VmRSS") / 1024,
            threads=len(list(Path(f"/proc/{pid}/task").iterdir())),
        )


@contextmanager
def _daemon(node: DisposableNode) -> Iterator[int]:
    thresholds = {"memory.available": str(THRESHOLD), "nodefs.available": "10%"}
    config = write_config(node, {"evictionHard": thresholds}, {"memory": {"watch": True}}, threshold=THRESHOLD)
    argv = [sys.executable, "-m", "evictd", "run", "--config", str(config), "--node-cgroup", node.cgroup]
    conditions = node.folder / "evictd/conditions.json"
    conditions.unlink(missing_ok=True)
    with (node.folder / "evictd.log").open("w") as log:
        process = subprocess.Popen(argv, stdout=log, stderr=log)
    try:
        if not wait_for(conditions.exists):
            raise AssertionError((node.folder / "evictd.log").read_text())
        yield process.pid
    finally:
        process.terminate()
        process.wait(60)


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
