"""Finds and removes disposable nodes whose owner process has ended.

After a SIGKILL a node leaves its directory, mounts and cgroups, and in plain mode its shims and containers. All of them have the
node's name, which holds the pid and start time of the owner, so that a node in use is never removed.

There may be no later run that sweeps. So a cleanup process in its own session waits for the owner's end and then sweeps; it
finds nothing after a normal end.
"""

import fcntl
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import gettempdir

from evictd.errors import NodeError
from evictd_testnode import cgroups
from evictd_testnode.disks import loops_of, mounts_below, unmount_below
from evictd_testnode.tool import command_line, process_ids, run_tool, start_time, wait_for

PREFIX = "evictd-node-"
_POLL_SECONDS = 1.0
_NAME = re.compile(rf"{PREFIX}([0-9]+)-([0-9]+)-[a-z0-9_]+")
_RUNTIME_PROGRAMS = frozenset({"containerd", "containerd-shim-runc-v2", "runc"})
_SHIM_SOCKETS = Path("/run/containerd/s")
_MADE = "run-folders"
"""The file of a node that lists the folders outside its own which its shims make."""


def sweep() -> list[str]:
    """Remove every node whose owner has ended; returns their names."""
    folder = Path(gettempdir())
    with (folder / "evictd-sweep.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # concurrent sweeps would remove the same node
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
    """Remove one node's processes, mounts, loop devices, cgroups, sockets and files; raises `NodeError` if one remains."""
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


def note_missing_run_folders(folder: Path) -> None:
    """Record which folders of the shims' sockets are missing before this node's shims make them; others are never removed."""
    missing = [str(each) for each in (_SHIM_SOCKETS, _SHIM_SOCKETS.parent) if not each.exists()]
    (folder / _MADE).write_text("\n".join(missing), encoding="utf-8")


def leftovers(folder: Path) -> list[str]:
    """Describe all remains of a node; empty after a complete removal."""
    found = [f"process {pid}: {' '.join(command_line(pid))}" for pid in _processes(folder)]
    found += [f"mount {point}" for point in mounts_below(folder)]
    found += [f"loop device {device}" for device in loops_of(folder)]
    found += [f"cgroup {tree / folder.name}" for tree in cgroups.trees() if (tree / folder.name).exists()]
    return found + ([f"folder {folder}"] if folder.exists() else [])


def _processes(folder: Path) -> list[int]:
    """Return the node's processes: containers by cgroup; containerd and shims, which are not in it, by their arguments."""
    runtime = {pid for pid in process_ids() if _is_runtime(command_line(pid), folder)}
    return sorted(runtime | cgroups.pids_of(f"/{folder.name}"))


def _is_runtime(arguments: list[str], folder: Path) -> bool:
    """Whether a process is a runtime program of this node, and not, for example, a pager that shows its log."""
    of_node = any(argument.startswith(f"{folder}/") for argument in arguments)
    return of_node and not _RUNTIME_PROGRAMS.isdisjoint(Path(argument).name for argument in arguments)


def _kill_processes(folder: Path) -> None:
    def ended() -> bool:
        pids = _processes(folder)
        cgroups.kill(pids)
        if pids:
            cgroups.thaw(f"/{folder.name}")
        return not pids

    if not wait_for(ended):
        raise NodeError(f"processes of {folder} that cannot be killed: {_processes(folder)}")


def shim_sockets(folder: Path) -> Iterator[Path]:
    """List the sockets of a node's shims, whose paths the bundles hold: `address`, since containerd 2 `bootstrap.json`."""
    bundles = folder / "runtime/state/io.containerd.runtime.v2.task"
    for file in (*bundles.glob("*/*/address"), *bundles.glob("*/*/bootstrap.json")):
        with suppress(ValueError, KeyError):
            text = file.read_text(encoding="utf-8", errors="replace").strip()
            yield Path((text if file.name == "address" else json.loads(text)["address"]).removeprefix("unix://"))


def _remove_sockets(folder: Path) -> None:
    """Remove the shims' sockets, which are outside containerd's directories."""
    for path in shim_sockets(folder):
        if path.parent == _SHIM_SOCKETS:
            path.unlink(missing_ok=True)
    made = (folder / _MADE).read_text(encoding="utf-8").split() if (folder / _MADE).exists() else ()
    for empty in (each for each in (_SHIM_SOCKETS, _SHIM_SOCKETS.parent) if str(each) in made):
        with suppress(OSError):  # missing, or in use by another containerd
            empty.rmdir()


def start_cleanup_process(module: str = __name__) -> None:
    """Start the cleanup process of this process, as `python -m MODULE PID STARTTIME`; it ends soon after this process."""
    pid = os.getpid()
    no_streams = [
        (os.POSIX_SPAWN_OPEN, descriptor, os.devnull, flags, 0)
        for descriptor, flags in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY))
    ]
    argv = [sys.executable, "-m", module, str(pid), str(start_time(pid))]
    os.posix_spawn(sys.executable, argv, os.environ, file_actions=no_streams, setsid=True)


def wait_for_exit(arguments: Sequence[str]) -> None:
    """Wait until the process of the arguments `PID STARTTIME` has ended."""
    pid, started = (int(each) for each in arguments)
    while start_time(pid) == started:
        time.sleep(_POLL_SECONDS)


if __name__ == "__main__":
    wait_for_exit(sys.argv[1:])
    sweep()
