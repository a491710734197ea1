"""Fills memory at a steady rate, and prints when the available memory fell below a threshold.

    python -m bench.filler RATE_MIB STOP_MIB cgroup DIRECTORY NODE LIMIT THRESHOLD [BALLAST_MIB]    of a memory cgroup v1
    python -m bench.filler RATE_MIB STOP_MIB machine THRESHOLD                    below THRESHOLD bytes of MemAvailable
    python -m bench.filler RATE_MIB STOP_MIB pod THRESHOLD CONTAINER [POD]        the same, from a pod's cgroups (v2)

With POD it also sets that cgroup's `memory.high`, at the crossing, to what is used: beyond that it is throttled.

It moves itself into the cgroup first and takes the ballast at once. It prints `crossed NANOSECONDS MIB_PER_SECOND` (boot clock)
once when less than THRESHOLD bytes are left of LIMIT in the cgroup NODE, and holds its memory until its standard input is closed.
With a ballast it waits a second after it, and ignores SIGTERM.
"""

import mmap
import signal
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

STEP = 1 << 20


def left_in_cgroup(directory: Path, limit: int) -> Callable[[], int]:
    """Read the cgroup's available memory as the daemon does: limit minus usage, without inactive page cache (v1)."""
    usage, stat = ((directory / name).open("rb", buffering=0) for name in ("memory.usage_in_bytes", "memory.stat"))

    def read() -> int:
        for file in (usage, stat):
            file.seek(0)
        used = int(usage.read(64))
        inactive = next(line for line in stat.read(8192).splitlines() if line.startswith(b"total_inactive_file "))
        return limit - max(used - int(inactive.split()[1]), 0)

    return read


def left_on_machine() -> int:
    """Read MemAvailable."""
    with Path("/proc/meminfo").open("rb", buffering=0) as file:
        return next(int(line.split()[1]) << 10 for line in file.read(512).splitlines() if line.startswith(b"MemAvail"))


def taken(mib: int) -> list[mmap.mmap]:
    """Take memory, every page of it at once."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
    return [mmap.mmap(-1, STEP, flags=flags) for _ in range(mib)]


def set_high(cgroups: Iterable[str]) -> None:
    """Set `memory.high` to what is used, so that every page more is beyond it (cgroup v2)."""
    for cgroup in map(Path, cgroups):
        (cgroup / "memory.high").write_text((cgroup / "memory.current").read_text())


def fill(
    rate_mib: int,
    stop_mib: int,
    left: Callable[[], int],
    threshold: int,
    *,
    at_crossing: Callable[[], object] = lambda: None,
) -> None:
    """Fill until `stop_mib` beyond the crossing, so that a slow reaction does not end in an OOM kill."""
    held: list[mmap.mmap] = []
    crossed_at, begun = 0, time.monotonic_ns()
    while not crossed_at or len(held) - crossed_at < stop_mib:
        held += taken(1)
        if not crossed_at and left() < threshold:
            crossed_at = len(held)
            rate = crossed_at * 10**9 // (time.monotonic_ns() - begun)
            print(f"crossed {time.clock_gettime_ns(time.CLOCK_BOOTTIME)} {rate}", flush=True)
            at_crossing()
        ahead = len(held) * 10**9 // rate_mib - (time.monotonic_ns() - begun)
        if ahead > 0:
            time.sleep(ahead / 1e9)
    sys.stdin.read()


def main(arguments: list[str]) -> None:
    """Read the arguments and fill."""
    rate, stop, where, *rest = arguments
    if where == "machine":
        Path("/proc/self/oom_score_adj").write_text("1000")
        fill(int(rate), int(stop), left_on_machine, int(rest[0]))
        return
    if where == "pod":
        threshold, container, *pod = rest
        Path(container, "cgroup.procs").write_text("0")
        Path("/proc/self/oom_score_adj").write_text("1000")  # as the other processes of the container have it
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        fill(int(rate), int(stop), left_on_machine, int(threshold), at_crossing=partial(set_high, pod))
        return
    directory = Path(rest[0])
    (directory / "cgroup.procs").write_text("0")
    ballast = taken(int(rest[4])) if rest[4:] else []
    if ballast:
        Path("/proc/self/oom_score_adj").write_text("1000")  # as the other processes of the container have it
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(1)
    fill(int(rate), int(stop), left_in_cgroup(Path(rest[1]), int(rest[2])), int(rest[3]))


if __name__ == "__main__":
    main(sys.argv[1:])
