"""Measures the walk over a million files: time beside `du`, added memory, and observations taken during a walk.

Targets: at most 1.5 times `du`'s time, at most 16 MiB more memory, and the 99th percentile of an observation of 110 pods while
a walk runs at most 30 ms; and beside ten pods of a million files a pod of ten is renewed within 5 s at a tenth of a processor.

EVICTD_BENCH_BASELINE names a commit whose walk is timed in turns with this one's, each in a process of its own.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from bench.harness import Result, summarize
from bench.large_neighbours import LARGE, Ages, measure_ages
from bench.report import loads, write_section
from bench.suite_observe import Node, clock, node, nothing
from evictd.daemon.run import freeze_gc
from evictd.observe.disk_usage.cache import DiskUsageCache
from evictd.observe.disk_usage.rate_limiter import RateLimiter
from evictd.observe.untrusted_paths import OPEN_DIRECTORY
from tests.measured import at_once
from tests.tree_usage import measure

FILES = 1_000_000
RUNS = int(os.environ.get("EVICTD_BENCH_RUNS", "5"))
SECONDS = int(os.environ.get("EVICTD_BENCH_SECONDS", "600"))
"""How long the pod of ten files is renewed beside large ones."""
OBSERVATIONS = 400
INTERVAL_SECONDS = 0.02
BASELINE = os.environ.get("EVICTD_BENCH_BASELINE", "")
SOURCE = Path(__file__).parents[1] / "src"
CHILD = """
import os, sys
from evictd.observe.disk_usage.rate_limiter import RateLimiter
from evictd.observe.disk_usage.tree_walk import TreeWalk
begin = os.times()
for _ in TreeWalk(os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY), RateLimiter()).steps():
    pass
end = os.times()
print((end[4] - begin[4]) * 1e3, (end[0] + end[1] - begin[0] - begin[1]) * 1e3)
"""
"""Walks a directory once, and prints milliseconds by the clock and of processor time."""


def run() -> list[Result]:
    """Time one directory of a million files, and a million files in a thousand directories; write `bench/figures.md`."""
    results: list[Result] = []
    rows: list[str] = []
    beside = ""
    for name, width in (("1,000 folders", FILES // 1000), ("one folder", FILES)):
        with tempfile.TemporaryDirectory(prefix="evictd-bench-") as folder:
            top = Path(folder) / "top"
            top.mkdir()
            make(top, width)
            samples = compare(name, top) | against(Path(folder), top)
            rows += [row(name, which, each) for which, each in samples.items()]
            results += [
                summarize(f"disk usage: {which}, 10^6 files, {name}", s.wall_ms) for which, s in samples.items()
            ]
            if width == FILES:
                beside = aged(measure_ages(top, SECONDS)) if os.geteuid() == 0 else ""
                write_section("disk_usage", section(rows, beside))
                results += [memory(top), *meanwhile(top)]
    return results


def section(rows: list[str], beside: str) -> str:
    """Return the section of `bench/figures.md`."""
    return "\n".join(
        [
            "## A million files",
            "",
            f"`make bench SUITE=disk_usage`: empty files, all inodes cached, {RUNS} walks of each in turns. {loads()}",
            "",
            "| Files | Walked by | Median, s | Longest | Processor time, median | Least |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
            beside,
        ]
    )


def row(name: str, which: str, samples: "Samples") -> str:
    """Return a row of the section's table."""
    wall, cpu = samples.wall_ms, samples.cpu_ms
    times = (statistics.median(wall), max(wall), statistics.median(cpu), min(cpu))
    return f"| {name} | {which} | " + " | ".join(f"{each / 1000:.2f}" for each in times) + " |"


def aged(ages: Ages) -> str:
    """Return what came of the pod of ten files beside ten of a million."""
    return (
        f"A pod of ten files beside {LARGE} pods of a million, at 10 ms of processor time in each 100 ms (`cpu: 100m`) for "
        f"{ages.seconds:.0f} s: renewed {ages.renewals} times, {ages.median_seconds:.1f} s old in the median and "
        f"{ages.longest_seconds:.1f} s at most; {ages.large_results} results of the large ones."
    )


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


def compare(name: str, top: Path) -> dict[str, "Samples"]:
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
    return {"evictd": ours.without_first(), "du": theirs.without_first()}


def against(folder: Path, top: Path) -> dict[str, "Samples"]:
    """Alternate with the walk of the baseline, if one is given; its source is unpacked into `folder`."""
    if not BASELINE:
        return {}
    (baseline := folder / "baseline").mkdir()
    packed = subprocess.run(["git", "archive", BASELINE, "src"], check=True, stdout=subprocess.PIPE, cwd=SOURCE.parent)
    subprocess.run(["tar", "-x", "-C", str(baseline)], check=True, input=packed.stdout)
    now, then = Samples(), Samples()
    sides = [(SOURCE, now), (baseline / "src", then)]
    for turn in range(RUNS + 1):
        for source, samples in sides if turn % 2 else reversed(sides):
            argv, path = [sys.executable, "-c", CHILD, str(top)], {**os.environ, "PYTHONPATH": str(source)}
            done = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True, env=path)
            wall, cpu = map(float, done.stdout.split())
            samples.wall_ms.append(wall)
            samples.cpu_ms.append(cpu)
    return {"evictd, own process": now.without_first(), f"{BASELINE}, own process": then.without_first()}


class Samples:
    """Times of one of the two walks, by the clock and in processor time of this process and its children."""

    def __init__(self) -> None:
        self.wall_ms: list[float] = []
        self.cpu_ms: list[float] = []

    def add(self, function: Callable[[], object]) -> None:
        before = sum(os.times()[:4])
        self.wall_ms.append(timed(function))
        self.cpu_ms.append((sum(os.times()[:4]) - before) * 1e3)

    def without_first(self) -> "Samples":
        """Return the samples without the first, which may have filled the caches."""
        self.wall_ms, self.cpu_ms = self.wall_ms[1:], self.cpu_ms[1:]
        return self


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
