"""Measures in the virtual machine with cgroup v2 (1 GiB, emulated) the time from memory crossing a threshold to the stop call.

`tests/vm/guest/bench_reaction.py` runs inside and says what each mode is. Takes some six minutes on quiet processors
(`bench.machine`). Emulated, everything takes five to ten times as long, so the times compare modes; they are not those of a node.
"""

from bench.harness import Result, summarize
from bench.machine import MEMORY_MIB, trials
from bench.report import loads, write_section
from bench.suite_reaction import reaction_table

LIMIT_SECONDS = 2400
"""For a busy host."""


def run() -> list[Result]:
    """Boot the machine, run the trials, and write the table of `docs/benchmarks.md`."""
    groups = trials("reaction_vm", "reaction", limit_seconds=LIMIT_SECONDS)
    if not groups:
        return []
    samples = {
        f"{mode}: {event}": [(trial[event] - trial["crossed"]) / 1e6 for trial in each]
        for mode, each in groups.items()
        for event in ("decision", "stop")
        if event in each[0]
    }
    write_section("reaction_vm", _section(samples))
    return [summarize(f"reaction_vm/{name}", each) for name, each in samples.items()]


def _section(samples: dict[str, list[float]]) -> str:
    what = (
        f"virtual machine of {MEMORY_MIB} MiB (emulated, Linux 6.1, systemd driver), 100 MiB/s at most past 300Mi of "
        "MemAvailable; from the crossing to the begin of the cycle that decides, and to the stop call, or to earlyoom's line "
        "(dry run). "
        "`PSI trigger` and `memory.events`: woken by nothing else, and from the crossing on the pod is beyond its `memory.high`; "
        "`as shipped`: all of evictd, the same pod; `cheap readings`: neither notification, and no `memory.high`; "
        "`10 s poll`: `memory.watch: false`."
    )
    lines = [
        "## Reaction, cgroup v2",
        "",
        f"`make bench SUITE=reaction_vm`: {what} {loads()}",
        "",
        *reaction_table(samples),
    ]
    return "\n".join(lines)
