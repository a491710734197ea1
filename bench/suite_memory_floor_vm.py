"""Measures what `memory.available` still says when the OOM killer strikes, in virtual machines of several sizes with cgroup v2.

`tests/vm/guest/bench_memory_floor.py` runs inside. EVICTD_VM_SIZES names the sizes in MiB; a machine of 4 GiB takes a
quarter of an hour to fill under emulation.
"""

import os

from bench.harness import Result, summarize
from bench.machine import trials
from bench.report import loads, write_section

SIZES = "EVICTD_VM_SIZES"
_MIB = 1 << 20


def run() -> list[Result]:
    """Boot a machine of each size, run the trials, and write the table of `docs/benchmarks.md`."""
    rows, results = [], []
    for size in map(int, os.environ.get(SIZES, "1024,2048").split(",")):
        groups = trials("memory_floor_vm", "memory_floor", limit_seconds=1800, kinds=("kind",), memory_mib=size)
        for kind, each in groups.items():
            lowest = [one["lowest"] / _MIB for one in each]
            above = [(one["lowest"] - one["unallocatable"]) / _MIB for one in each]
            kernels = [one["mem_available"] / _MIB for one in each]
            rows.append(f"| {size}, {kind} | {len(each)} | {_range(lowest)} | {_range(above)} | {_range(kernels)} |")
            results.append(summarize(f"memory_floor_vm/{size} {kind}", lowest))
    what = (
        "virtual machines (emulated, Linux 6.1, no swap), anonymous memory at 20 MiB/s; the last reading before the OOM killer "
        "struck. `slab`: beside 30,000 sockets and 200,000 unused directory entries."
    )
    lines = [
        "## Available memory when the OOM killer acts, cgroup v2",
        "",
        f"`make bench SUITE=memory_floor_vm`: {what} {loads()}",
        "",
        "| Machine, MiB | Trials | `memory.available` at the kill, MiB | Above what is computed | `MemAvailable` |",
        "|---|---|---|---|---|",
        *rows,
    ]
    if rows:
        write_section("memory_floor_vm", "\n".join(lines))
    return results


def _range(mib: list[float]) -> str:
    """Write the least and the greatest, once where they are the same."""
    least, greatest = f"{min(mib):.0f}", f"{max(mib):.0f}"
    return least if least == greatest else f"{least} to {greatest}"
