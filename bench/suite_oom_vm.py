"""Counts OOM kills in the virtual machine with cgroup v2 (1 GiB, emulated), beside evictd, earlyoom and systemd-oomd.

`tests/vm/guest/bench_oom.py` runs inside: anonymous memory, the same beside a pod that keeps the page cache busy, and a volume in
memory, behind a threshold that can fire; and the kubelet's default threshold with evictd's defaults, at several rates, without
swap, and with a swap file or zram. Each part boots a machine; EVICTD_VM_PARTS names some of them. A part takes some forty
minutes on quiet processors (`bench.machine`).
"""

import os
from statistics import median

from bench.harness import Result, summarize
from bench.machine import MEMORY_MIB, Trials, trials
from bench.report import loads, write_section

LIMIT_SECONDS = 3600
"""For a busy host."""
_MACHINE = f"virtual machine of {MEMORY_MIB} MiB (emulated, Linux 6.1, systemd driver), evictd as its service"
_THRESHOLD = (
    f"{_MACHINE} with `memory.available<300Mi` and `memory.formula: Lowest`; earlyoom with the same threshold; systemd-oomd with "
    "`ManagedOOMMemoryPressureLimit=5%` on the pods' slice for 1 s, no swap. The hog fills 100 MiB/s at most and ignores SIGTERM."
)
_DEFAULT = (
    f"{_MACHINE} with the kubelet's default, `memory.available<100Mi`, and its own defaults; earlyoom with the same threshold. "
    "A process outside the pods leaves 400 MiB; the hog "
    "fills at the rate and ignores SIGTERM."
)
PARTS = {
    "threshold": (
        "oom_vm",
        "test_trials",
        "Before the OOM killer, cgroup v2",
        _THRESHOLD,
    ),
    "default": ("oom_vm_default", "test_default and unswapped", "The kubelet's default threshold, cgroup v2", _DEFAULT),
    "swap": (
        "oom_vm_swap",
        "test_default and (swapfile or zram) and not WorkingSet",
        "The same with swap",
        f"{_DEFAULT} A swap file of 512 MiB, or as much zram, of which earlyoom also wants 10 % to be free; half is random.",
    ),
}
"""By name: section, pytest's expression, title, and what is measured."""


def run() -> list[Result]:
    """Boot a machine for each part, run the trials, and write the tables of `docs/benchmarks.md`."""
    results = []
    for part in os.environ.get("EVICTD_VM_PARTS", " ".join(PARTS)).split():
        section, select, title, what = PARTS[part]
        groups = trials("oom_vm", "oom", limit_seconds=LIMIT_SECONDS, kinds=("mode", "kind"), select=select)
        if groups:
            write_section(section, _section(groups, title, f"`make bench SUITE=oom_vm`: {what} {loads()}"))
        results += [
            summarize(f"{section}/{name}", [1000 * t["seconds"] for t in each]) for name, each in groups.items()
        ]
    return results


def _section(groups: Trials, title: str, what: str) -> str:
    rows = [
        f"| {name} | {sum(t['lost'] for t in each)} of {len(each)} | {sum(not t['ended'] for t in each)} | "
        f"{median(t['seconds'] for t in each):.1f} |"
        for name, each in groups.items()
    ]
    lines = [
        f"## {title}",
        "",
        what,
        "",
        "| Mode | OOM kills | Not ended in 150 s | Life of the hog, s |",
        "|---|---|---|---|",
        *rows,
    ]
    return "\n".join(lines)
