"""A process that fills memory at a steady rate, and says when what is left fell below a threshold.

    python -m bench.filler RATE_MIB STOP_MIB cgroup DIRECTORY LIMIT THRESHOLD     below THRESHOLD bytes of a memory cgroup v1
    python -m bench.filler RATE_MIB STOP_MIB machine THRESHOLD                    below THRESHOLD bytes of MemAvailable

It moves itself into the cgroup first, prints `crossed NANOSECONDS` (boot clock) once, and holds what it has until its standard
input is closed.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

STEP = 1 << 20
PAGE = 4096


def left_in_cgroup(directory: Path, limit: int) -> Callable[[], int]:
    """Read what the cgroup has left: limit minus usage, all of it anonymous memory here."""
    file = (directory / "memory.usage_in_bytes").open("rb", buffering=0)

    def read() -> int:
        file.seek(0)
        return limit - int(file.read(64))

    return read


def left_on_machine() -> int:
    """Read MemAvailable."""
    with Path("/proc/meminfo").open("rb", buffering=0) as file:
        return next(int(line.split()[1]) << 10 for line in file.read(512).splitlines() if line.startswith(b"MemAvail"))


def fill(rate_mib: int, stop_mib: int, left: Callable[[], int], threshold: int) -> None:
    """Fill until `stop_mib` beyond the crossing, so that a slow reaction does not end in an OOM kill."""
    held: list[bytearray] = []
    crossed_at, begun = 0, time.monotonic_ns()
    while not crossed_at or len(held) - crossed_at < stop_mib:
        chunk = bytearray(STEP)
        chunk[::PAGE] = b"x" * (STEP // PAGE)
        held.append(chunk)
        if not crossed_at and left() < threshold:
            print(f"crossed {time.clock_gettime_ns(time.CLOCK_BOOTTIME)}", flush=True)
            crossed_at = len(held)
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
    directory = Path(rest[0])
    (directory / "cgroup.procs").write_text("0")
    fill(int(rate), int(stop), left_in_cgroup(Path(rest[1]), int(rest[2])), int(rest[3]))


if __name__ == "__main__":
    main(sys.argv[1:])
