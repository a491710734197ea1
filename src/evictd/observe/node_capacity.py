"""Reads capacity and availability behind each signal without a daemon, to turn percentages into amounts (`check`).

The daemon's readers read it, but for its pods and the runtime. All paths are below a `root` parameter, so that a container can
read its host's mounts. Capacities that cannot be read are absent.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from evictd.clock import boot_clock
from evictd.config.settings import Settings
from evictd.core.eviction.reclaim import Layout, layout_of
from evictd.core.model.config import stall_signals
from evictd.core.model.observation import Filesystems, signal_observations
from evictd.core.model.signal import Signal
from evictd.core.model.stats import FsStats, NodeStats
from evictd.core.units.quantity import Quantity, of_bytes, of_count
from evictd.errors import EvictdError
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache
from evictd.observe.cgroups.memory import parse_meminfo
from evictd.observe.cgroups.process import rlimit
from evictd.observe.cgroups.unallocatable import low_watermark_pages, unallocatable_bytes
from evictd.observe.filesystems.filesystem import FilesystemReader
from evictd.observe.reading.node_stats import NodeStatsReader, observe_options
from evictd.observe.reading.problems import Problems
from evictd.observe.reading.roots import Roots, existing

_STORES = ("var/lib/containerd", "var/lib/containers/storage", "var/lib/rancher/k3s/agent/containerd")

_RESERVED_PIDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAmounts:
    """The capacity of each signal, and what is available of it now, in bytes or counts; unreadable ones are absent."""

    capacities: dict[Signal, Quantity]
    available: dict[Signal, Quantity]


def read_amounts(settings: Settings, root: Path) -> NodeAmounts:
    """Read the node's signals as the daemon does, without its pods and the runtime; where images are is a guess."""
    kubelet_dir = existing(below(root, settings.evictd.root_dir), root).absolute()
    roots = Roots(proc=root / "proc", cgroup=root / "sys/fs/cgroup", kubelet_dir=kubelet_dir)
    store = image_store(settings, root)
    fs = _filesystem(kubelet_dir)
    image_fs = fs if store is None else _filesystem(store.absolute())
    node = replace(_node(settings, roots), fs=fs, image_fs=image_fs)
    seen = signal_observations(node)
    pids = {} if node.rlimit is None or node.rlimit.max_pid is None else {Signal.PID_AVAILABLE: node.rlimit.max_pid}
    return NodeAmounts(
        capacities={
            **{signal: each.capacity for signal, each in seen.items()},
            **{signal: of_count(most) for signal, most in pids.items()},
            **_memory(settings, root),
        },
        available={signal: each.available for signal, each in seen.items()},
    )


def _node(settings: Settings, roots: Roots) -> NodeStats:
    """Read the node; of one without a cgroup hierarchy the limit of PIDs alone, as of a directory with some files of it."""
    try:
        with NodeStatsReader(roots, observe_options(settings, ""), clock=boot_clock) as reader:
            node = reader.observe(has_runtime=False, stalls=stall_signals(settings.eviction)).node
    except EvictdError:
        node = None
    if node is not None:
        return node
    files = FileDescriptorCache()
    try:
        return NodeStats(rlimit=rlimit(roots, files, boot_clock(), Problems()))
    finally:
        files.close()


def _filesystem(path: Path) -> FsStats | None:
    reader = FilesystemReader()
    try:
        return reader.read(path, "filesystem", boot_clock(), Problems())
    finally:
        reader.close()


def container_fs_capacities(capacities: Mapping[Signal, Quantity], filesystems: Filesystems) -> dict[Signal, Quantity]:
    """Return the capacities of containerfs: those of imagefs in the dedicated layout, else those of nodefs."""
    on_image_fs = layout_of(filesystems) is Layout.DEDICATED
    sources = {
        Signal.CONTAINERFS_AVAILABLE: Signal.IMAGEFS_AVAILABLE if on_image_fs else Signal.NODEFS_AVAILABLE,
        Signal.CONTAINERFS_INODES_FREE: Signal.IMAGEFS_INODES_FREE if on_image_fs else Signal.NODEFS_INODES_FREE,
    }
    return {signal: capacities[source] for signal, source in sources.items() if source in capacities}


def read_low_watermark(root: Path) -> int | None:
    """Return the sum of the low watermarks of all memory zones in bytes; `None` if it cannot be read."""
    pages = low_watermark_pages(_text(root / "proc/zoneinfo"))
    return None if pages is None else pages * os.sysconf("SC_PAGE_SIZE")


def read_unallocatable(root: Path) -> int | None:
    """Return the bytes that count as available memory although no process can have them; `None` if that cannot be read."""
    meminfo = parse_meminfo(_text(root / "proc/meminfo").encode())
    return unallocatable_bytes(meminfo, _text(root / "proc/zoneinfo"), os.sysconf("SC_PAGE_SIZE"))


def read_unusable_pids(root: Path) -> int | None:
    """Return how many PIDs count as available although no task can get them; `None` where that is unknown.

    After `pid_max` - 1 the kernel continues at 300 (kernel/pid.c `RESERVED_PIDS`), so only tasks started at boot have smaller
    PIDs. `threads-max` has no such reserve: where it is the smaller limit, all of it is usable.
    """
    limits = [_text(root / "proc/sys/kernel" / name).strip() for name in ("pid_max", "threads-max")]
    if not all(limit.isdigit() for limit in limits) or int(limits[1]) < int(limits[0]):
        return None
    first = [pid for pid in range(1, _RESERVED_PIDS) if (root / "proc" / str(pid)).is_dir()]
    if not first:
        return None  # /proc without processes: another pid namespace, or `hidepid`
    tasks = {task for pid in first for task in _names(root / "proc" / str(pid) / "task")}
    return _RESERVED_PIDS - sum(1 for task in tasks if task.isdigit() and int(task) < _RESERVED_PIDS)


def _names(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in folder.iterdir()]
    except OSError:
        return []


def image_store(settings: Settings, root: Path) -> Path | None:
    """Return the existing default image store of containerd, CRI-O or k3s; a guess, since the runtime is not called.

    One that this user may not look for counts as absent.
    """
    stores = [root / store for store in _STORES if _is_directory(root / store)]
    if "crio" in settings.kubelet.image_endpoint:
        stores.reverse()
    return stores[0] if stores else None


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def dedicated_image_fs(settings: Settings, root: Path) -> bool:
    """Whether images are on another device than the kubelet's directory; `False` where that cannot be read."""
    store = image_store(settings, root)
    try:
        return (
            store is not None
            and existing(below(root, settings.evictd.root_dir), root).stat().st_dev != store.stat().st_dev
        )
    except OSError:
        return False


def below(root: Path, path: Path) -> Path:
    """Return the path below `root` of an absolute path of the node."""
    return root / path.relative_to("/") if path.is_absolute() else root / path


def _memory(settings: Settings, root: Path) -> dict[Signal, Quantity]:
    meminfo = parse_meminfo(_text(root / "proc/meminfo").encode())
    total, swap = meminfo.get("MemTotal"), meminfo.get("SwapTotal")
    found = {Signal.SWAP_AVAILABLE: of_bytes(swap)} if swap else {}
    if total is not None:
        allocatable = total - sum(amount.value() for amount in settings.kubelet.reserved_memory)
        found[Signal.MEMORY_AVAILABLE] = of_bytes(total)
        found[Signal.ALLOCATABLE_MEMORY_AVAILABLE] = of_bytes(max(allocatable, 0))
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
