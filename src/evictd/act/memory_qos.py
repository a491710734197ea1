"""Writes the documented Memory QoS values to cgroups (`memoryQoS: Enforce`; off by default).

One write of a number to a file of the cgroup tree for each difference, outer cgroups first. memory.high below the present usage
is not written: the kernel would reclaim within that write, for as long as it takes, and evictd would wait.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from evictd.core.model.observation import Problem
from evictd.core.model.oom import MemoryQoSDifference
from evictd.errors import SourceKind


def enforce_memory_qos(
    differences: Iterable[MemoryQoSDifference], *, cgroup_root: Path
) -> tuple[tuple[MemoryQoSDifference, ...], tuple[Problem, ...]]:
    """Write each value; return those written, and one problem for the others. Skips cgroups that are gone; never raises."""
    done: list[MemoryQoSDifference] = []
    faults: list[str] = []
    for difference in differences:
        try:
            _write(difference, cgroup_root / difference.cgroup.lstrip("/"))
            done.append(difference)
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            faults.append(f"{difference.subject}: {difference.file} stays {_text(difference.found)}: {why}")
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    problems = (Problem(source=SourceKind.MEMORY_QOS.value, detail=faults[0] + more),) if faults else ()
    return tuple(done), problems


def _write(difference: MemoryQoSDifference, cgroup: Path) -> None:
    if difference.file == "memory.high" and difference.expected is not None:
        usage = int((cgroup / "memory.current").read_text(encoding="ascii"))
        if usage > difference.expected:
            raise ValueError(f"{usage} bytes are used, above {difference.expected}")
    descriptor = os.open(cgroup / difference.file, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        os.write(descriptor, _text(difference.expected).encode("ascii"))
    finally:
        os.close(descriptor)


def _text(value: int | None) -> str:
    return "max" if value is None else str(value)
