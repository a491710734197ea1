"""Finds the cgroup hierarchy with the memory controller, and names the cgroups of pods and containers.

`find_hierarchy` looks at the tree itself: the unified tree (v2), one tree per controller (v1), or both side by side (hybrid),
where the unified tree may lack the memory controller. The names are those that the kubelet gives to pods' cgroups under either
cgroup driver (kubelet `cm.NewCgroupName`).
"""

import os
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from evictd.errors import NodeError
from evictd.observe.cgroups.cgroup_reader import CgroupReader, CgroupV1, CgroupV2
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache
from evictd.observe.reading.problems import Problems
from evictd.observe.untrusted_paths import is_safe_name, is_safe_path

NO_LIMIT = 1 << 62
"""Bytes. A larger value means "no limit": cgroup v1 shows the largest multiple of the page size below 2^63."""

_RUNTIME_PREFIXES = ("cri-containerd", "crio")


class CgroupDriver(Enum):
    """The kubelet's `cgroupDriver`, which decides the form of cgroup names: slices of systemd, or plain folders."""

    SYSTEMD = "systemd"
    CGROUPFS = "cgroupfs"


def find_hierarchy(root: Path, files: FileDescriptorCache) -> CgroupReader:
    """Find the hierarchy with the memory controller below a mount point such as /sys/fs/cgroup.

    Raises `NodeError` if there is none.
    """
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


def may_kill_pods(root: Path, cgroup_root: str = "/") -> bool | None:
    """Whether this process may write `cgroup.kill` of the pods below a mount point; `None` where the kernel has no such file."""
    files = (root / pods_cgroup(driver, cgroup_root).lstrip("/") / "cgroup.kill" for driver in CgroupDriver)
    found = [os.access(file, os.W_OK) for file in files if file.exists()]
    return any(found) if found else None


def pods_cgroup(driver: CgroupDriver, cgroup_root: str = "/") -> str:
    """Return the path of the cgroup of all pods below `cgroupRoot`: `kubepods` (cgroupfs) or `kubepods.slice` (systemd).

    In the name of a slice `-` separates levels, so the kubelet writes `_` for it (kubelet `escapeSystemdCgroupName`).
    """
    parts = [part for part in cgroup_root.split("/") if part] + ["kubepods"]
    if driver is CgroupDriver.CGROUPFS:
        return "/" + "/".join(parts)
    return slice_path("-".join(part.replace("-", "_") for part in parts) + ".slice")


def find_pods_cgroup(reader: CgroupReader, cgroup_root: str = "/") -> str | None:
    """Return the cgroup of all pods under either driver's name, systemd first; `None` if neither exists.

    Where both exist, as after a change of the driver, it is the first one with a pod.
    """
    names = [name for driver in CgroupDriver if reader.exists(name := pods_cgroup(driver, cgroup_root))]
    if len(names) > 1:
        names.sort(key=lambda name: not pod_uids(reader, name))
    return next(iter(names), None)


class PlacedPods(NamedTuple):
    """The place of the pods' cgroup."""

    cgroup: str
    """The cgroup of all pods."""
    root: str
    """The `cgroupRoot` that leads to it."""


def place_of(pod_cgroup: str) -> PlacedPods | None:
    """Read from the path of one pod's cgroup, as the runtime reports it, where all pods lie; `None` if not below a `kubepods`."""
    parts = [part for part in pod_cgroup.split("/") if part]
    for depth, part in enumerate(parts, start=1):
        if part == "kubepods":
            return PlacedPods("/" + "/".join(parts[:depth]), "/" + "/".join(parts[: depth - 1]))
        if part == "kubepods.slice" or part.endswith("-kubepods.slice"):
            above = part.removesuffix("kubepods.slice").rstrip("-")
            return PlacedPods("/" + "/".join(parts[:depth]), "/" + above.replace("-", "/"))
    return None


def slice_path(name: str) -> str:
    """Expand the name of a systemd slice to its path: `a-b.slice` becomes `/a.slice/a-b.slice`."""
    parts = name.removesuffix(".slice").split("-")
    return "".join(f"/{'-'.join(parts[:depth])}.slice" for depth in range(1, len(parts) + 1))


def pod_cgroup(pods: str, uid: str, qos: str) -> str:
    """Return the path of a pod's cgroup below that of all pods; `qos` is `burstable`, `besteffort`, or empty for Guaranteed."""
    if pods.endswith(".slice"):
        stem = pods.rpartition("/")[2].removesuffix(".slice")
        level = f"{stem}-{qos}" if qos else stem
        parent = f"{pods}/{level}.slice" if qos else pods
        return f"{parent}/{level}-pod{uid.replace('-', '_')}.slice"
    return f"{pods}/{qos}/pod{uid}" if qos else f"{pods}/pod{uid}"


def pod_cgroups(pods: str, uid: str) -> tuple[str, ...]:
    """List the names that a pod's cgroup may have below `pods`, one for each QoS class; none for an unsafe uid."""
    if not is_safe_name(uid):
        return ()
    return tuple(pod_cgroup(pods, uid, qos) for qos in ("burstable", "besteffort", ""))


def pod_uids(reader: CgroupReader, pods: str) -> tuple[str, ...]:
    """List the uids of the pods that have a cgroup below `pods`, from the names of `pod_cgroup`.

    A name that is no text, which only another program gives, could not be sent to the runtime.
    """
    classes = [
        name for name in reader.children(pods) if name.removesuffix(".slice").endswith(("burstable", "besteffort"))
    ]
    names = (name for level in (pods, *(f"{pods}/{each}" for each in classes)) for name in reader.children(level))
    return tuple(sorted({uid for name in names if (uid := _pod_uid(name)) is not None and uid.isprintable()}))


def _pod_uid(name: str) -> str | None:
    if name.endswith(".slice"):
        _, found, uid = name.removesuffix(".slice").rpartition("-pod")
        return uid.replace("_", "-") if found and uid else None
    return name.removeprefix("pod") if name.startswith("pod") and name != "pod" else None


def container_cgroups(pod: str, container_id: str) -> tuple[str, ...]:
    """List the paths that containerd and CRI-O may give a container's cgroup below its pod's, containerd first."""
    if pod.endswith(".slice"):
        return tuple(f"{pod}/{prefix}-{container_id}.scope" for prefix in _RUNTIME_PREFIXES)
    return (f"{pod}/{container_id}", f"{pod}/crio-{container_id}")


class PodsCgroup:
    """Finds the cgroup of all pods: under `cgroupRoot`, else where the runtime's sandboxes say that the pods are.

    `explicit` is its path where it has neither of the names that a kubelet gives.
    """

    def __init__(self, cgroups: CgroupReader, root: str, explicit: str | None = None) -> None:
        self._cgroups = cgroups
        self._root = root
        self._explicit = explicit
        self._placed: PlacedPods | None = None
        """The place that the runtime's sandboxes name."""
        self._elsewhere: PlacedPods | None = None
        """The cgroup below which all pods are, if `cgroupRoot` names another one."""
        self.path: str | None = None
        """The cgroup as last found; `None` if there was none."""

    @property
    def folder(self) -> Path | None:
        """The directory of the cgroup as found last."""
        return None if self.path is None else self._cgroups.folder(self.path)

    def note(self, reported: Iterable[str]) -> None:
        """Remember where the runtime reports the cgroups of pods."""
        self._placed = next(filter(None, map(place_of, reported)), self._placed)

    def find(self, problems: Problems) -> str | None:
        """Return the path of the cgroup; search it while there is none, and again after it was removed."""
        explicit = self._explicit
        if explicit is not None and not is_safe_path(explicit):
            problems.add("pods cgroup", f"unsafe path: {explicit!r}")
            return None
        if self.path is None or not self._cgroups.exists(self.path):
            found = find_pods_cgroup(self._cgroups, self._root) if explicit is None else explicit
            self._elsewhere = self._placed if found is None else None
            found = found if self._elsewhere is None else self._elsewhere.cgroup
            self.path = found if found is not None and self._cgroups.exists(found) else None
        if self.path is None:
            problems.add("pods cgroup", f"there is no {explicit or 'kubepods or kubepods.slice'}")
        elif self._elsewhere is not None:
            remedy = f"the runtime's pods are in {self._elsewhere.cgroup}: set cgroupRoot: {self._elsewhere.root}"
            problems.add("pods cgroup", f"there is no kubepods below cgroupRoot {self._root}; {remedy}")
        return self.path
