"""Reads the ends of a victim's logs, for the journal.

Pods' authors choose the names and what is there: no link is followed, only plain files are read, and the number of containers and
bytes is bounded.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path

from evictd.observe.untrusted_paths import is_safe_name, opened

MOST_LOG_BYTES = 4096
MOST_CONTAINERS = 16

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def log_tails(logs_dir: Path, *, namespace: str, name: str, uid: str) -> dict[str, str]:
    """Return the end of the newest log of each container of a victim; empty if there is none that may be read.

    The logs are those of `podLogsDir` (kubelet layout: `<namespace>_<name>_<uid>/<container>/<restarts>.log`).
    """
    directory = f"{namespace}_{name}_{uid}"
    if not is_safe_name(directory):
        return {}
    tails: dict[str, str] = {}
    with suppress(OSError), opened(logs_dir) as root, opened(directory, root) as pod:
        for container in _names(pod)[:MOST_CONTAINERS]:
            with suppress(OSError), opened(container, pod) as logs:
                tails[container] = _newest_tail(logs)
    return tails


def _names(directory: int) -> list[str]:
    with os.scandir(directory) as entries:
        return sorted(entry.name for entry in entries)


def _newest_tail(logs: int) -> str:
    numbered = [name for name in _names(logs) if name.endswith(".log") and name[:-4].isdecimal()]
    if not numbered:
        return ""
    file = os.open(max(numbered, key=lambda name: int(name[:-4])), _FILE, dir_fd=logs)
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            return ""
        return os.pread(file, MOST_LOG_BYTES, max(0, found.st_size - MOST_LOG_BYTES)).decode("utf-8", "replace")
    finally:
        os.close(file)
