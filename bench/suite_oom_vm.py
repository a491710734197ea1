"""Counts OOM kills in the virtual machine with cgroup v2 (1 GiB, emulated), beside evictd, earlyoom and systemd-oomd.

`tests/vm/guest/bench_oom.py` runs inside: anonymous memory, the same beside a pod that keeps the page cache busy, and a volume in
memory, behind a threshold that can fire; and the kubelet's default threshold with evictd's defaults, at several rates. Takes some
forty minutes on quiet processors (`bench.machine`).
"""

from statistics import median

from bench.harness import Result, summarize
from bench.machine import MEMORY_MIB, trials
from bench.report import bars, loads, write_section

LIMIT_SECONDS = 3600
"""For a busy host."""


def run() -> list[Result]:
    """Boot the machine, run the trials, and write the table of `docs/benchmarks.md`."""
    groups = trials("oom_vm", "oom", limit_seconds=LIMIT_SECONDS, kinds=("mode", "kind"))
    if not groups:
        return []
    rows = [
        f"| {name} | {sum(t['lost'] for t in each)} of {len(each)} | {sum(not t['ended'] for t in each)} | "
        f"{median(t['seconds'] for t in each):.1f} s |"
        for name, each in groups.items()
    ]
    shares = {name: 100 * sum(t["lost"] for t in each) / len(each) for name, each in groups.items()}
    what = (
        f"virtual machine of {MEMORY_MIB} MiB (emulated, Linux 6.1, systemd driver), evictd as its service with "
        "`memory.available<300Mi` and `memory.formula: Lowest`, or with the kubelet's default of 100Mi where the row says so; "
        "earlyoom with the same threshold; systemd-oomd with "
        "`ManagedOOMMemoryPressureLimit=5%` on the pods' slice for 1 s, no swap. The hog fills 100 MiB/s at "
        "most and ignores SIGTERM."
    )
    lines = [
        "## Before the OOM killer, cgroup v2",
        "",
        f"`make bench SUITE=oom_vm`: {what} {loads()}",
        "",
        "| Mode | OOM kills | Not ended in 150 s | Life of the hog, median |",
        "|---|---|---|---|",
        *rows,
        "",
        "Trials that the OOM killer won:",
        "",
        *bars(shares, "%"),
    ]
    write_section("oom_vm", "\n".join(lines))
    return [summarize(f"oom_vm/{name}", [1000 * t["seconds"] for t in each]) for name, each in groups.items()]
