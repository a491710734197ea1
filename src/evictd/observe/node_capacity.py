"""Reads capacity and availability behind each signal without a daemon, to turn percentages into amounts (`check`, `explain`).

All paths are below a `root` parameter, so that a container can read its host's mounts. Capacities that cannot be read are absent.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from evictd.config.lint import low_watermark_pages
from evictd.config.settings import Settings
from evictd.core.eviction.reclaim import Layout, layout_of
from evictd.core.model.observation import Filesystems, signal_observations
from evictd.core.model.signal import OWN_SIGNALS, Signal
from evictd.core.units.quantity import Quantity, of_bytes, of_count
from evictd.errors import EvictdError
from evictd.observe.cgroups.memory import parse_meminfo
from evictd.observe.cgroups.unallocatable import unallocatable_bytes
from evictd.observe.live import LiveNode

_NUMBER = re.compile(r"[0-9]{1,20}")
"""Digits of a number of 64 bits; `int()` raises `ValueError` above 4,300 digits."""
_STORES = ("var/lib/containerd", "var/lib/containers/storage", "var/lib/rancher/k3s/agent/containerd")

_RESERVED_PIDS = 300


def read_capacities(settings: Settings, root: Path) -> dict[Signal, Quantity]:
    """Return the capacity of each signal that can be read (spec 3.1), in bytes or counts."""
    capacities = _memory(settings, root) | _pids(root)
    kubelet_dir = below(root, settings.root_dir)
    capacities |= _filesystem(kubelet_dir, root, Signal.NODEFS_AVAILABLE, Signal.NODEFS_INODES_FREE)
    store = image_store(settings, root) or kubelet_dir
    return capacities | _filesystem(store, root, Signal.IMAGEFS_AVAILABLE, Signal.IMAGEFS_INODES_FREE)


def read_available(settings: Settings, root: Path) -> dict[Signal, Quantity]:
    """Return what is available of each signal now, as the daemon reads it; filesystems from `statfs`, without the runtime."""
    kubelet_dir = below(root, settings.root_dir)
    store = image_store(settings, root) or kubelet_dir
    available = _available(kubelet_dir, root, Signal.NODEFS_AVAILABLE, Signal.NODEFS_INODES_FREE)
    available |= _available(store, root, Signal.IMAGEFS_AVAILABLE, Signal.IMAGEFS_INODES_FREE)
    try:
        with LiveNode(settings, proc=root / "proc", cgroup=root / "sys/fs/cgroup") as node:
            stats = node.read_node()
    except EvictdError:  # without a cgroup hierarchy
        return available
    read = {} if stats is None else signal_observations(stats)
    kept = (Signal.MEMORY_AVAILABLE, Signal.ALLOCATABLE_MEMORY_AVAILABLE, Signal.PID_AVAILABLE, *OWN_SIGNALS)
    return available | {signal: read[signal].available for signal in kept if signal in read}


def _available(path: Path, root: Path, space: Signal, inodes: Signal) -> dict[Signal, Quantity]:
    stat = _statvfs(path, root)
    if stat is None:
        return {}
    available = {space: of_bytes(stat.f_frsize * stat.f_bavail)} if stat.f_blocks else {}
    return available | ({inodes: of_count(stat.f_ffree)} if stat.f_files else {})


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
    """Return the existing default image store of containerd, CRI-O or k3s; a guess, since the runtime is not called."""
    stores = [root / store for store in _STORES if (root / store).is_dir()]
    if "crio" in settings.image_service_endpoint:
        stores.reverse()
    return stores[0] if stores else None


def dedicated_image_fs(settings: Settings, root: Path) -> bool:
    """Whether images are on another device than the kubelet's directory; `False` where that cannot be read."""
    store = image_store(settings, root)
    try:
        return (
            store is not None and _existing(below(root, settings.root_dir), root).stat().st_dev != store.stat().st_dev
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
        reserved = [amounts.get("memory") for amounts in (settings.kube_reserved, settings.system_reserved)]
        allocatable = total - sum(amount.value() for amount in reserved if amount is not None)
        found[Signal.MEMORY_AVAILABLE] = of_bytes(total)
        found[Signal.ALLOCATABLE_MEMORY_AVAILABLE] = of_bytes(max(allocatable, 0))
    return found


def _pids(root: Path) -> dict[Signal, Quantity]:
    texts = (_text(root / "proc/sys/kernel" / name).strip() for name in ("pid_max", "threads-max"))
    limits = [int(text) for text in texts if _NUMBER.fullmatch(text)]
    return {Signal.PID_AVAILABLE: of_count(min(limits))} if limits else {}


def _filesystem(path: Path, root: Path, space: Signal, inodes: Signal) -> dict[Signal, Quantity]:
    stat = _statvfs(path, root)
    if stat is None:
        return {}
    capacities = {space: of_bytes(stat.f_frsize * stat.f_blocks)} if stat.f_blocks else {}
    return capacities | ({inodes: of_count(stat.f_files)} if stat.f_files else {})


def _statvfs(path: Path, root: Path) -> os.statvfs_result | None:
    try:
        return os.statvfs(_existing(path, root))
    except OSError:
        return None


def _existing(path: Path, root: Path) -> Path:
    """Return the nearest existing path at or above `path`, not above `root`: it is on the same filesystem."""
    within = (one for one in (path, *path.parents) if one.is_relative_to(root))
    return next((one for one in within if one.exists()), root)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
