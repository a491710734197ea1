"""Creates, limits and removes a disposable node's cgroup.

On cgroup v1 every controller has its own tree, and the cgroup exists in each; on v2 there is one tree. The container runtime
removes only the cgroups it created, so this module removes the pods' cgroups and the node's own.
"""

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from evictd.errors import NodeError
from evictd_testnode.tool import wait_for

CGROUP_MOUNT = Path("/sys/fs/cgroup")

_LIMIT_FILES = {"memory": ("memory.limit_in_bytes", "memory.max"), "pids": ("pids.max", "pids.max")}


def trees() -> list[Path]:
    """Return the root of every cgroup hierarchy: one per v1 controller, or the single v2 tree."""
    if is_unified():
        return [CGROUP_MOUNT]
    return sorted(path for path in CGROUP_MOUNT.iterdir() if path.is_dir() and not path.is_symlink())


def is_unified() -> bool:
    """Whether there is one tree for all controllers (cgroup v2)."""
    return (CGROUP_MOUNT / "cgroup.controllers").exists()


def group(controller: str, parent: str) -> Path:
    """Return the directory of a cgroup in the tree of a controller."""
    base = CGROUP_MOUNT if is_unified() else CGROUP_MOUNT / controller
    return base / parent.lstrip("/")


def make_group(parent: str, *, memory_bytes: int | None = None, pids: int | None = None) -> None:
    """Create a cgroup with limits; the runtime creates it in the trees of further controllers when it needs them."""
    for controller, limit in (("memory", memory_bytes), ("pids", pids)):
        folder = group(controller, parent)
        folder.mkdir(parents=True, exist_ok=True)
        if is_unified():
            _delegate(folder)
        if limit is not None:
            name = _LIMIT_FILES[controller][1 if is_unified() else 0]
            (folder / name).write_text(str(limit), encoding="ascii")


def _delegate(folder: Path) -> None:
    """Enable the needed controllers for a v2 cgroup, from the root down to its parent."""
    for above in reversed(folder.parents):
        if above == CGROUP_MOUNT or CGROUP_MOUNT in above.parents:
            with suppress(OSError):  # a controller that does not exist, or is enabled already
                (above / "cgroup.subtree_control").write_text("+memory +pids +cpu", encoding="ascii")


def pids_of(parent: str) -> set[int]:
    """Return every process in the cgroup or below it, in any tree."""
    found: set[int] = set()
    for folder in _folders(parent):
        with suppress(OSError):
            found.update(int(pid) for pid in (folder / "cgroup.procs").read_text(encoding="ascii").split())
    return found - {0}


def thaw(parent: str) -> None:
    """Thaw the cgroup and those below it: on v1 no signal ends a frozen process."""
    for folder in _folders(parent):
        state = folder / "freezer.state"
        with suppress(OSError):  # removed, or the root of a tree
            if state.exists():
                state.write_text("THAWED", encoding="ascii")


def kill(pids: Iterable[int]) -> None:
    """Kill processes; one that has ended already is no error."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def remove_group(parent: str) -> None:
    """Remove the cgroup's directories from every tree, bottom up; raises `NodeError` if one cannot be removed."""

    def gone() -> bool:
        for folder in _folders(parent):
            with suppress(OSError):  # busy for a moment after its last process ended
                folder.rmdir()
        return not _folders(parent)

    if not wait_for(gone):
        raise NodeError(f"cgroups that cannot be removed: {', '.join(map(str, _folders(parent)))}")


def _folders(parent: str) -> list[Path]:
    """List the cgroup's directories in all trees, the innermost first."""
    name = parent.strip("/")
    if not name:
        raise NodeError("the root cgroup cannot be removed")
    return [Path(path) for tree in trees() for path, _, _ in os.walk(tree / name, topdown=False, followlinks=False)]
