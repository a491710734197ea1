"""Provides a /proc with the process counts of one cgroup, so that its `pids.max` acts as the machine's limit.

Everything else in it is the machine's /proc. The count is kept up to date by a thread, for as long as the context lasts.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SHARED = ("meminfo", "pressure", "self", "mounts")
_STEP_SECONDS = 0.02


@contextmanager
def proc_of_cgroup(folder: Path, cgroup: Path) -> Iterator[Path]:
    """Make the folder; `cgroup` has `pids.current` and `pids.max`."""
    limits = folder / "sys/kernel"
    limits.mkdir(parents=True)
    for name in ("pid_max", "threads-max"):
        (limits / name).write_text(f"{int((cgroup / 'pids.max').read_text())}\n")
    for name in _SHARED:
        (folder / name).symlink_to(f"/proc/{name}")
    stopped = threading.Event()
    loadavg = os.open(folder / "loadavg", os.O_RDWR | os.O_CREAT, 0o644)

    def follow() -> None:
        while True:
            tasks = int((cgroup / "pids.current").read_text())
            os.pwrite(loadavg, f"0.00 0.00 0.00 1/{tasks:08} 1\n".encode(), 0)
            if stopped.wait(_STEP_SECONDS):
                return

    thread = threading.Thread(target=follow)
    thread.start()
    try:
        yield folder
    finally:
        stopped.set()
        thread.join()
        os.close(loadavg)
