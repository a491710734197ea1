"""Declares the measured statistics: one field per number of the kubelet's stats summary that a decision may use.

A number that could not be read is `None`. Sizes are bytes. Times are stamps in nanoseconds on the clock of their source; a stamp
is only compared with earlier stamps of the same source (`thresholds_updated_stats`).
The wire form is the kubelet's stats/summary v1alpha1 (`codec.summary`).
"""

from typing import NamedTuple

from evictd.core.frozen import frozen


class PressureStall(NamedTuple):
    """One line of a PSI file: percentages over 10, 60 and 300 s, and the total stalled microseconds."""

    avg10: float
    avg60: float
    avg300: float
    total_us: int


class PSIStats(NamedTuple):
    """A PSI file: `full`, the time in which all tasks that were not idle stalled, and `some`, in which at least one did."""

    full: PressureStall | None = None
    some: PressureStall | None = None


@frozen
class IOStats:
    """Stalls for I/O of one cgroup, or of the node (summary `io`)."""

    time: int | None = None
    psi: PSIStats | None = None


@frozen
class MemoryStats:
    """Memory of one cgroup, or of the node (summary `memory`)."""

    time: int | None = None
    available_bytes: int | None = None
    """May be negative: limit minus working set."""
    usage_bytes: int | None = None
    working_set_bytes: int | None = None
    """Usage minus inactive file cache."""
    fill_rate: int | None = None
    """Bytes per second by which the available memory falls; zero or less: it does not fall. `None`: not measured."""
    psi: PSIStats | None = None
    """Stalls for memory; read only where a threshold needs them."""
    swap_bytes: int | None = None
    """A pod's bytes in swap; read only on a node with swap."""
    clean_file_bytes: int | None = None
    """Clean active file pages: a part of the working set that the kernel gives back without writing when memory is short."""
    mem_available_bytes: int | None = None
    """Node only: `MemAvailable`, the kernel's estimate of what processes can still allocate, file pages included."""
    unallocatable_bytes: int | None = None
    """Node only, formula Auto: the amount by which capacity minus working set exceeds `available_bytes`."""
    stalled: int | None = None
    """Node only: hundredths of a percent of the last 10 s in which a task stalled for memory (PSI `some`)."""


@frozen
class FsStats:
    """A filesystem as the node sees it (summary `fs`, `imageFs`, `containerFs`)."""

    time: int | None = None
    available_bytes: int | None = None
    capacity_bytes: int | None = None
    used_bytes: int | None = None
    inodes_free: int | None = None
    inodes: int | None = None
    inodes_used: int | None = None
    fill_rate: int | None = None
    """Bytes per second by which the available bytes fall; zero or less: they do not fall. `None`: not measured."""
    inodes_fill_rate: int | None = None
    """Inodes per second by which the free inodes fall."""
    read_only: bool = False
    """The filesystem is mounted read-only, so evicting a pod frees nothing of it."""


class DiskUsage(NamedTuple):
    """The usage of a filesystem by one part of a pod: a writable layer, its logs, a volume."""

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


@frozen
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
    """Time of the memory and processes; disk usage has `disk_time`, which may be earlier."""
    disk_time: int | None = None
    layers_time: int | None = None
    """Time of the oldest reading among its containers' writable layers; `None` if one was not read."""
    io: IOStats | None = None
    deleted_layer: DiskUsage | None = None
    """Deleted files of its containers' writable layers that its processes keep open; read while a disk is near a threshold."""
    deleted_local: DiskUsage | None = None
    """Deleted files of its volumes and logs that its processes keep open."""
    disk_at_least: bool = False
    """Whether it may use more of the disks than the amounts say: a walk is under way or was not finished."""


@frozen
class RlimitStats:
    """PIDs of the node: the limit, and the number of tasks."""

    time: int | None = None
    max_pid: int | None = None
    current: int | None = None
    fill_rate: int | None = None
    """PIDs per second by which those available fall; `None`: not measured."""


@frozen
class SwapStats:
    """The node's swap (summary `swap`); the capacity is the sum of both, and not 0."""

    time: int | None = None
    available_bytes: int | None = None
    usage_bytes: int | None = None


@frozen
class NodeGauges:
    """Statistics that no threshold uses; shown in metrics and status beside the signals."""

    capacity_bytes: int | None = None
    mem_available_bytes: int | None = None
    """`MemAvailable` of /proc/meminfo: the kernel's estimate."""
    working_set_available_bytes: int | None = None
    """Capacity minus working set, independent of the configured formula."""
    unallocatable_bytes: int | None = None
    """Bytes that the configured formula counts as available although no process can allocate them; `None`: no such bytes."""
    pressure_some: PressureStall | None = None
    pressure_full: PressureStall | None = None
    pods_pressure_some: PressureStall | None = None
    pods_pressure_full: PressureStall | None = None


@frozen
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
    swap: SwapStats | None = None
    """`None` also where the node has none."""
    stop_time: int | None = None
    """Nanoseconds: the longest that one of the last stops took beyond its grace; `None`: no pod was stopped yet."""
    collect_time: int | None = None
    """Nanoseconds: the longest that one of the last collections for a disk took; `None`: there was none yet."""
    io: IOStats | None = None
    pods_io: IOStats | None = None
    """The cgroup that holds all pods: summary `systemContainers[name=pods].io`."""
    gauges: NodeGauges | None = None
