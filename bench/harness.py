"""Repeats timings, computes median and spread, and keeps the figures in one file."""

import gc
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

RESULTS = Path("build/bench.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One figure: milliseconds over a number of runs, and further values."""

    name: str
    median_ms: float
    min_ms: float
    max_ms: float
    runs: int


def summarize(name: str, samples_ms: list[float]) -> Result:
    """Summarize samples as a figure."""
    return Result(
        name=name,
        median_ms=round(statistics.median(samples_ms), 4),
        min_ms=round(min(samples_ms), 4),
        max_ms=round(max(samples_ms), 4),
        runs=len(samples_ms),
    )


def measure(name: str, function: Callable[[], object], *, runs: int = 30, warm_up: int = 3) -> Result:
    """Time a call; Python's garbage collector runs before each sample, not during it."""
    samples = []
    for run in range(warm_up + runs):
        gc.collect()
        start = time.perf_counter_ns()
        function()
        elapsed = time.perf_counter_ns() - start
        if run >= warm_up:
            samples.append(elapsed / 1e6)
    return summarize(name, samples)


def show(results: list[Result]) -> None:
    """Print the figures and merge them into `build/bench.json`, replacing older ones of the same name."""
    for result in results:
        print(
            f"{result.name:<40} median {result.median_ms:>10.3f} ms   "
            f"min {result.min_ms:>10.3f}   max {result.max_ms:>10.3f}   runs {result.runs}"
        )
    RESULTS.parent.mkdir(exist_ok=True)
    kept = json.loads(RESULTS.read_text())["results"] if RESULTS.exists() else []
    fresh = {result.name for result in results}
    merged = [old for old in kept if old["name"] not in fresh] + [asdict(result) for result in results]
    RESULTS.write_text(json.dumps({"results": merged}, indent=1) + "\n")
