"""Reads capacity and availability behind each signal without a daemon, to turn percentages into amounts (`check`).

The daemon's reader of the node reads them, without the pods and the runtime: a default image store stands for where the runtime
has its images. All paths are below a `root` parameter, so that a container can read its host's mounts.
"""

import os
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from evictd.clients.cri.values import FilesystemUsage, ImageFsInfo
from evictd.clock import boot_clock
from evictd.config.lint_model import OomdKill
from evictd.config.settings import Settings
from evictd.core.eviction.reclaim import Layout, layout_of
from evictd.core.frozen import frozen
from evictd.core.model.config import MemoryFormula, stall_signals
from evictd.core.model.observation import Filesystems, Observation, signal_observations
from evictd.core.model.signal import Signal
from evictd.core.units.quantity import Quantity, of_bytes, of_count
from evictd.errors import NodeError
from evictd.observe.cgroups.cgroup import CgroupDriver, pods_cgroup
from evictd.observe.cgroups.kernel_text import low_watermark_pages
from evictd.observe.oomd import oomd_kills
from evictd.observe.reading.node_stats import NodeStatsReader, observe_options
from evictd.observe.reading.roots import Roots, existing, missing_root_dir
from evictd.observe.runtime.runtime_view import RuntimeView

_STORES = ("var/lib/containerd", "var/lib/containers/storage", "var/lib/rancher/k3s/agent/containerd")

_RESERVED_PIDS = 300


@frozen
class NodeAmounts:
    """The capacity of each signal, and what is available of it now, in bytes or counts; unreadable ones are absent."""

    capacities: Mapping[Signal, Quantity] = field(default_factory=dict)
    available: Mapping[Signal, Quantity] = field(default_factory=dict)
    filesystems: Filesystems = field(default_factory=Filesystems)
    unallocatable_bytes: int | None = None
    """Bytes that the memory formula counts as available although processes cannot allocate them; `None` where that is unknown."""
    formula: MemoryFormula = MemoryFormula.WORKING_SET
    """The formula of `memory.available` that is used on this node."""
    oomd: tuple[OomdKill, ...] = ()
    """The slices with pods in which systemd-oomd may kill."""
    without_root_dir: str = ""
    """Which directory stands for a `rootDir` that does not exist; empty where it does."""
    problem: str = ""
    """Why nothing could be read."""


def read_amounts(settings: Settings, root: Path) -> NodeAmounts:
    """Read the node's signals as the daemon does, without its pods and the runtime; where images are is a guess."""
    root_dir = below(root, settings.evictd.root_dir)
    kubelet_dir = existing(root_dir, root).absolute()
    roots = Roots(proc=root / "proc", cgroup=root / "sys/fs/cgroup", kubelet_dir=kubelet_dir, top=root)
    store = image_store(settings, root) or kubelet_dir
    try:
        with NodeStatsReader(roots, observe_options(settings, ""), clock=boot_clock) as reader:
            seen = reader.observe((), _images_in(store.absolute()), stalls=stall_signals(settings.eviction))
            formula = reader.memory_formula
            pods = reader.kubepods.path or pods_cgroup(CgroupDriver.SYSTEMD, settings.kubelet.parent_cgroup)
    except NodeError as error:
        return NodeAmounts(problem=str(error))
    known = seen.filesystems.dedicated_image_fs is not None
    return NodeAmounts(
        capacities=_capacities(settings, seen),
        available={}
        if seen.node is None
        else {at: one.available for at, one in signal_observations(seen.node).items()},
        filesystems=seen.filesystems if known else Filesystems(),
        unallocatable_bytes=None
        if seen.node is None or seen.node.gauges is None
        else seen.node.gauges.unallocatable_bytes,
        formula=formula,
        oomd=oomd_kills(roots, pods),
        without_root_dir=missing_root_dir(root_dir.absolute(), kubelet_dir),
    )


def _images_in(store: Path) -> RuntimeView:
    """Return the listing of a runtime that has no pods and its images in `store`."""
    images = FilesystemUsage(time=boot_clock(), mountpoint=str(store), used_bytes=None, inodes_used=None)
    info = ImageFsInfo(image_filesystems=(images,), container_filesystems=())
    return RuntimeView(time=boot_clock(), sandboxes=(), containers=(), image_fs=info)


def _capacities(settings: Settings, seen: Observation) -> dict[Signal, Quantity]:
    """Return the capacities, also of a signal whose available amount cannot be read.

    The capacity of the pods' memory is what the configuration's reservations leave: the kubelet may not have set that limit yet.
    """
    if seen.node is None:
        return {}
    found = {signal: one.capacity for signal, one in signal_observations(seen.node).items()}
    memory = seen.memory_capacity
    if memory is not None:
        reserved = sum(amount.value() for amount in settings.kubelet.reserved_memory)
        found[Signal.MEMORY_AVAILABLE] = of_bytes(memory)
        found[Signal.ALLOCATABLE_MEMORY_AVAILABLE] = of_bytes(max(memory - reserved, 0))
    if seen.node.rlimit is not None and seen.node.rlimit.max_pid is not None:
        found[Signal.PID_AVAILABLE] = of_count(seen.node.rlimit.max_pid)
    return found


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


def below(root: Path, path: Path) -> Path:
    """Return the path below `root` of an absolute path of the node."""
    return root / path.relative_to("/") if path.is_absolute() else root / path


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
