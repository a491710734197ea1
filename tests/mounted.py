"""Mounts filesystems for tests: a tmpfs whose name holds the PID of its owner, so that leftovers of a killed run are found.

Other mounts are made below it and are detached with it.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evictd_testnode.tool import start_time

_NAME = re.compile(r"evictd-test-([0-9]+)")


@contextmanager
def tmpfs(point: Path, *, size: str = "4m") -> Iterator[Path]:
    """Mount a tmpfs on a new directory; mounts below it are detached with it."""
    sweep()
    point.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", f"evictd-test-{os.getpid()}", str(point)], check=True)
    try:
        yield point
    finally:
        subprocess.run(["umount", "--lazy", str(point)], check=True)


def sweep() -> None:
    """Detach mounts whose owners have ended."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        source, point, *_ = line.split(" ")
        owner = _NAME.fullmatch(source)
        if owner is not None and start_time(int(owner[1])) is None:
            subprocess.run(["umount", "--lazy", point.encode().decode("unicode_escape")], check=False)
