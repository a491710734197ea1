"""Computes the documented formulas by shell and coreutils, as the reference for evictd's numbers."""

import subprocess
from pathlib import Path
from typing import NamedTuple

# Kubernetes' memory-available-cgroupv2.sh; the root has no memory.current, there the kubelet takes anon + file.
_ROOT = r"""
capacity=$(( $(awk '/^MemTotal:/ {print $2}' /proc/meminfo) * 1024 ))
usage=$(awk '$1 == "anon" || $1 == "file" {sum += $2} END {print sum}' /sys/fs/cgroup/memory.stat)
inactive=$(awk '$1 == "inactive_file" {print $2}' /sys/fs/cgroup/memory.stat)
echo $capacity $(( usage > inactive ? usage - inactive : 0 ))
"""
_CGROUP = r"""
usage=$(cat "$1/memory.current")
inactive=$(awk '$1 == "inactive_file" {print $2}' "$1/memory.stat")
echo $(( usage > inactive ? usage - inactive : 0 ))
"""


class Df(NamedTuple):
    """A line of `df` or `df -i`: all, used, available."""

    total: int
    used: int
    available: int


def _numbers(script: str, *arguments: str) -> list[int]:
    argv = ["sh", "-c", script, "sh", *arguments]
    return [int(word) for word in subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split()]


def memory_available() -> int:
    """The node's capacity minus its working set, in bytes."""
    capacity, working_set = _numbers(_ROOT)
    return capacity - working_set


def meminfo(name: str) -> int:
    """A number of /proc/meminfo, in bytes."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{name}:"))


def stalled_microseconds(cgroup: Path) -> int:
    """How long a task of a cgroup has stalled for memory since it was made (PSI `some`)."""
    return int((cgroup / "memory.pressure").read_text().splitlines()[0].rpartition("total=")[2])


def working_set(cgroup: Path) -> int:
    """Working set of a cgroup that is not the root."""
    return _numbers(_CGROUP, str(cgroup))[0]


def df(path: Path, *, inodes: bool = False) -> Df:
    """The output of `df` for the filesystem that holds a path, in bytes or inodes."""
    fields = "--output=itotal,iused,iavail" if inodes else "--output=size,used,avail"
    options = [fields] if inodes else [fields, "--block-size=1"]
    answer = subprocess.run(["df", *options, str(path)], check=True, capture_output=True, text=True).stdout
    return Df(*(int(word) for word in answer.splitlines()[1].split()))
