"""Measures how a fork bomb in one pod ends: time from the crossing to the last fork and to its last process, and PIDs left.

The node's limit is the `pids.max` of all pods' cgroup, 3000 here, as the kubelet sets it with a reservation of PIDs, never the
machine's own; the threshold is `pid.available<1000`. Each trial starts a pod that forks as fast as a shell can, in a process
tree that grows by itself, beside an idle pod. The number of tasks is read every millisecond. Needs root, cgroup v1 and the
demo's containerd. EVICTD_BENCH_RUNS changes the number of trials.
"""

import os
import time
from pathlib import Path

from bench.harness import Result, summarize
from bench.lines import pressure_ends
from bench.report import loads, write_section
from bench.suite_reaction import Fields, daemon, is_running
from evictd_testnode.binaries import default_cache, find_binaries
from evictd_testnode.cgroups import group, pids_of
from evictd_testnode.node import DisposableNode, NodeRecipe
from evictd_testnode.pods import ContainerRecipe, PodRecipe, VolumeRecipe
from evictd_testnode.tool import wait_for

RUNS = int(os.environ.get("EVICTD_BENCH_RUNS", "50"))
PEER_SHARE = 10
LIMIT, THRESHOLD = 3000, 1000
BOMB = "trap '' TERM; f() { sleep 1000 & f & f & wait; }; while [ ! -e /data/go ]; do sleep 0.1; done; f"
SECONDS = 30
MODES: dict[str, Fields] = {
    "standard": {},
    "10 s poll": {"memory": {"watch": False}},
}


def run() -> list[Result]:
    """Run all trials, and write the table of `docs/benchmarks.md`."""
    if os.geteuid() != 0 or not group("pids", "/").joinpath("cgroup.procs").exists():
        print("pids: needs root and the pids controller of cgroup v1; left out")
        return []
    results, rows = [], []
    for mode, fields in MODES.items():
        count = RUNS if not fields else max(RUNS // PEER_SHARE, 1)
        print(f"pids/{mode}: {count} trials ...", flush=True)
        with DisposableNode(NodeRecipe(binaries=find_binaries(default_cache()))) as node:
            peaks, stops, ends, innocent = _trials(node, fields, count)
        result = [summarize(f"pids/{mode}/{name}", each) for name, each in (("stop", stops), ("end", ends))]
        results += result
        worst = LIMIT - max(peaks)
        used_up = sum(peak >= LIMIT for peak in peaks)
        rows.append(
            f"| {mode} | {count} | {used_up} | {worst} | {LIMIT - sorted(peaks)[count // 2]} | {result[0].median_ms:.0f} "
            f"| {result[0].max_ms:.0f} | {result[1].median_ms:.0f} | {innocent} |"
        )
        print(rows[-1], flush=True)
    write_section("pids", _section(rows))
    return results


def _section(rows: list[str]) -> str:
    lines = [
        "## A fork bomb",
        "",
        f"`make bench SUITE=pids`: {LIMIT} PIDs for all pods (`pids.max`), `pid.available<{THRESHOLD}`, containerd. {loads()}",
        "",
        "| Mode | Trials | PIDs used up | PIDs left, least | Median | Last fork, ms | Longest | Gone, ms | Innocent gone |",
        "|---|---|---|---|---|---|---|---|---|",
        *rows,
        "",
        "Times are from the crossing to the last fork and to the last process's end.",
    ]
    return "\n".join(lines)


def _trials(node: DisposableNode, fields: Fields, count: int) -> tuple[list[int], list[float], list[float], int]:
    innocent = node.run_pod(PodRecipe(name="innocent"))
    pods = group("pids", f"{node.cgroup}/kubepods")
    (pods / "pids.max").write_text(str(LIMIT))
    peaks, stops, ends = [], [], []
    kubelet = {"evictionHard": {"pid.available": str(THRESHOLD)}}
    with daemon(node, kubelet, {"memory": {"watch": True}, **fields}):
        for number in range(count):
            bomb = ContainerRecipe(script=BOMB, limits={"cpu": "1"})  # the machine is not its own
            recipe = PodRecipe(name=f"bomb-{number}", containers=(bomb,), volumes=(VolumeRecipe(name="data"),))
            pod = node.run_pod(recipe)
            time.sleep(1)  # a reading of the calm node
            (pod.volumes["data"] / "go").touch()
            peak, stop, end = _explode(pods / "pids.current", group("pids", pod.cgroup_parent))
            peaks.append(peak)
            stops.append(stop)
            ends.append(end)
            wait_for(lambda: not is_running(node, pod), seconds=90)  # noqa: B023
            log = node.folder / "evictd.log"
            wait_for(lambda: pressure_ends(log) > number, seconds=15)  # noqa: B023
            node.remove_pod(pod)
    return peaks, stops, ends, int(not pids_of(f"{innocent.cgroup_parent}/{innocent.container_id}"))


def _explode(count: Path, pod: Path) -> tuple[int, float, float]:
    """Watch a bomb; gives the most tasks of all pods, and milliseconds from the crossing to that, and to the pod's end."""
    peak, crossed, stopped = 0, 0, 0
    bound = time.monotonic_ns() + SECONDS * 10**9
    with count.open("rb", buffering=0) as file:
        while (now := time.monotonic_ns()) < bound:
            file.seek(0)
            tasks = int(file.read(32))
            if not crossed and tasks > LIMIT - THRESHOLD:
                crossed = now
            if tasks > peak:
                peak, stopped = tasks, now
            if crossed and tasks <= LIMIT - THRESHOLD and not _tasks(pod):
                break
            time.sleep(0.001)
    return peak, (stopped - crossed) / 1e6, (now - crossed) / 1e6


def _tasks(pod: Path) -> int:
    """Return the number of a pod's tasks, its sandbox's left out; none once the runtime has removed its cgroup."""
    try:
        return max(int((pod / "pids.current").read_text()) - 1, 0)
    except OSError:
        return 0
