"""What was measured, in the core's words: one value per number of the kubelet's stats summary that a decision may look at.

A number that could not be read is `None`. Sizes are bytes, counts are counts, times are stamps in nanoseconds on whatever clock
the source has: they are only ever compared with earlier stamps of the same source (`thresholds_updated_stats`).
The wire form is the kubelet's stats/summary v1alpha1 (`codec.summary`).
"""

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryStats:
    """Memory of one cgroup, or of the node (summary `memory`)."""

    time: int | None = None
    available_bytes: int | None = None
    """May be negative: limit minus working set."""
    usage_bytes: int | None = None
    working_set_bytes: int | None = None
    """Usage minus inactive file cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FsStats:
    """A filesystem as the node sees it (summary `fs`, `imageFs`, `containerFs`)."""

    time: int | None = None
    available_bytes: int | None = None
    capacity_bytes: int | None = None
    used_bytes: int | None = None
    inodes_free: int | None = None
    inodes: int | None = None
    inodes_used: int | None = None


class DiskUsage(NamedTuple):
    """What one part of a pod takes of a filesystem: a writable layer, its logs, a volume."""

    used_bytes: int | None = None
    inodes_used: int | None = None


class VolumeStats(NamedTuple):
    """One measured volume of a pod, by its name in the pod's spec."""

    name: str
    used_bytes: int | None = None
    inodes_used: int | None = None


class ContainerStats(NamedTuple):
    """One container of a pod; `working_set_bytes` is its own cgroup's."""

    name: str
    working_set_bytes: int | None = None
    rootfs: DiskUsage | None = None
    logs: DiskUsage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PodStats:
    """The usage of one pod (summary `pods[]`)."""

    name: str
    namespace: str
    uid: str
    containers: tuple[ContainerStats, ...] = ()
    volumes: tuple[VolumeStats, ...] = ()
    memory: MemoryStats | None = None
    ephemeral_storage: DiskUsage | None = None
    """Everything that counts against the pod's ephemeral-storage limit, summed by the source."""
    process_count: int | None = None
    time: int | None = None
    """When memory and processes were read; disk usage may be older, `disk_time` says how old."""
    disk_time: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RlimitStats:
    """PIDs of the node: the most there may be, and how many tasks there are."""

    time: int | None = None
    max_pid: int | None = None
    current: int | None = None


class PressureStall(NamedTuple):
    """One line of a PSI file: percentages over 10, 60 and 300 s, and the total stalled microseconds."""

    avg10: float
    avg60: float
    avg300: float
    total_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeGauges:
    """Numbers that no threshold of the kubelet looks at, but that people ask for beside the signals."""

    capacity_bytes: int | None = None
    mem_available_bytes: int | None = None
    """`MemAvailable` of /proc/meminfo: what the kernel thinks it could free."""
    working_set_available_bytes: int | None = None
    """Capacity minus working set, whichever formula decides."""
    huge_pages_bytes: int | None = None
    swap_total_bytes: int | None = None
    swap_free_bytes: int | None = None
    pressure_some: PressureStall | None = None
    pressure_full: PressureStall | None = None
    pods_pressure_some: PressureStall | None = None
    pods_pressure_full: PressureStall | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStats:
    """The node's own numbers (summary `node`)."""

    name: str = ""
    memory: MemoryStats | None = None
    pods_memory: MemoryStats | None = None
    """The cgroup that holds all pods: summary `systemContainers[name=pods].memory`."""
    fs: FsStats | None = None
    image_fs: FsStats | None = None
    container_fs: FsStats | None = None
    rlimit: RlimitStats | None = None
    gauges: NodeGauges | None = None
