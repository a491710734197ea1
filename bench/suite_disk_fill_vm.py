"""Measures in the virtual machine with cgroup v2 (emulated) how full a disk runs before the pod that fills it is stopped.

`tests/vm/guest/bench_disk.py` runs inside and says what each row is. Takes a quarter of an hour for five trials of each
(`bench.machine`).
"""

from statistics import median

from bench.harness import Result, summarize
from bench.machine import Trials, trials
from bench.report import loads, write_section

LIMIT_SECONDS = 5400
"""For a busy host."""
MEMORY_MIB = 2048
MIB = 1 << 20


def run() -> list[Result]:
    """Boot the machine, run the trials, and write the table of `docs/benchmarks.md`."""
    groups = trials("disk_fill_vm", "disk", limit_seconds=LIMIT_SECONDS, kinds=("mode", "kind"), memory_mib=MEMORY_MIB)
    if groups:
        write_section("disk_fill_vm", _section(groups))
    return [summarize(f"disk_fill_vm/{name}", [1000 * t["seconds"] for t in each]) for name, each in groups.items()]


def _section(groups: Trials) -> str:
    what = (
        f"virtual machine of {MEMORY_MIB} MiB (emulated, Linux 6.1, systemd driver), evictd as its service with the kubelet's "
        "default thresholds, of which `imagefs.available<15%` is met first. The filler ignores SIGTERM; 4 idle pods with 20 MiB "
        "each beside it."
    )
    lines = [
        "## Before the disk is full, cgroup v2",
        "",
        f"`make bench SUITE=disk_fill_vm`: {what} {loads()}",
        "",
        "| Policy, rate and place | Trials | MiB/s | To the end, s | Longest | Left, MiB | Least | Full | Innocent |",
        "|---|---|---|---|---|---|---|---|---|",
        *(_row(name, each) for name, each in groups.items()),
        "",
        "MiB/s: reached. To the end: from the crossing to the end of the filler. Left: least of a trial, median and minimum.",
        "Full: trials in which less than 1 MiB was left. Innocent: idle pods gone.",
    ]
    return "\n".join(lines)


def _row(name: str, each: list[dict[str, float]]) -> str:
    seconds, least = [t["seconds"] for t in each], [t["least"] / MIB for t in each]
    cells = (
        *(
            name,
            len(each),
            f"{median(t['rate'] for t in each) / MIB:.0f}",
            f"{median(seconds):.1f}",
            f"{max(seconds):.1f}",
        ),
        *(f"{median(least):.0f}", f"{min(least):.0f}", sum(left < 1 for left in least), int(each[-1]["innocents"])),
    )
    return f"| {' | '.join(map(str, cells))} |"
