"""How much there is of everything on this node, for turning percentages into amounts without a daemon.

Reads below a root that is handed in, so that a container can look at its host's mounts. What cannot be read is left out.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from evictd.config.lint import low_watermark_pages
from evictd.config.settings import Settings
from evictd.core.observation import Filesystems
from evictd.core.quantity import Quantity, of_bytes, of_count
from evictd.core.reclaim import Layout, layout_of
from evictd.core.signal import Signal

_STORES = ("var/lib/containerd", "var/lib/containers/storage", "var/lib/rancher/k3s/agent/containerd")


def read_capacities(settings: Settings, root: Path) -> dict[Signal, Quantity]:
    """Give the capacity behind each signal that can be read (spec 3.1)."""
    capacities = _memory(settings, root) | _pids(root)
    kubelet_dir = below(root, settings.root_dir)
    capacities |= _filesystem(kubelet_dir, root, Signal.NODEFS_AVAILABLE, Signal.NODEFS_INODES_FREE)
    store = image_store(settings, root) or kubelet_dir
    return capacities | _filesystem(store, root, Signal.IMAGEFS_AVAILABLE, Signal.IMAGEFS_INODES_FREE)


def container_fs_capacities(capacities: Mapping[Signal, Quantity], filesystems: Filesystems) -> dict[Signal, Quantity]:
    """Give containerfs the capacity of the filesystem that the writable layers lie on."""
    on_image_fs = layout_of(filesystems) is Layout.DEDICATED
    sources = {
        Signal.CONTAINERFS_AVAILABLE: Signal.IMAGEFS_AVAILABLE if on_image_fs else Signal.NODEFS_AVAILABLE,
        Signal.CONTAINERFS_INODES_FREE: Signal.IMAGEFS_INODES_FREE if on_image_fs else Signal.NODEFS_INODES_FREE,
    }
    return {signal: capacities[source] for signal, source in sources.items() if source in capacities}


def read_low_watermark(root: Path) -> int | None:
    """Give the kernel's low watermark in bytes, all zones together."""
    pages = low_watermark_pages(_text(root / "proc/zoneinfo"))
    return None if pages is None else pages * os.sysconf("SC_PAGE_SIZE")


def image_store(settings: Settings, root: Path) -> Path | None:
    """Guess where the runtime keeps images, as far as that can be told without asking it."""
    stores = [root / store for store in _STORES if (root / store).is_dir()]
    if "crio" in settings.image_service_endpoint:
        stores.reverse()
    return stores[0] if stores else None


def dedicated_image_fs(settings: Settings, root: Path) -> bool:
    """Whether images lie on another device than the pods' directories; `False` where it cannot be told."""
    store = image_store(settings, root)
    try:
        return (
            store is not None and _existing(below(root, settings.root_dir), root).stat().st_dev != store.stat().st_dev
        )
    except OSError:
        return False


def below(root: Path, path: Path) -> Path:
    """Give an absolute path of the node as it is seen below `root`."""
    return root / path.relative_to("/") if path.is_absolute() else root / path


def _memory(settings: Settings, root: Path) -> dict[Signal, Quantity]:
    for line in _text(root / "proc/meminfo").splitlines():
        name, _, rest = line.partition(":")
        fields = rest.split()
        if name == "MemTotal" and fields and fields[0].isdigit():
            total = int(fields[0]) * 1024
            reserved = [amounts.get("memory") for amounts in (settings.kube_reserved, settings.system_reserved)]
            allocatable = total - sum(amount.value() for amount in reserved if amount is not None)
            return {
                Signal.MEMORY_AVAILABLE: of_bytes(total),
                Signal.ALLOCATABLE_MEMORY_AVAILABLE: of_bytes(max(allocatable, 0)),
            }
    return {}


def _pids(root: Path) -> dict[Signal, Quantity]:
    texts = (_text(root / "proc/sys/kernel" / name).strip() for name in ("pid_max", "threads-max"))
    limits = [int(text) for text in texts if text.isdigit()]
    return {Signal.PID_AVAILABLE: of_count(min(limits))} if limits else {}


def _filesystem(path: Path, root: Path, space: Signal, inodes: Signal) -> dict[Signal, Quantity]:
    try:
        stat = os.statvfs(_existing(path, root))
    except OSError:
        return {}
    capacities = {space: of_bytes(stat.f_frsize * stat.f_blocks)} if stat.f_blocks else {}
    return capacities | ({inodes: of_count(stat.f_files)} if stat.f_files else {})


def _existing(path: Path, root: Path) -> Path:
    """Give the nearest parent that exists, not above the root: the filesystem that would hold it."""
    within = (one for one in (path, *path.parents) if one.is_relative_to(root))
    return next((one for one in within if one.exists()), root)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
