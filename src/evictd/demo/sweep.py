"""What is left of disposable nodes whose process is gone, and how it is removed.

A node that ended by SIGKILL leaves its folder, mounts and cgroups, and in plain mode its shims and containers.
Everything of it carries its name, and the name carries the pid and start time of its owner, so that a node in use is
never touched.
"""

import fcntl
import re
import shutil
from contextlib import suppress
from pathlib import Path
from tempfile import gettempdir

from evictd.demo import cgroups
from evictd.demo.disks import loops_of, mounts_below, unmount_below
from evictd.demo.tool import command_line, process_ids, run_tool, start_time, wait_for
from evictd.errors import NodeError

PREFIX = "evictd-node-"
_NAME = re.compile(rf"{PREFIX}([0-9]+)-([0-9]+)-[a-z0-9_]+")
_RUNTIME_PROGRAMS = frozenset({"containerd", "containerd-shim-runc-v2", "runc"})
_SHIM_SOCKETS = Path("/run/containerd/s")


def sweep() -> list[str]:
    """Remove every node whose owner is gone; gives their names."""
    folder = Path(gettempdir())
    with (folder / "evictd-sweep.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two sweeps would trip over each other
        names = {path.name for path in folder.iterdir()}
        names |= {path.name for tree in cgroups.trees() for path in tree.iterdir()}
        dead = sorted(name for name in names if _is_dead(name))
        for name in dead:
            remove_node(folder / name)
    return dead


def _is_dead(name: str) -> bool:
    owner = _NAME.fullmatch(name)
    return owner is not None and start_time(int(owner[1])) != int(owner[2])


def remove_node(folder: Path) -> None:
    """Remove what there is of one node: processes, mounts, loop devices, cgroups, sockets and files."""
    if _NAME.fullmatch(folder.name) is None:
        raise NodeError(f"{folder} is not the folder of a disposable node")
    _kill_processes(folder)
    _remove_sockets(folder)
    unmount_below(folder)
    if not wait_for(lambda: not loops_of(folder)):
        for device in loops_of(folder):
            run_tool("losetup", "--detach", device)
    cgroups.remove_group(f"/{folder.name}")
    with suppress(FileNotFoundError):
        shutil.rmtree(folder)


def leftovers(folder: Path) -> list[str]:
    """Everything of a node that can still be found, each in words; empty when it is gone."""
    found = [f"process {pid}: {' '.join(command_line(pid))}" for pid in _processes(folder)]
    found += [f"mount {point}" for point in mounts_below(folder)]
    found += [f"loop device {device}" for device in loops_of(folder)]
    found += [f"cgroup {tree / folder.name}" for tree in cgroups.trees() if (tree / folder.name).exists()]
    return found + ([f"folder {folder}"] if folder.exists() else [])


def _processes(folder: Path) -> list[int]:
    """Containers by their cgroup; containerd and shims, which are in ours, by the folder in their arguments."""
    runtime = {pid for pid in process_ids() if _is_runtime(command_line(pid), folder)}
    return sorted(runtime | cgroups.pids_of(f"/{folder.name}"))


def _is_runtime(arguments: list[str], folder: Path) -> bool:
    """Tell a runtime of this node from, say, a pager that shows its log."""
    ours = any(argument.startswith(f"{folder}/") for argument in arguments)
    return ours and not _RUNTIME_PROGRAMS.isdisjoint(Path(argument).name for argument in arguments)


def _kill_processes(folder: Path) -> None:
    def ended() -> bool:
        pids = _processes(folder)
        cgroups.kill(pids)
        return not pids

    if not wait_for(ended):
        raise NodeError(f"processes of {folder} that cannot be killed: {_processes(folder)}")


def _remove_sockets(folder: Path) -> None:
    """Unlink the shims' sockets, which containerd keeps outside its own folders; each bundle names its own."""
    for bundle in (folder / "runtime/state").glob("io.containerd.runtime.v2.task/*/*/address"):
        path = Path(bundle.read_text(encoding="utf-8", errors="replace").strip().removeprefix("unix://"))
        if path.parent == _SHIM_SOCKETS:
            path.unlink(missing_ok=True)
    for empty in (_SHIM_SOCKETS, _SHIM_SOCKETS.parent):
        with suppress(OSError):  # not there, or somebody else's containerd uses it
            empty.rmdir()
