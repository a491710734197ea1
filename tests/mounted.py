"""Filesystems of our own for tests: a tmpfs whose name says who mounted it, so that what a killed run left can be found.

What else is mounted goes below it, and is detached with it.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evictd.demo.tool import start_time

_NAME = re.compile(r"evictd-test-([0-9]+)")


@contextmanager
def tmpfs(point: Path, *, size: str = "4m") -> Iterator[Path]:
    """Mount a tmpfs on a folder, which is made; everything below it goes when it goes."""
    sweep()
    point.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", f"evictd-test-{os.getpid()}", str(point)], check=True)
    try:
        yield point
    finally:
        subprocess.run(["umount", "--lazy", str(point)], check=True)


def sweep() -> None:
    """Detach what is mounted by processes that are gone."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        source, point, *_ = line.split(" ")
        owner = _NAME.fullmatch(source)
        if owner is not None and start_time(int(owner[1])) is None:
            subprocess.run(["umount", "--lazy", point.encode().decode("unicode_escape")], check=False)
