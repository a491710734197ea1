"""A real cgroup v1 of the tests, and a process that fills it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path("/sys/fs/cgroup/memory")

FILL = """
import sys
open(sys.argv[1] + "/cgroup.procs", "w").write("0")
held = bytearray(int(sys.argv[2]))
print(len(held), flush=True)
sys.stdin.read()
"""


@contextmanager
def real_cgroup() -> Iterator[Path]:
    """Make a cgroup for one test; skips it where that is not possible."""
    if os.geteuid() != 0 or not (ROOT / "cgroup.event_control").exists():
        pytest.skip("needs root and a memory controller of cgroup v1")
    path = ROOT / f"evictd-test-{os.getpid()}-notify"
    path.mkdir()
    try:
        yield path
    finally:
        path.rmdir()


def fill(cgroup: Path, size: int) -> subprocess.Popen[bytes]:
    """Start a process that fills so many bytes of a cgroup, and wait until it has."""
    process = subprocess.Popen(
        [sys.executable, "-c", FILL, str(cgroup), str(size)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    return process


def finish(process: subprocess.Popen[bytes]) -> None:
    """End the process."""
    process.communicate(timeout=30)
