"""Counts how often the OOM killer is faster than evictd, behind a threshold of 100Mi on a node of 1 GiB.

In each trial a process in a pod's cgroup and PID namespace fills memory at a steady rate until it is killed; it and process 1 of
the container ignore SIGTERM. A trial is lost if the kernel's counter of OOM kills has risen and the node's cgroup has hit its
limit. Ten pods that do nothing run beside it; one of them that is gone at the end was evicted though it was innocent.

`kubelet` is the policy that gives two seconds of grace and leaves the kill to the runtime, `10 s poll` reads no memory between
two cycles. earlyoom has no notion of a cgroup: it runs in the PID namespace of the hog's container with a /proc/meminfo that
shows the node's cgroup, renewed every 2 ms, so that it sees what evictd sees and can kill nothing else. Needs root, cgroup v1
and the demo's containerd. EVICTD_BENCH_RUNS, EVICTD_BENCH_RATES (MiB/s) and EVICTD_BENCH_MODES change the size; the peers get a
fifth of the trials.
"""

import json
import os
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.harness import Result, summarize
from bench.lines import Lines, pressure_ends, started
from bench.report import loads, write_section
from bench.suite_reaction import Fields, daemon, find_earlyoom, first_process, is_running
from evictd_testnode.binaries import default_cache, find_binaries
from evictd_testnode.cgroups import group, pids_of
from evictd_testnode.node import DisposableNode, NodeRecipe
from evictd_testnode.pods import IGNORE_TERM, ContainerRecipe, PodRecipe, RunningPod
from evictd_testnode.tool import wait_for

RUNS = int(os.environ.get("EVICTD_BENCH_RUNS", "20"))
RATES = tuple(int(each) for each in os.environ.get("EVICTD_BENCH_RATES", "50 200 500").split())
NODE = 1 << 30
THRESHOLD = 100 << 20
INNOCENTS = 10
FILL_SECONDS = 2
"""How long the filling goes on before the crossing; what it has to start from is taken at once."""
PEER_SHARE = 5
KNOWN = Path("build/oom_rows.json")
"""The rows of earlier runs, which stay in the table until a run replaces them."""
EARLYOOM = "earlyoom"
_NOTIFY: Fields = {"kernelMemcgNotification": True}
MODES: dict[str, tuple[Fields, Fields]] = {
    "standard": (_NOTIFY, {}),
    "standard, lead: Auto": (_NOTIFY, {"memory": {"watch": True, "lead": "Auto"}}),
    "kubelet": (_NOTIFY, {"decisionPolicy": "Kubelet"}),
    "10 s poll": ({}, {"memory": {"watch": False}}),
    EARLYOOM: ({}, {}),
}
SELECTED = [each.strip() for each in os.environ.get("EVICTD_BENCH_MODES", ";".join(MODES)).split(";")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One trial: milliseconds from the crossing to the death of the hog, and whether the OOM killer was faster."""

    milliseconds: float
    lost: bool
    rate: int
    """MiB per second before the crossing, which on a loaded machine is less than asked."""


def run() -> list[Result]:
    """Run all trials, and write the table of `docs/benchmarks.md`."""
    if os.geteuid() != 0 or not group("memory", "/").joinpath("cgroup.event_control").exists():
        print("oom: needs root and a memory controller of cgroup v1; left out")
        return []
    recipe = NodeRecipe(binaries=find_binaries(default_cache()), memory_bytes=NODE)
    results: list[Result] = []
    known: dict[str, str] = json.loads(KNOWN.read_text()) if KNOWN.exists() else {}
    for mode in SELECTED:
        for rate in RATES:
            count = RUNS if mode == "standard" else max(RUNS // PEER_SHARE, 1)
            print(f"oom/{mode}/{rate}: {count} trials ...", flush=True)
            with DisposableNode(recipe) as node:
                trials, innocents = _trials(node, rate, mode, count)
            result = summarize(f"oom/{mode}/{rate}MiBs", [trial.milliseconds for trial in trials])
            lost = sum(trial.lost for trial in trials)
            results.append(result)
            filled = median(trial.rate for trial in trials)
            row = (
                f"| {mode} | {rate} | {filled:.0f} | {lost} of {len(trials)} | {innocents} | {_to_death(result.median_ms)} "
                f"| {_to_death(result.max_ms)} |"
            )
            print(row, flush=True)
            known[f"{mode}, {rate} MiB/s"] = row
            KNOWN.parent.mkdir(exist_ok=True)
            KNOWN.write_text(json.dumps(known))
            ordered = {key: known[key] for m in MODES for r in (50, 200, 500) if (key := f"{m}, {r} MiB/s") in known}
            write_section("oom", _section(list(ordered.values())))
    return results


def _to_death(milliseconds: float) -> str:
    """Write the time from the crossing to the death; with a lead the hog may die before it crosses."""
    return f"{milliseconds:.0f}" if milliseconds else "before"


def _section(rows: list[str]) -> str:
    what = (
        f"node of {NODE >> 20} MiB (cgroup v1), `memory.available<{THRESHOLD >> 20}Mi`, containerd; hog and process 1 ignore "
        f"SIGTERM, {INNOCENTS} idle pods beside them"
    )
    lines = [
        "## Before the OOM killer",
        "",
        f"`make bench SUITE=oom`: {what}. {loads()}",
        "",
        "| Mode | MiB/s asked | filled | OOM kills | Innocent pods evicted | Crossing to death, ms | Longest |",
        "|---|---|---|---|---|---|---|",
        *rows,
    ]
    return "\n".join(lines)


def _trials(node: DisposableNode, rate: int, mode: str, count: int) -> tuple[list[Trial], int]:
    """Run the trials of one mode and rate; gives also the number of innocent pods that are gone."""
    innocents = [node.run_pod(PodRecipe(name=f"innocent-{number}")) for number in range(INNOCENTS)]
    kubelet, evictd = MODES[mode]
    fields = {"memory": {"watch": True}, **evictd}
    evicting = nullcontext() if mode == EARLYOOM else daemon(node, kubelet, fields, threshold=THRESHOLD)
    trials = []
    with evicting:
        for number in range(count):
            pod = node.run_pod(PodRecipe(name=f"hog-{number}", containers=(ContainerRecipe(script=IGNORE_TERM),)))
            with _earlyoom(node, pod) if mode == EARLYOOM else nullcontext():
                # With a lead what is taken at once would be acted on.
                trials.append(_trial(node, pod, rate, at_once="lead" not in mode))
            if mode != EARLYOOM:  # without a decision of evictd's there is nothing to wait for
                log = node.folder / "evictd.log"
                wait_for(lambda: pressure_ends(log) > number, seconds=15, step_seconds=0.1)  # noqa: B023
                wait_for(lambda: not is_running(node, pod), seconds=60)  # noqa: B023
            node.remove_pod(pod)
    return trials, sum(not pids_of(f"{pod.cgroup_parent}/{pod.container_id}") for pod in innocents)


def _trial(node: DisposableNode, pod: RunningPod, rate: int, *, at_once: bool) -> Trial:
    limit = group("memory", node.cgroup)
    (limit / "memory.failcnt").write_text("0")
    before = _oom_kills()
    with _filler(node, pod, rate, at_once=at_once) as (process, lines):
        process.wait(120)
        died = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        try:
            crossed, filled = map(int, lines.next("crossed", 1)[1].split()[1:])
        except AssertionError:  # it was killed before it could say so
            crossed, filled = died, rate
    lost = _oom_kills() > before and int((limit / "memory.failcnt").read_text()) > 0
    return Trial(milliseconds=(died - crossed) / 1e6, lost=lost, rate=filled)


def _oom_kills() -> int:
    text = Path("/proc/vmstat").read_text()
    return int(next(line.split()[1] for line in text.splitlines() if line.startswith("oom_kill ")))


@contextmanager
def _filler(
    node: DisposableNode, pod: RunningPod, rate: int, *, at_once: bool
) -> Iterator[tuple["subprocess.Popen[str]", Lines]]:
    """Fill memory in the pod's cgroup, in the PID namespace of its container: it dies with process 1."""
    left = NODE - int((group("memory", node.cgroup) / "memory.usage_in_bytes").read_text()) - THRESHOLD
    ballast = max((left >> 20) - FILL_SECONDS * rate, 1) if at_once else 1
    argv = [
        *(
            "nsenter",
            "-t",
            str(first_process(pod)),
            "-p",
            sys.executable,
            "-m",
            "bench.filler",
            str(rate),
            str(NODE >> 19),
        ),
        *("cgroup", str(group("memory", f"{pod.cgroup_parent}/{pod.container_id}")), str(group("memory", node.cgroup))),
        *(str(NODE), str(THRESHOLD), str(ballast)),
    ]
    with started(argv) as filling:
        yield filling


@contextmanager
def _earlyoom(node: DisposableNode, pod: RunningPod) -> Iterator[None]:
    """Run earlyoom in the PID namespace of a pod, on the node's memory; it sends SIGTERM first, SIGKILL below half of that."""
    program = find_earlyoom(Path("build/earlyoom"))
    meminfo, ended = node.folder / "meminfo", threading.Event()
    _write_meminfo(node, meminfo)
    paths = shlex.quote(str(meminfo)), shlex.quote(str(program))
    script = f"mount -t proc proc /proc && mount --bind {paths[0]} /proc/meminfo && exec {paths[1]} -r 0"
    script += f" -M {THRESHOLD >> 10},{THRESHOLD >> 11}"
    argv = ["nsenter", "-t", str(first_process(pod)), "-p", "unshare", "--mount", "sh", "-c", script]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    thread = threading.Thread(target=lambda: _renew(node, meminfo, ended))
    thread.start()
    try:
        Lines(process).next("mem total", 10)
        yield
    finally:
        ended.set()
        thread.join()
        process.kill()
        process.wait(60)


def _renew(node: DisposableNode, meminfo: Path, ended: threading.Event) -> None:
    while not ended.wait(0.002):
        _write_meminfo(node, meminfo)


def _write_meminfo(node: DisposableNode, meminfo: Path) -> None:
    """Show the node's cgroup as a machine's memory, in place: the file is a mount, and earlyoom holds it open."""
    left = NODE - int((group("memory", node.cgroup) / "memory.usage_in_bytes").read_text())
    rows = {
        "MemTotal": NODE,
        "MemFree": left,
        "MemAvailable": left,
        "Buffers": 0,
        "Cached": 0,
        "AnonPages": NODE - left,
    }
    rows |= {"SwapTotal": 0, "SwapFree": 0}
    text = "".join(f"{name + ':':<16}{value >> 10:>8} kB\n" for name, value in rows.items())
    descriptor = os.open(meminfo, os.O_WRONLY | os.O_CREAT)
    try:
        os.pwrite(descriptor, text.encode(), 0)
    finally:
        os.close(descriptor)
