"""Measures how long evictd needs to start under a container's limit of processor time, and what its imports cost.

`evictd run` runs in a cgroup with a quota of 10 ms in each 100 ms (`cpu: 100m`), in a dry run on this machine without a runtime,
until its first decision is in the journal; then `evictd status` runs in the same cgroup. All code is compiled, as in the image,
and the development's `.pth` files are left out. The processor time is the kernel's count. Needs root for the quota.
"""

import os
import resource
import subprocess
import sys
import sysconfig
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep

from bench.harness import Result, summarize
from bench.quota import begin_in, tenth_of_a_processor
from bench.report import loads, write_section
from bench.suite_calm import cpu_ms, status_value
from evictd_testnode.tool import wait_for

RUNS = int(os.environ.get("EVICTD_BENCH_RUNS", "5"))
ADDRESS = "127.0.0.1:10279"
_SOURCE = Path(__file__).parents[1] / "src"
_CONFIG = """
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix://{folder}/none.sock
---
apiVersion: evictd.io/v1alpha1
kind: EvictdConfiguration
dryRun: true
stateDirectory: {folder}/state
listenAddress: {address}
"""
_IMPORTS = (
    ("the interpreter itself", "sys"),
    ("dataclasses, enum, re, argparse, json", "argparse, dataclasses, enum, json, re"),
    ("asyncio, ssl", "asyncio, ssl"),
    ("grpclib (it imports asyncio and ssl)", "grpclib.client"),
    ("CRI's messages (protobuf)", "evictd.clients.cri.api_pb2"),
    ("msgspec", "msgspec"),
    ("PyYAML", "yaml"),
    ("urllib3 (with an API server)", "urllib3"),
    ("the core: every decision", "evictd.core.eviction.synchronize"),
    ("`evictd run`", "evictd.daemon.run"),
    ("`evictd run` with an API server", "evictd.daemon.run, evictd.act.cluster.wiring"),
    ("`evictd status`", "evictd.cli, evictd.commands.status, evictd.render.status.view"),
    ("`kubernetes` (for a kubeconfig only)", "kubernetes.client, kubernetes.config"),
    ("`rich` (never in the daemon)", "rich.console, rich.table"),
)
"""What is imported, each in a process of its own: its name in the table, the modules."""
_COST = """
import gc; gc.disable()
import {modules}
names = ("Rss:", "Anonymous:")
rows = [line.split() for line in open("/proc/self/smaps_rollup")]
print(*(int(row[1]) for name in names for row in rows if row[0] == name))
"""


@dataclass(slots=True)
class Start:
    """The samples of a start: milliseconds, and what the daemon holds afterwards."""

    decided: list[float] = field(default_factory=list)
    decided_cpu: list[float] = field(default_factory=list)
    status: list[float] = field(default_factory=list)
    status_cpu: list[float] = field(default_factory=list)
    resident_mib: float = 0
    private_mib: float = 0
    threads: int = 0


def run() -> list[Result]:
    """Measure starts and imports, and write the tables of `bench/figures.md`."""
    if os.geteuid() != 0:
        print("start: needs root; left out")
        return []
    with TemporaryDirectory(prefix="evictd-bench-") as top, tenth_of_a_processor() as limited:
        folder = Path(top)
        (folder / "config.yaml").write_text(_CONFIG.format(folder=folder, address=ADDRESS))
        start = Start()
        _sample(folder, limited, Start())  # compiles everything
        for _ in range(RUNS):
            _sample(folder, limited, start)
        imports = []
        for name, modules in _IMPORTS:
            cpu, rss, own = min(_import(folder, modules) for _ in range(RUNS + 1))
            imports.append(f"| {name} | {cpu:.0f} | {rss:.1f} | {own:.1f} |")
            print(imports[-1], flush=True)
    results = [
        summarize("start/first_decision", start.decided),
        summarize("start/first_decision_cpu", start.decided_cpu),
        summarize("start/status", start.status),
        summarize("start/status_cpu", start.status_cpu),
    ]
    write_section("start", _section(results, start, imports))
    return results


def _section(results: list[Result], start: Start, imports: list[str]) -> str:
    held = f"{start.resident_mib:.0f} MiB, {start.private_mib:.0f} of them its own"
    return "\n".join(
        [
            "## Start under a limit of 100m",
            "",
            f"`make bench SUITE=start`: quota of 10 ms in each 100 ms, {RUNS} starts, median and longest. {loads()}",
            "",
            "| | Time | Longest | Processor time |",
            "|---|---|---|---|",
            _row("start to first decision", *results[:2]),
            _row("`evictd status`", *results[2:]),
            "",
            f"The daemon then holds {held} (the rest are pages of libraries), in {start.threads} threads.",
            "",
            "Each import in a new process, least of several runs; the suite prints those of single libraries:",
            "",
            "| Import | Processor time, ms | Resident, MiB | Own |",
            "|---|---|---|---|",
            *(row for row in imports if row.startswith("| `evictd")),
        ]
    )


def _row(name: str, time: Result, cpu: Result) -> str:
    return f"| {name} | {time.median_ms / 1000:.1f} s | {time.max_ms / 1000:.1f} s | {cpu.median_ms:.0f} ms |"


def _environment(folder: Path) -> dict[str, str]:
    path = f"{_SOURCE}:{sysconfig.get_path('purelib')}"
    return {"PATH": os.environ["PATH"], "PYTHONPATH": path, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}


def _begin(folder: Path, limited: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    argv = begin_in(limited, sys.executable, "-S", "-m", "evictd", *arguments)
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(argv, env=_environment(folder), stdout=log, stderr=log)


def _sample(folder: Path, limited: Path, start: Start) -> None:
    """Start a daemon, ask it once, and end it."""
    journal = folder / "state/journal.jsonl"
    journal.unlink(missing_ok=True)
    began = monotonic()
    daemon = _begin(folder, limited, "run", "--config", str(folder / "config.yaml"))
    try:
        while not (journal.exists() and journal.stat().st_size):
            assert daemon.poll() is None, (folder / "log").read_text()
            sleep(0.01)
        start.decided.append((monotonic() - began) * 1000)
        start.decided_cpu.append(cpu_ms(daemon.pid))
        wait_for(lambda: _quiet(daemon.pid))
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), monotonic()
        assert _begin(folder, limited, "status", "--address", ADDRESS).wait() == 0, (folder / "log").read_text()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        start.status.append((monotonic() - began) * 1000)
        start.status_cpu.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000)
        process = Path(f"/proc/{daemon.pid}")
        start.resident_mib, start.private_mib = (status_value(process, each) / 1024 for each in ("VmRSS", "RssAnon"))
        start.threads = status_value(process, "Threads")
    finally:
        daemon.terminate()
        daemon.wait(60)


def _quiet(pid: int) -> bool:
    """Whether the first cycle's work is done: a tenth of a second without processor time."""
    before = cpu_ms(pid)
    return not wait_for(lambda: cpu_ms(pid) > before, seconds=0.2)


def _import(folder: Path, modules: str) -> tuple[float, float, float]:
    """Import in a new process: processor time (ms), resident and private memory (MiB)."""
    argv = [sys.executable, "-S", "-c", _COST.format(modules=modules)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(argv, env=_environment(folder), capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    rss, own = (int(each) / 1024 for each in done.stdout.split())
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000, rss, own
