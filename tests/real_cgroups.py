"""Creates real cgroups for tests and benches, named after their owner, so that leftovers of a killed run are found."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from evictd.act.stop.cgroup_kill import PodKill
from evictd_testnode.cgroups import CGROUP_MOUNT, group, make_group, remove_group, trees
from evictd_testnode.tool import start_time

PREFIX = "evictd-test-"
_NAME = re.compile(rf"{PREFIX}([0-9]+)-[0-9a-z]+")
_numbers = count()


def reason_against() -> str:
    """Return the reason why no cgroup can be created here; empty if one can."""
    if os.geteuid() != 0:
        return "needs root"
    if not CGROUP_MOUNT.is_dir():
        return "no cgroups are mounted"
    wanted = [group(controller, "/") for controller in ("memory", "pids")]
    return "" if all(os.access(folder, os.W_OK) for folder in wanted) else "needs writable memory and pids cgroups"


@contextmanager
def branch() -> Iterator[str]:
    """Create the branch `/evictd-test-<pid>-<n>`, in the memory and pids trees; it is removed afterwards."""
    sweep()
    name = f"/{PREFIX}{os.getpid()}-{next(_numbers)}"
    make_group(name)
    try:
        yield name
    finally:
        remove_group(name)


def sweep() -> None:
    """Remove the branches whose owners have ended."""
    names = {folder.name for tree in trees() for folder in tree.glob(f"{PREFIX}*")}
    for name in names:
        maker = _NAME.fullmatch(name)
        if maker is not None and start_time(int(maker[1])) is None:
            remove_group(f"/{name}")


def kill_cgroup(directory: Path, uid: str) -> bool:
    """Kill every process in a pod's cgroup and below in one attempt; whether none was left. Raises `NodeError`."""
    return PodKill(directory, uid, freezer=directory).attempt()
