"""Measures what stalls (PSI) and refaults say of a thrashing node on several kernels, in virtual machines with cgroup v2.

`tests/vm/guest/bench_psi.py` runs inside and says what each kind is; EVICTD_VM_DISTS names the releases of Debian, each with its
kernel. A machine takes a quarter of an hour under emulation.
"""

import os
from typing import Any

from bench.harness import Result, summarize
from bench.machine import MEMORY_MIB, trials
from bench.report import loads, write_section
from tests.vm.build import DISTRIBUTION

DISTS = "EVICTD_VM_DISTS"


def run() -> list[Result]:
    """Boot the machine of each release, run the trials, and write the table of `bench/figures.md`."""
    rows, results = [], []
    for release in os.environ.get(DISTS, "bookworm,forky").split(","):
        os.environ[DISTRIBUTION] = release
        groups = trials("psi_vm", "psi", limit_seconds=3000, kinds=("kernel", "kind", "mglru"))
        for each in groups.values():
            rows += [_row(one) for one in each]
            one = each[0]
            name = f"psi_vm/{one['kernel']} {one['kind']}, MGLRU {one['mglru']}"
            results.append(summarize(f"{name}: highest full avg10", [one["full_avg10"]["pods"] for one in each]))
    what = (
        f"virtual machines of {MEMORY_MIB} MiB (emulated, no swap), 20 s of one pod; shares of the time that tasks of all pods "
        "stalled, in percent, and pages per second of their `memory.stat`."
    )
    lines = [
        "## Stalls and refaults by kernel",
        "",
        f"`make bench SUITE=psi_vm`: {what} {loads()}",
        "",
        "| Kernel | Pod | MGLRU | memory some | memory full | highest `full avg10` | io full | refaults | scanned | stolen |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *rows,
    ]
    if rows:
        write_section("psi_vm", "\n".join(lines))
    return results


def _row(one: dict[str, Any]) -> str:
    """Write one trial as a line of the table."""
    stalls, pages = one["pods"], one["pages"]
    cells = (
        *(one["kernel"].partition("+")[0], one["kind"], one["mglru"]),
        *(f"{stalls[name]:.1f}" for name in ("memory_some", "memory_full")),
        f"{one['full_avg10']['pods']:.1f}",
        f"{stalls['io_full']:.1f}",
        *(f"{pages[name]:.0f}" for name in ("workingset_refault_file", "pgscan", "pgsteal")),
    )
    return f"| {' | '.join(cells)} |"
