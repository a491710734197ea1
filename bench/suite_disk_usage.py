"""Measures the walk over a million files: time beside `du`, added memory, and observations taken during a walk.

Targets: at most 1.5 times `du`'s time, at most 16 MiB more memory, and the 99th percentile of an observation of 110 pods while
a walk runs at most 30 ms.
"""

import os
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from bench.harness import Result, summarize
from bench.suite_observe import Node, clock, node, nothing
from evictd.daemon.run import freeze_gc
from evictd.observe.disk_usage.cache import DiskUsageCache
from evictd.observe.disk_usage.rate_limiter import RateLimiter
from evictd.observe.disk_usage.tree_walk import OPEN_DIRECTORY
from evictd.observe.disk_usage.walk import measure
from tests.measured import at_once

FILES = 1_000_000
RUNS = 5
OBSERVATIONS = 400
INTERVAL_SECONDS = 0.02


def run() -> list[Result]:
    """Time one directory of a million files, and a million files in a thousand directories."""
    results = []
    for name, width in (("one folder", FILES), ("1,000 folders", FILES // 1000)):
        with tempfile.TemporaryDirectory(prefix="evictd-bench-") as folder:
            make(Path(folder), width)
            results += compare(name, Path(folder))
            if width == FILES:
                results += [memory(Path(folder)), *meanwhile(Path(folder))]
    return results


def make(top: Path, width: int) -> None:
    """Create empty files, which use no blocks, a number per directory."""
    for first in range(0, FILES, width):
        folder = top / f"{first:07d}"
        folder.mkdir()
        fd = os.open(folder, OPEN_DIRECTORY)
        for number in range(first, first + width):
            os.close(os.open(f"file-{number:07d}", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
        os.close(fd)


def walk(top: Path, limiter: RateLimiter | None = None) -> None:
    fd = os.open(top, OPEN_DIRECTORY)
    try:
        found = measure(fd, limiter)
    finally:
        os.close(fd)
    assert found.inodes_used is not None
    assert found.inodes_used > FILES


def compare(name: str, top: Path) -> list[Result]:
    """Alternate with `du` and swap the order each time, so that both have the same noise and caches."""
    ours, theirs = Samples(), Samples()
    for turn in range(RUNS + 1):
        steps: list[Callable[[], None]] = [lambda: ours.add(lambda: walk(top)), lambda: theirs.add(lambda: du(top))]
        for step in steps if turn % 2 else reversed(steps):
            step()
    wall, cpu = (
        statistics.median(mine / other for mine, other in zip(left[1:], right[1:], strict=True))
        for left, right in ((ours.wall_ms, theirs.wall_ms), (ours.cpu_ms, theirs.cpu_ms))
    )
    print(f"{name}: median ratio to du {wall:.2f} by the clock, {cpu:.2f} in processor time")
    return [
        summarize(f"disk usage: 10^6 files, {name}", ours.wall_ms[1:]),
        summarize(f"disk usage: du, 10^6 files, {name}", theirs.wall_ms[1:]),
    ]


class Samples:
    """Times of one of the two walks, by the clock and in processor time of this process and its children."""

    def __init__(self) -> None:
        self.wall_ms: list[float] = []
        self.cpu_ms: list[float] = []

    def add(self, function: Callable[[], object]) -> None:
        before = sum(os.times()[:4])
        self.wall_ms.append(timed(function))
        self.cpu_ms.append((sum(os.times()[:4]) - before) * 1e3)


def du(top: Path) -> None:
    subprocess.run(["du", "-sx", str(top)], check=True, stdout=subprocess.DEVNULL)


def timed(function: Callable[[], object]) -> float:
    start = time.perf_counter_ns()
    function()
    return (time.perf_counter_ns() - start) / 1e6


def memory(top: Path) -> Result:
    """Return the growth of the peak of resident memory over a walk, in MiB."""
    walk(top)
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts over
    before = status("VmRSS")
    walk(top)
    growth = (status("VmHWM") - before) / 1024
    print(f"memory: the peak grew by {growth:.2f} MiB over a walk")
    return summarize("disk usage: memory growth (MiB)", [growth])


def status(key: str) -> int:
    """Return a line of /proc/self/status in KiB."""
    return next(
        int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(key)
    )


def meanwhile(top: Path) -> list[Result]:
    """Observe 110 pods repeatedly, alone and while a thread walks the million files without a rate limit."""
    cache, stop = DiskUsageCache(at_once(nothing), clock=clock), threading.Event()

    def keep_walking() -> None:
        while not stop.is_set():
            walk(top, cache.limiter)

    with node(110, cache) as made:
        for _ in range(3):
            made.observe()
        freeze_gc()  # as the daemon does
        alone = observations(made, stop)
        thread = threading.Thread(target=keep_walking)
        thread.start()
        try:
            samples = observations(made, stop)
        finally:
            stop.set()
            thread.join()
    return [
        summarize("disk usage: observation alone", alone),
        summarize("disk usage: observation alone, p99", [p99(alone)]),
        summarize("disk usage: observation meanwhile", samples),
        summarize("disk usage: observation meanwhile, p99", [p99(samples)]),
    ]


def observations(made: Node, stop: threading.Event) -> list[float]:
    samples = []
    for _ in range(OBSERVATIONS):
        stop.wait(INTERVAL_SECONDS)
        samples.append(timed(made.observe))
    return samples


def p99(samples: list[float]) -> float:
    return statistics.quantiles(samples, n=100)[98]
