"""Counts OOM kills in the virtual machine with cgroup v2 (1 GiB, emulated), beside evictd and beside earlyoom.

`tests/vm/guest/bench_oom.py` runs inside: anonymous memory, the same beside a pod that keeps the page cache busy, and a volume in
memory, behind a threshold that can fire. Takes some ten minutes on quiet processors, and root for building the machine once.
EVICTD_VM_TRIALS is the number of trials of each kind. systemd-oomd is not in the machine: Debian 12 has it for its own
systemd 252 only.
"""

import json
import os
from pathlib import Path
from statistics import median
from typing import Any

from bench.harness import Result, summarize
from bench.report import bars, loads, write_section
from bench.suite_reaction import find_earlyoom
from evictd.errors import EvictdError
from tests.vm.__main__ import RESULTS, main

LIMIT_SECONDS = 1800
MEMORY_MIB = 1024
"""Half of what the tests have: the hogs have to fill it page by page under emulation."""
ARGUMENTS = ["-o", "python_files=bench_oom.py"]


def run() -> list[Result]:
    """Boot the machine, run the trials, and write the table of `docs/benchmarks.md`."""
    if os.geteuid() != 0:
        print("oom_vm: needs root; left out")
        return []
    try:
        find_earlyoom(Path("build/earlyoom"))
    except EvictdError as error:
        print(f"oom_vm: without earlyoom: {error}")
    main(ARGUMENTS, limit_seconds=LIMIT_SECONDS, memory_mib=MEMORY_MIB)
    trials = [json.loads(line) for line in (RESULTS / "out/oom.jsonl").read_text().splitlines()]
    groups: dict[str, list[Any]] = {}
    for trial in trials:
        groups.setdefault(f"{trial['mode']}, {trial['kind']}", []).append(trial)
    rows = [
        f"| {name} | {sum(t['lost'] for t in each)} of {len(each)} | {median(t['seconds'] for t in each):.1f} s |"
        for name, each in groups.items()
    ]
    shares = {name: 100 * sum(t["lost"] for t in each) / len(each) for name, each in groups.items()}
    what = (
        f"virtual machine of {MEMORY_MIB} MiB (emulated, Linux 6.1, systemd driver), evictd as its service with "
        "`memory.available<300Mi` and `memory.formula: Lowest`; earlyoom with the same threshold. The hog fills 100 MiB/s at "
        "most and ignores SIGTERM."
    )
    lines = [
        "## Before the OOM killer, cgroup v2",
        "",
        f"`make bench SUITE=oom_vm`: {what} {loads()}",
        "",
        "| Mode | OOM kills | Life of the hog, median |",
        "|---|---|---|",
        *rows,
        "",
        "Trials that the OOM killer won:",
        "",
        *bars(shares, "%"),
    ]
    write_section("oom_vm", "\n".join(lines))
    return [summarize(f"oom_vm/{name}", [1000 * t["seconds"] for t in each]) for name, each in groups.items()]
