"""Reads the end of each container log of a victim before it is stopped.

The logs are those of `podLogsDir` (kubelet layout:
`<namespace>_<name>_<uid>/<container>/<restarts>.log`). The names are a pod author's: directories
are opened by descriptor and no link is followed, only plain files are read, and the number of containers and bytes is bounded.
"""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from evictd.observe.disk_usage.tree_walk import OPEN_DIRECTORY

MOST_BYTES = 4096
MOST_CONTAINERS = 16

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def log_tails(logs_dir: Path, *, namespace: str, name: str, uid: str) -> dict[str, str]:
    """Return the end of the newest log of each container; empty if there is none that may be read."""
    directory = f"{namespace}_{name}_{uid}"
    if "/" in directory or "\0" in directory:
        return {}
    tails: dict[str, str] = {}
    with (
        contextlib.suppress(OSError),
        _opened(str(logs_dir), OPEN_DIRECTORY) as root,
        _opened(directory, OPEN_DIRECTORY, root) as pod,
    ):
        for container in _names(pod)[:MOST_CONTAINERS]:
            with contextlib.suppress(OSError), _opened(container, OPEN_DIRECTORY, pod) as logs:
                tails[container] = _newest_tail(logs)
    return tails


@contextlib.contextmanager
def _opened(name: str, flags: int, parent: int | None = None) -> Iterator[int]:
    fd = os.open(name, flags, dir_fd=parent)
    try:
        yield fd
    finally:
        os.close(fd)


def _names(directory: int) -> list[str]:
    with os.scandir(directory) as entries:
        return sorted(entry.name for entry in entries)


def _newest_tail(logs: int) -> str:
    numbered = [name for name in _names(logs) if name.endswith(".log") and name[:-4].isdecimal()]
    if not numbered:
        return ""
    with _opened(max(numbered, key=lambda name: int(name[:-4])), _FILE, logs) as file:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            return ""
        return os.pread(file, MOST_BYTES, max(0, found.st_size - MOST_BYTES)).decode("utf-8", "replace")
