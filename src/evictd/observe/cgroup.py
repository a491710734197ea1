"""Which cgroups are there, and what do they hold?

One reader for both versions. Which one holds the memory controller is found out from the tree itself: the unified tree, the
old tree of one folder per controller, or both side by side, where the unified one may be empty. `cgroup_v1` and `cgroup_v2`
know the files; this module knows the names that the kubelet gives to pods' cgroups under either driver (spec 9.3).
"""

from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from evictd.core.stats import PressureStall
from evictd.errors import NodeError
from evictd.observe.cgroup_v1 import CgroupV1
from evictd.observe.cgroup_v2 import CgroupV2
from evictd.observe.kept_files import KeptFiles

NO_LIMIT = 1 << 62
"""A limit above it is none (spec 3.2): `max`, or what version 1 shows in its stead."""

_RUNTIME_PREFIXES = ("cri-containerd", "crio")


class CgroupDriver(Enum):
    """Who makes the pods' cgroups; it shows in their names."""

    SYSTEMD = "systemd"
    CGROUPFS = "cgroupfs"


class CgroupReader(Protocol):
    """A hierarchy that can be asked. Paths are absolute within it; every call raises `NodeError` where it cannot tell."""

    @property
    def version(self) -> str:
        """`v1`, `v1 (hybrid)` or `v2`."""

    def usage(self, path: str) -> int:
        """Memory charged to the cgroup, in bytes; of the root as the kubelet takes it."""

    def working_set(self, path: str) -> tuple[int, int]:
        """Usage, and usage without inactive file cache."""

    def limit(self, path: str) -> int | None:
        """The memory limit in bytes; `None` where there is none."""

    def pids_current(self, path: str) -> int:
        """How many tasks (threads) are in the cgroup and below."""

    def pressure(self, path: str) -> dict[str, PressureStall]:
        """Memory PSI of the cgroup."""

    def exists(self, path: str) -> bool:
        """Whether there is such a cgroup."""


def find_hierarchy(root: Path, files: KeptFiles) -> CgroupReader:
    """Find the tree that accounts for memory below a mount point such as /sys/fs/cgroup; raises `NodeError` if none does."""
    if (root / "cgroup.controllers").is_file():
        return CgroupV2(root, files)
    if (root / "memory").is_dir():
        unified = root / "unified"
        return CgroupV1(root, files, unified=unified if unified.is_dir() else None)
    if _has_memory(root / "unified/cgroup.controllers"):
        return CgroupV2(root / "unified", files)
    raise NodeError(f"{root}: no cgroup hierarchy with the memory controller")


def _has_memory(controllers: Path) -> bool:
    try:
        return "memory" in controllers.read_text().split()
    except OSError:
        return False


def pods_cgroup(driver: CgroupDriver, cgroup_root: str = "/") -> str:
    """Name the cgroup of all pods: `/kubepods`, or `/kubepods.slice`, below `cgroupRoot`.

    A `-` nests slices, so one in a name becomes a `_` (kubelet `escapeSystemdCgroupName`).
    """
    parts = [part for part in cgroup_root.split("/") if part] + ["kubepods"]
    if driver is CgroupDriver.CGROUPFS:
        return "/" + "/".join(parts)
    return slice_path("-".join(part.replace("-", "_") for part in parts) + ".slice")


def find_pods_cgroup(reader: CgroupReader, cgroup_root: str = "/") -> str | None:
    """Give the cgroup of all pods if either driver has made one, the systemd driver's first."""
    names = (pods_cgroup(driver, cgroup_root) for driver in CgroupDriver)
    return next((name for name in names if reader.exists(name)), None)


def slice_path(name: str) -> str:
    """Unfold the name of a systemd slice: `a-b.slice` lies in `/a.slice`."""
    parts = name.removesuffix(".slice").split("-")
    return "".join(f"/{'-'.join(parts[:depth])}.slice" for depth in range(1, len(parts) + 1))


def pod_cgroup(pods: str, uid: str, qos: str) -> str:
    """Name a pod's cgroup below that of all pods; `qos` is `burstable`, `besteffort`, or empty for Guaranteed."""
    if pods.endswith(".slice"):
        stem = pods.rpartition("/")[2].removesuffix(".slice")
        grade = f"{stem}-{qos}" if qos else stem
        parent = f"{pods}/{grade}.slice" if qos else pods
        return f"{parent}/{grade}-pod{uid.replace('-', '_')}.slice"
    return f"{pods}/{qos}/pod{uid}" if qos else f"{pods}/pod{uid}"


def container_cgroups(pod: str, container_id: str) -> tuple[str, ...]:
    """List the names that a container's cgroup may have below its pod's, the likeliest first."""
    if pod.endswith(".slice"):
        return tuple(f"{pod}/{prefix}-{container_id}.scope" for prefix in _RUNTIME_PREFIXES)
    return (f"{pod}/{container_id}", f"{pod}/crio-{container_id}")


def is_safe_name(name: str) -> bool:
    """Whether a text from outside may be one step of a path."""
    return bool(name) and name not in {".", ".."} and "/" not in name and "\0" not in name


@lru_cache(maxsize=4096)
def is_safe_path(path: str) -> bool:
    """Whether a text from outside may be the path of a cgroup: absolute, and nowhere upwards."""
    return path.startswith("/") and all(is_safe_name(part) for part in path[1:].split("/"))
