"""Counts, and writes Prometheus' text format (`text/plain; version=0.0.4`).

A metric is a family of samples, one for each combination of its labels' values. Gauges are made when the page is read; counters
and histograms live as long as the daemon, and any thread may feed them.
"""

import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import TypeVar

_Names = TypeVar("_Names", bound=tuple[str, ...])

_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})
_ESCAPES_OF_HELP = str.maketrans({"\\": r"\\", "\n": r"\n"})


class Gauge:
    """Values as they are now: `samples` by their labels' values, or the `value` of a gauge without labels, if it has one."""

    kind = "gauge"

    def __init__(
        self,
        name: str,
        text: str,
        labels: Sequence[str] = (),
        samples: Mapping[_Names, float] = MappingProxyType({}),
        *,
        value: float | None = None,
    ) -> None:
        self.name, self.text, self.labels = name, text, labels
        self.samples: Mapping[tuple[str, ...], float] = {(): value} if value is not None else dict(samples.items())

    def lines(self) -> Iterator[str]:
        """Write the family."""
        yield _head(self)
        for values, amount in self.samples.items():
            yield _line(self.name, zip(self.labels, values, strict=True), amount)


class Counter:
    """Amounts that only grow; one without labels begins at zero."""

    kind = "counter"

    def __init__(self, name: str, text: str, labels: Sequence[str] = ()) -> None:
        self.name, self.text, self.labels = f"{name}_total", text, labels
        self._amounts: dict[tuple[str, ...], float] = {} if labels else {(): 0}
        self._lock = Lock()

    def add(self, *labels: str, amount: float = 1) -> None:
        """Count an amount; one of zero only creates the sample."""
        with self._lock:
            self._amounts[labels] = self._amounts.get(labels, 0) + amount

    def lines(self) -> Iterator[str]:
        """Write the family."""
        with self._lock:
            amounts = dict(self._amounts)
        yield _head(self)
        for values, amount in amounts.items():
            yield _line(self.name, zip(self.labels, values, strict=True), amount)


class Histogram:
    """How many values were at most as large as each bound, and their sum; one without labels begins at zero."""

    kind = "histogram"

    def __init__(self, name: str, text: str, bounds: Sequence[float], labels: Sequence[str] = ()) -> None:
        self.name, self.text, self.labels = name, text, labels
        self._bounds = bounds
        self._counts: dict[tuple[str, ...], list[int]] = {}
        self._sums: dict[tuple[str, ...], float] = {}
        self._lock = Lock()
        if not labels:
            self.begin()

    def begin(self, *labels: str) -> None:
        """Create the samples of these labels' values."""
        self._sums.setdefault(labels, 0)
        self._counts.setdefault(labels, [0] * (len(self._bounds) + 1))

    def observe(self, value: float, *labels: str) -> None:
        """Count a value."""
        with self._lock:
            self.begin(*labels)
            self._sums[labels] += value
            self._counts[labels][bisect_left(self._bounds, value)] += 1

    def lines(self) -> Iterator[str]:
        """Write the family."""
        with self._lock:
            found = [(labels, tuple(counts), self._sums[labels]) for labels, counts in self._counts.items()]
        yield _head(self)
        for values, counts, total in found:
            labels = list(zip(self.labels, values, strict=True))
            bounds = [*(repr(float(each)) for each in self._bounds), "+Inf"]
            for bound, count in zip(bounds, accumulate(counts), strict=True):
                yield _line(f"{self.name}_bucket", [*labels, ("le", bound)], count)
            yield _line(f"{self.name}_count", labels, sum(counts))
            yield _line(f"{self.name}_sum", labels, total)


def process_metrics(proc: Path = Path("/proc")) -> Iterator[Gauge | Counter]:
    """Make the metrics of this process that every client of Prometheus has; none where they cannot be read."""
    try:
        fields = (proc / "self/stat").read_text().rpartition(")")[2].split()
        booted = next(line for line in (proc / "stat").read_text().splitlines() if line.startswith("btime ")).split()[1]
        open_files = sum(1 for _ in (proc / "self/fd").iterdir())
    except (OSError, StopIteration):
        return
    ticks = os.sysconf("SC_CLK_TCK")
    used = Counter("process_cpu_seconds", "Total user and system CPU time spent in seconds.")
    used.add(amount=(int(fields[11]) + int(fields[12])) / ticks)
    yield used
    for name, text, value in (
        ("virtual_memory_bytes", "Virtual memory size in bytes.", int(fields[20])),
        ("resident_memory_bytes", "Resident memory size in bytes.", int(fields[21]) * os.sysconf("SC_PAGE_SIZE")),
        ("start_time_seconds", "Start time since the Unix epoch in seconds.", int(booted) + int(fields[19]) / ticks),
        ("open_fds", "Number of open file descriptors.", open_files),
        ("max_fds", "Maximum number of open file descriptors.", os.sysconf("SC_OPEN_MAX")),
    ):
        yield Gauge(f"process_{name}", text, value=value)


def _head(family: Gauge | Counter | Histogram) -> str:
    return f"# HELP {family.name} {family.text.translate(_ESCAPES_OF_HELP)}\n# TYPE {family.name} {family.kind}\n"


def _line(name: str, labels: Iterable[tuple[str, str]], value: float) -> str:
    named = ",".join(f'{label}="{each.translate(_ESCAPES)}"' for label, each in labels)
    return f"{name}{{{named}}} {float(value)}\n" if named else f"{name} {float(value)}\n"
