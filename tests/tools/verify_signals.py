"""`python -m tests.tools.verify_signals`: what evictd reads on this machine, side by side with what other programs read.

memory.available against the computation that the Kubernetes documentation gives as a shell script, filesystems against `df`,
trees against GNU `du`. Exit status 1 if any pair differs by more than the drift between two readings.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evictd.core.model.observation import signal_observations
from evictd.core.model.signal import Signal
from evictd.core.model.stats import DiskUsage, FsStats
from evictd.observe.reading.node_stats import NodeStatsReader, ObserveOptions
from evictd.observe.reading.roots import Roots
from evictd.observe.untrusted_paths import OPEN_DIRECTORY
from tests.tree_usage import measure
from tests.trees import HOSTILE_NAMES, Fifo, Hard, Link, Sparse, Tree, plant

MEMORY_DRIFT = 32 << 20
"""What a busy node moves between two readings, and more than the processes that do the reading weigh."""
DISK_DRIFT = 64 << 20
INODE_DRIFT = 2000
ATTEMPTS = 20

# The documented computation: capacity from meminfo, usage and inactive file from the root cgroup.
_MEMORY_V1 = (
    "FILENAME ~ /meminfo/ && /^MemTotal/ {total = $2 * 1024} FILENAME ~ /usage_in_bytes/ {usage = $1} "
    "/^total_inactive_file/ {inactive = $2} "
    'END {working = usage - inactive; if (working < 0) working = 0; printf "%.0f", total - working}'
)
_MEMORY_V2 = (
    "FILENAME ~ /meminfo/ && /^MemTotal/ {total = $2 * 1024} FILENAME !~ /meminfo/ && /^(anon|file) / {usage += $2} "
    "/^inactive_file/ {inactive = $2} "
    'END {working = usage - inactive; if (working < 0) working = 0; printf "%.0f", total - working}'
)


class Table:
    """Rows of a name, our value and theirs."""

    def __init__(self) -> None:
        self.mismatches = 0

    def row(self, name: str, ours: int | None, theirs: int, drift: int = 0) -> bool:
        """Print one pair; gives whether it agrees."""
        agrees = ours is not None and abs(ours - theirs) <= drift
        self.mismatches += not agrees
        shown = "absent" if ours is None else f"{ours:,}"
        verdict = "same" if ours == theirs else "within drift" if agrees else "DIFFERENT"
        print(f"{name:<44} {shown:>20} {theirs:>20,}   {verdict}", flush=True)
        return agrees


def ask(*command: str) -> str:
    """Run a tool without a shell."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, errors="surrogateescape").stdout


def documented_memory_available() -> int:
    """Compute memory.available as the documentation does."""
    memory = Path("/sys/fs/cgroup/memory")
    if memory.is_dir():
        files = ["/proc/meminfo", f"{memory}/memory.usage_in_bytes", f"{memory}/memory.stat"]
        return int(ask("awk", _MEMORY_V1, *files))
    return int(ask("awk", _MEMORY_V2, "/proc/meminfo", "/sys/fs/cgroup/memory.stat"))


def df(path: Path) -> list[int]:
    """Return available and total bytes, then free and total inodes."""
    options = ("--output=avail,size", "--block-size=1"), ("--output=iavail,itotal",)
    return [int(word) for option in options for word in ask("df", *option, str(path)).splitlines()[1].split()]


def verify_node(table: Table, folder: Path) -> None:
    """Compare the node's signals; a pair that differs is read again, since a busy node moves in between."""
    roots = Roots(kubelet_dir=folder)
    with NodeStatsReader(roots, ObserveOptions(), clock=lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME)) as node:
        observed, memory, theirs = None, None, 0
        for _ in range(ATTEMPTS):
            observed = node.observe().node
            memory = observed.memory.available_bytes if observed is not None and observed.memory is not None else None
            theirs = documented_memory_available()
            if memory is not None and abs(memory - theirs) <= MEMORY_DRIFT:
                break
        table.row("memory.available", memory, theirs, MEMORY_DRIFT)
        assert observed is not None
        pids = signal_observations(observed).get(Signal.PID_AVAILABLE)
        most = min(int(Path(f"/proc/sys/kernel/{name}").read_text()) for name in ("pid_max", "threads-max"))
        tasks = int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2])
        table.row("pid.available", None if pids is None else pids.available.value(), most - tasks, 200)
        print(f"{'cgroup hierarchy':<44} {node.cgroups.version:>20}")


def verify_filesystem(table: Table, name: str, path: Path, stats: FsStats | None) -> None:
    """Compare one filesystem with `df`."""
    available, size, inodes_free, inodes = df(path)
    table.row(f"{name}.available", stats.available_bytes if stats else None, available, DISK_DRIFT)
    table.row(f"{name} capacity", stats.capacity_bytes if stats else None, size)
    table.row(f"{name}.inodesFree", stats.inodes_free if stats else None, inodes_free, INODE_DRIFT)
    table.row(f"{name} inodes", stats.inodes if stats else None, inodes)


def verify_filesystems(table: Table, folder: Path) -> None:
    """Compare nodefs, and an imagefs of its own, as a runtime would tell of it."""
    from evictd.clients.cri.values import FilesystemUsage, ImageFsInfo
    from evictd.observe.runtime.runtime_view import RuntimeView

    images = Path("/dev/shm")
    told = FilesystemUsage(time=1, mountpoint=str(images), used_bytes=0, inodes_used=0)
    info = ImageFsInfo(image_filesystems=(told,), container_filesystems=())
    view = RuntimeView(time=1, sandboxes=(), containers=(), image_fs=info)
    with NodeStatsReader(Roots(kubelet_dir=folder), ObserveOptions(), clock=lambda: 1) as node:
        found = node.observe(runtime=view).node
        verify_filesystem(table, "nodefs", folder, found.fs if found else None)
        verify_filesystem(table, "imagefs", images, found.image_fs if found else None)


TREES: dict[str, Tree] = {
    "hard links": {
        "a": "x" * 5000,
        **{f"l{number}": Hard("a") for number in range(50)},
        "d": {"m": Hard("a"), "n": ""},
    },
    "sparse files": {"hole": Sparse(1 << 34), "part": "x" * 5000},
    "names that are not UTF-8": {name: {name: "x"} for name in HOSTILE_NAMES},
    "pipes and links": {"fifo": Fifo(), "out": Link("/usr"), "loop": Link("."), "file": "x"},
}


def verify_trees(table: Table, folder: Path) -> None:
    """Compare trees with `du`."""
    for number, (name, tree) in enumerate(TREES.items()):
        verify_tree(table, name, plant(folder / str(number), tree))
    with deep(folder / "deep", 1500) as top:
        verify_tree(table, "1,500 levels deep", top)
    many = folder / "many"
    make_many(many, 100_000)
    verify_tree(table, "100,000 files", many)


def verify_tree(table: Table, name: str, top: Path) -> None:
    """Compare one tree."""
    fd = os.open(top, OPEN_DIRECTORY)
    try:
        ours: DiskUsage = measure(fd)
    finally:
        os.close(fd)
    table.row(
        f"disk usage: {name}: bytes", ours.used_bytes, int(ask("du", "-sx", "--block-size=1", str(top)).split()[0])
    )
    table.row(f"disk usage: {name}: inodes", ours.inodes_used, int(ask("du", "-sx", "--inodes", str(top)).split()[0]))


@contextmanager
def deep(top: Path, depth: int) -> Iterator[Path]:
    """Make folders within folders, far beyond the length of a path; removed by descriptors too."""
    top.mkdir()
    name, current = "d" * 40, os.open(top, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=current)
        current, above = os.open(name, os.O_RDONLY, dir_fd=current), current
        os.close(above)
    try:
        yield top
    finally:
        for _ in range(depth):
            current, below = os.open("..", os.O_RDONLY, dir_fd=current), current
            os.close(below)
            os.rmdir(name, dir_fd=current)
        os.close(current)


def make_many(top: Path, files: int) -> None:
    """Make so many small files of different sizes in folders of different widths."""
    choose, made = random.Random(1), 0
    while made < files:
        folder = top / str(made)
        folder.mkdir(parents=True)
        fd = os.open(folder, os.O_RDONLY)
        for number in range(min(choose.randrange(1, 5000), files - made)):
            file = os.open(str(number), os.O_CREAT | os.O_WRONLY, dir_fd=fd)
            if number % 100 == 0:
                os.write(file, b"x" * choose.randrange(20_000))
            os.close(file)
            made += 1
        os.close(fd)


def main() -> int:
    """Verify everything; the exit status."""
    print(f"{'':<44} {'evictd':>20} {'the others':>20}")
    table = Table()
    with tempfile.TemporaryDirectory(prefix="evictd-verify-") as name:
        folder = Path(name)
        verify_node(table, folder)
        verify_filesystems(table, folder)
        verify_trees(table, folder)
    print("all agree" if not table.mismatches else f"{table.mismatches} differ")
    return int(table.mismatches > 0)


if __name__ == "__main__":
    sys.exit(main())
