"""Measures in the virtual machine with cgroup v2 (1 GiB, emulated) the time from memory crossing a threshold to the stop call.

`tests/vm/guest/bench_reaction.py` runs inside and says what each mode is. Takes some six minutes on quiet processors
(`bench.machine`). Emulated, everything takes five to ten times as long, so the times compare modes; they are not those of a node.
"""

from statistics import median

from bench.harness import Result, summarize
from bench.machine import MEMORY_MIB, trials
from bench.report import loads, write_section

EVENTS: tuple[str, ...] = ("decision", "stop")
LIMIT_SECONDS = 2400
"""For a busy host."""


def run() -> list[Result]:
    """Boot the machine, run the trials, and write the table of `bench/figures.md`."""
    groups = trials("reaction_vm", "reaction", limit_seconds=LIMIT_SECONDS)
    if not groups:
        return []
    samples = {
        mode: {e: [(t[e] - t["crossed"]) / 1e6 for t in each] for e in EVENTS if e in each[0]}
        for mode, each in groups.items()
    }
    write_section("reaction_vm", _section(samples))
    return [
        summarize(f"reaction_vm/{mode}: {event}", each)
        for mode, events in samples.items()
        for event, each in events.items()
    ]


def _section(samples: dict[str, dict[str, list[float]]]) -> str:
    what = (
        f"virtual machine of {MEMORY_MIB} MiB (emulated, Linux 6.1), 100 MiB/s past 300Mi of MemAvailable; ms from the "
        "crossing to the cycle that decides and to the stop call. `PSI trigger`, `memory.events`, `cheap readings`: woken by "
        "nothing else; `as shipped`: by all; `10 s poll`: `memory.watch: false`."
    )
    lines = [
        "## Reaction, cgroup v2",
        "",
        f"`make bench SUITE=reaction_vm`: {what} {loads()}",
        "",
        "| Mode | Runs | Decision, median | Longest | Stop, median | Longest |",
        "|---|---|---|---|---|---|",
        *(
            f"| {mode} | {len(events['stop'])} | {_times(events.get('decision'))} | {_times(events['stop'])} |"
            for mode, events in samples.items()
        ),
    ]
    return "\n".join(lines)


def _times(samples: list[float] | None) -> str:
    return f"{median(samples):.0f} | {max(samples):.0f}" if samples else " | "
