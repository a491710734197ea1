"""Creates small file trees in one expression: `plant(tmp_path, {"file": "text", "folder": {...}})`, and cgroup trees.

Names may be invalid UTF-8 (as surrogates), and leaves may be anything that a hostile pod puts into its volume.
"""

import os
import socket
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Link:
    """A symlink to this target."""

    target: str


@dataclass(frozen=True)
class Hard:
    """A hard link to a file planted before, by its path from the top."""

    of: str


@dataclass(frozen=True)
class Sparse:
    """A sparse file of this size."""

    size: int


class Fifo:
    """A named pipe: opening it blocks."""


class Socket:
    """A unix socket."""


@dataclass(frozen=True)
class Device:
    """A character device node."""

    major: int
    minor: int


Leaf = str | bytes | Link | Hard | Sparse | Fifo | Socket | Device
Tree = Mapping[str, "Leaf | Tree"]

HOSTILE_NAMES = (os.fsdecode(b"\xff\xfe"), "new\nline", "-rf", " ", "*", "\u202egpj", "$(reboot)", "x" * 255)


def plant(base: Path, tree: Tree) -> Path:
    """Create the tree below a directory, which is created too, and return the directory."""
    _plant(base, base, tree)
    return base


def _plant(top: Path, folder: Path, tree: Tree) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, leaf in tree.items():
        path = folder / name
        if isinstance(leaf, Mapping):
            _plant(top, path, leaf)
        else:
            _leaf(top, path, leaf)


def _leaf(top: Path, path: Path, leaf: Leaf) -> None:
    match leaf:
        case str() | bytes():
            path.write_bytes(leaf if isinstance(leaf, bytes) else leaf.encode())
        case Link():
            path.symlink_to(leaf.target)
        case Hard():
            path.hardlink_to(top / leaf.of)
        case Sparse():
            path.touch()
            os.truncate(path, leaf.size)
        case Fifo():
            os.mkfifo(path)
        case Socket():
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(str(path))
        case Device():
            os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(leaf.major, leaf.minor))


# --- cgroups ----------------------------------------------------------------------------------------------------------


FILE_PAGES = 30
"""Bytes of clean active file pages in each cgroup."""


def v2(
    current: int | None = None,
    *,
    inactive: int = 0,
    anon: int = 0,
    file: int = 0,
    limit: str = "max",
    pids: int = 1,
    below: Tree | None = None,
) -> Tree:
    """Make a cgroup of version 2; without `current` it is a root."""
    files: dict[str, Leaf | Tree] = {
        "cgroup.controllers": "cpuset cpu io memory pids\n",
        "memory.stat": f"anon {anon}\nfile {file}\nkernel 5\ninactive_anon 7\ninactive_file {inactive}\n"
        f"active_file {FILE_PAGES + 1}\nfile_dirty 1\nfile_writeback 0\n",
        "memory.pressure": PSI,
        **(below or {}),
    }
    if current is not None:
        files |= {"memory.current": f"{current}\n", "memory.max": f"{limit}\n", "pids.current": f"{pids}\n"}
    return files


def v1_memory(usage: int, *, inactive: int = 0, limit: int = 9223372036854771712, below: Tree | None = None) -> Tree:
    """Make a cgroup in the memory tree of version 1."""
    return {
        "memory.usage_in_bytes": f"{usage}\n",
        "memory.limit_in_bytes": f"{limit}\n",
        "memory.stat": f"cache 1\nrss 2\ninactive_file 999\ntotal_cache 5\ntotal_inactive_file {inactive}\n"
        f"total_active_file {FILE_PAGES + 1}\ntotal_dirty 1\ntotal_writeback 0\n",
        **(below or {}),
    }


PSI = "some avg10=1.50 avg60=0.25 avg300=0.00 total=12345\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=678\n"

MEMINFO = """\
MemTotal:       16000000 kB
MemFree:         1000000 kB
MemAvailable:    9000000 kB
SwapTotal:       2000000 kB
SwapFree:        1500000 kB
HugePages_Total:       8
HugePages_Free:        8
Hugepagesize:       2048 kB
Hugetlb:           16384 kB
"""

MOUNTINFO = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"

PROC: Tree = {
    "meminfo": MEMINFO,
    "loadavg": "0.10 0.20 0.30 2/345 6789\n",
    "pressure": {"memory": PSI},
    "sys": {"kernel": {"pid_max": "32768\n", "threads-max": "100000\n"}},
    "self": {"mountinfo": MOUNTINFO},
}


def v2_node(*, systemd: bool) -> Tree:
    """Make the cgroups of a node with a burstable pod `a-b` and its container `c1`, under either driver."""
    container = v2(60, inactive=10, pids=3)
    pod = v2(100, inactive=20, pids=4, below={"cri-containerd-c1.scope" if systemd else "c1": container})
    burstable = v2(150, below={"kubepods-burstable-poda_b.slice" if systemd else "poda-b": pod})
    grade = {"kubepods-burstable.slice" if systemd else "burstable": burstable}
    pods = v2(5000, inactive=1000, limit="9000", pids=40, below=grade)
    return v2(
        anon=3_000_000_000,
        file=2_000_000_000,
        inactive=1_000_000_000,
        below={"kubepods.slice" if systemd else "kubepods": pods},
    )


def v1_node() -> Tree:
    """Make the same node with version 1 and the cgroupfs driver."""
    pod = v1_memory(100, inactive=20, below={"c1": v1_memory(60, inactive=10)})
    pods = v1_memory(5000, inactive=1000, limit=9000, below={"burstable": v1_memory(150, below={"poda-b": pod})})
    return {
        "memory": v1_memory(5_000_000_000, inactive=1_000_000_000, below={"kubepods": pods}),
        "pids": {"kubepods": {"burstable": {"poda-b": {"pids.current": "4\n"}}}},
    }
