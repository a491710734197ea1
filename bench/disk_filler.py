"""Fills a directory at a steady rate, and prints when the filesystem's free bytes or inodes fell below a limit.

    python -m bench.disk_filler bytes DIRECTORY BYTES_PER_SECOND LIMIT [CGROUP_PROCS...]
    python -m bench.disk_filler inodes DIRECTORY INODES_PER_SECOND LIMIT [CGROUP_PROCS...]
    python -m bench.disk_filler flat-inodes ...    the same without subdirectories

It moves itself into the cgroups first, ignores SIGTERM, and goes on until it is killed; on a full filesystem it tries again. It
prints `crossed NANOSECONDS RATE` (boot clock, units per second from the start) once when less than LIMIT is left.
"""

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

CHUNK = 1 << 20
FILES = 200
"""Files created between two looks at the clock."""
PER_FOLDER = 20_000
MOST_BEHIND = 10**8
"""Nanoseconds that it makes up for at most."""


def bytes_written(folder: Path) -> Iterator[int]:
    """Allocate the blocks of one file; yields the bytes of each step, 0 where the filesystem is full.

    To write them takes the processor time of the machine, at 500 MiB/s half a core.
    """
    with (folder / "fill").open("wb") as file:
        size = 0
        while True:
            try:
                os.posix_fallocate(file.fileno(), size, CHUNK)
                size += CHUNK
                yield CHUNK
            except OSError:
                yield 0


def files_created(folder: Path, *, flat: bool) -> Iterator[int]:
    """Create empty files, in subdirectories unless `flat`; yields the number of each step, 0 where the filesystem is full."""
    for number in range(1 << 30):
        below = folder if flat else folder / f"fill-{number}"
        try:
            below.mkdir(exist_ok=flat)
        except OSError:
            yield 0
            continue
        for first in range(0, PER_FOLDER, FILES):
            made = 0
            try:
                for name in range(first, first + FILES):
                    os.mknod(f"{below}/{number}-{name}", 0o600)
                    made += 1
            except OSError:
                pass
            yield made


def fill(kind: str, folder: Path, rate: int, limit: int) -> None:
    """Fill for ever, no faster than `rate` in units per second; a pause is not made up for, as no disk takes more after one."""
    done, begun, crossed, paused = 0, time.monotonic_ns(), False, 0
    steps = bytes_written(folder) if kind == "bytes" else files_created(folder, flat=kind == "flat-inodes")
    for step in steps:
        done += step
        if not crossed and left(kind, folder) < limit:
            crossed = True
            print(f"crossed {time.clock_gettime_ns(time.CLOCK_BOOTTIME)} {_rate(done, begun)}", flush=True)
        ahead = done * 10**9 // rate - (time.monotonic_ns() - begun - paused)
        paused += max(-ahead - MOST_BEHIND, 0)
        if ahead > 0 or not step:
            time.sleep(max(ahead / 1e9, 0 if step else 0.01))


def left(kind: str, folder: Path) -> int:
    """Return the bytes or inodes that the filesystem has left for ordinary users."""
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize if kind == "bytes" else found.f_favail


def _rate(done: int, begun: int) -> int:
    return done * 10**9 // max(time.monotonic_ns() - begun, 1)


def main(arguments: list[str]) -> None:
    """Read the arguments and fill."""
    kind, folder, rate, limit, *cgroups = arguments
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for procs in cgroups:
        Path(procs).write_text("0")
    fill(kind, Path(folder), int(rate), int(limit))


if __name__ == "__main__":
    main(sys.argv[1:])
