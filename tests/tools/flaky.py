"""Finds tests that fail now and then: runs the levels of the tests again and again in random order (`make flaky`).

    python -m tests.tools.flaky [--runs 10] [--seed 1] [LEVEL ...]

Each run of a level is `make LEVEL` with an order of its own; the order follows from the number of the run, so that a failure can
be repeated. In every other run a process that computes without end takes a processor away. No test is repeated to make it pass.
At the end each test that failed is printed with the runs in which it did, and the exit status is 1 if there is one.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
LEVELS = ("test", "test-slow", "test-node", "test-cluster")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a level; `order` is the seed of its order."""

    level: str
    order: int
    busy: bool
    """Whether a processor was taken away."""

    def __str__(self) -> str:
        return f"{self.level}, order {self.order}" + (", a processor taken away" if self.busy else "")


def runs_of(levels: Sequence[str], runs: int, seed: int) -> Iterator[Run]:
    """List the runs: level by level, the processor taken away in every other one."""
    for level in levels:
        for number in range(runs):
            yield Run(level=level, order=seed + number, busy=number % 2 == 1)


def failed_tests(output: str, status: int) -> tuple[str, ...]:
    """Return the tests that pytest's summary names; a run that failed otherwise is named by its status."""
    found = tuple(dict.fromkeys(_FAILED.findall(output)))
    return found or (() if status == 0 else (f"(no test; exit status {status})",))


@contextmanager
def processor_taken_away(busy: bool) -> Iterator[None]:
    """Let a process compute without end, at the priority of the tests."""
    if not busy:
        yield
        return
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def carry_out(run: Run) -> tuple[str, ...]:
    """Run the level; returns the tests that failed, and leaves the output of such a run in the build folder."""
    options = f"{os.environ.get('PYTEST_ADDOPTS', '')} --random-order-seed={run.order}"
    with processor_taken_away(run.busy):
        done = subprocess.run(
            ["make", run.level],
            cwd=ROOT,
            env={**os.environ, "PYTEST_ADDOPTS": options},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
    failed = failed_tests(done.stdout, done.returncode)
    if failed:
        folder = ROOT / "build" / "flaky"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{run.level}-{run.order}.txt").write_text(done.stdout)
    return failed


def report(failures: Mapping[str, Sequence[Run]], runs: int) -> str:
    """Write each test that failed with its runs, the one that failed most often first."""
    if not failures:
        return f"no test failed in {runs} runs"
    most_first = sorted(failures.items(), key=lambda each: (-len(each[1]), each[0]))
    lines = [line for test, by in most_first for line in (f"{len(by)} x {test}", *(f"      in {run}" for run in by))]
    return "\n".join((*lines, f"{len(failures)} tests failed in {runs} runs; build/flaky has the output"))


def main(arguments: Sequence[str]) -> int:
    """Run what the arguments say; returns the exit status."""
    parser = argparse.ArgumentParser(prog="make flaky", description="Finds tests that fail now and then.")
    parser.add_argument("levels", nargs="*", default=list(LEVELS), metavar="LEVEL", help="targets of make")
    parser.add_argument("--runs", type=int, default=10, help="runs of each level")
    parser.add_argument("--seed", type=int, default=1, help="order of the first run of each level")
    options = parser.parse_args(arguments)
    failures, runs = defaultdict(list), list(runs_of(options.levels, options.runs, options.seed))
    for run in runs:
        began = time.monotonic()
        failed = carry_out(run)
        print(f"{run}: {len(failed)} failed, {time.monotonic() - began:.0f} s", flush=True)
        for test in failed:
            print(f"    {test}", flush=True)
            failures[test].append(run)
    print(report(failures, len(runs)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
