"""Declares the eviction signals with their properties.

A signal is its name in `Signal` and its row in `SIGNALS`; the configuration, the reading of the node, the ranking, the messages,
the journal and the documentation are made from these. The rows follow the tables of the eviction manager (kubelet
`pkg/kubelet/eviction/helpers.go`, init, and `api/types.go`). Swap and the stall signals are evictd's own; there is one stall
signal for each average of the kernel's PSI files that a threshold may name (`Stall`).
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Literal, NamedTuple

from evictd.core.frozen import frozen
from evictd.core.units.quantity import NANO, Format, Quantity


class IdentityEnum(Enum):
    """Its members are hashed by identity, as they are compared: `Enum` hashes names, in Python, hundreds of times a decision."""

    __hash__ = object.__hash__


class Signal(IdentityEnum):
    """An eviction signal by its name in the configuration; the order is the documentation's."""

    MEMORY_AVAILABLE = "memory.available"
    ALLOCATABLE_MEMORY_AVAILABLE = "allocatableMemory.available"
    NODEFS_AVAILABLE = "nodefs.available"
    NODEFS_INODES_FREE = "nodefs.inodesFree"
    IMAGEFS_AVAILABLE = "imagefs.available"
    IMAGEFS_INODES_FREE = "imagefs.inodesFree"
    CONTAINERFS_AVAILABLE = "containerfs.available"
    CONTAINERFS_INODES_FREE = "containerfs.inodesFree"
    PID_AVAILABLE = "pid.available"
    SWAP_AVAILABLE = "swap.available"
    PODS_MEMORY_FULL_10 = "pods.memory.full.avg10"
    PODS_MEMORY_FULL_60 = "pods.memory.full.avg60"
    PODS_MEMORY_SOME_10 = "pods.memory.some.avg10"
    PODS_MEMORY_SOME_60 = "pods.memory.some.avg60"
    PODS_IO_FULL_10 = "pods.io.full.avg10"
    PODS_IO_FULL_60 = "pods.io.full.avg60"
    PODS_IO_SOME_10 = "pods.io.some.avg10"
    PODS_IO_SOME_60 = "pods.io.some.avg60"
    NODE_MEMORY_FULL_10 = "node.memory.full.avg10"
    NODE_MEMORY_FULL_60 = "node.memory.full.avg60"
    NODE_MEMORY_SOME_10 = "node.memory.some.avg10"
    NODE_MEMORY_SOME_60 = "node.memory.some.avg60"
    NODE_IO_FULL_10 = "node.io.full.avg10"
    NODE_IO_FULL_60 = "node.io.full.avg60"
    NODE_IO_SOME_10 = "node.io.some.avg10"
    NODE_IO_SOME_60 = "node.io.some.avg60"


class NodeCondition(IdentityEnum):
    """A node condition by its type in the API."""

    MEMORY_PRESSURE = "MemoryPressure"
    DISK_PRESSURE = "DiskPressure"
    PID_PRESSURE = "PIDPressure"


class Resource(IdentityEnum):
    """The resource that a signal measures, by its name in messages and annotations."""

    MEMORY = "memory"
    EPHEMERAL_STORAGE = "ephemeral-storage"
    INODES = "inodes"
    PIDS = "pids"
    IO = "io"
    SWAP = "swap"


DISKS = frozenset({Resource.EPHEMERAL_STORAGE, Resource.INODES})
"""The resources of a filesystem, which pods are measured for only when it is needed."""
WITH_REQUEST = frozenset({Resource.MEMORY, Resource.EPHEMERAL_STORAGE})
"""The resources that pods request."""


class StallScope(IdentityEnum):
    """The tasks that a stall signal watches: those of all pods, or all of the node."""

    PODS = "pods"
    NODE = "node"


class StalledResource(IdentityEnum):
    """The resource that tasks stall for."""

    MEMORY = "memory"
    IO = "io"


class StallType(IdentityEnum):
    """The line of a PSI file: time in which some task stalled, or in which all that were not idle did."""

    FULL = "full"
    SOME = "some"


class Stall(NamedTuple):
    """The source of a stall signal; `average` is the window in seconds.

    `available` of such a signal is the share of time without a stall, in hundredths of a percent, of a capacity of 10000. So the
    comparison of every other signal serves: "stalled above 20 %" is "available below 8000".
    """

    scope: StallScope
    resource: StalledResource
    type: StallType
    average: int


ALL_OF_THE_TIME = 10_000
"""The capacity of a stall signal."""


class Filesystem(IdentityEnum):
    """The filesystem that a disk signal measures, by its name in the configuration."""

    NODEFS = "nodefs"
    IMAGEFS = "imagefs"
    CONTAINERFS = "containerfs"


class Unit(IdentityEnum):
    """The unit of amounts."""

    BYTES = "bytes"
    COUNT = "count"
    """Inodes or PIDs."""
    SHARE = "share"
    """Hundredths of a percent of the time in which tasks stall."""


@frozen
class ResourceSpec:
    """The properties of a signal that follow from its resource."""

    condition: NodeCondition
    unit: Unit
    """Unit of a pod's usage."""
    requested: bool = True
    """Whether a pod's use of it is compared with a request."""

    @property
    def format(self) -> Format:
        """The format of its quantities: those made from bytes are binary, from inodes, PIDs and shares decimal."""
        return Format.BINARY_SI if self.unit is Unit.BYTES else Format.DECIMAL_SI


RESOURCES: Mapping[Resource, ResourceSpec] = MappingProxyType(
    {
        Resource.MEMORY: ResourceSpec(condition=NodeCondition.MEMORY_PRESSURE, unit=Unit.BYTES),
        Resource.EPHEMERAL_STORAGE: ResourceSpec(condition=NodeCondition.DISK_PRESSURE, unit=Unit.BYTES),
        Resource.INODES: ResourceSpec(condition=NodeCondition.DISK_PRESSURE, unit=Unit.COUNT),
        Resource.PIDS: ResourceSpec(condition=NodeCondition.PID_PRESSURE, unit=Unit.COUNT, requested=False),
        Resource.IO: ResourceSpec(condition=NodeCondition.DISK_PRESSURE, unit=Unit.SHARE, requested=False),
        Resource.SWAP: ResourceSpec(condition=NodeCondition.MEMORY_PRESSURE, unit=Unit.BYTES, requested=False),
    }
)
"""One row for each resource."""

Statistic = Literal["memory", "pods_memory", "fs", "image_fs", "container_fs", "rlimit", "swap", "io", "pods_io"]
"""A field of `NodeStats`."""


@frozen
class SignalSpec:
    """The properties of one signal."""

    resource: Resource
    """The resource that is short when a threshold on the signal is met; pods are ranked by it and messages name it."""
    statistic: Statistic
    """The field of `NodeStats` with the node's numbers."""
    text: str
    """Description for the documentation."""
    filesystem: Filesystem | None = None
    """The filesystem of a disk signal."""
    stall: Stall | None = None
    """The source of a stall signal."""
    own: bool = False
    """The kubelet does not have it, so policy Kubelet does not either."""

    @property
    def condition(self) -> NodeCondition:
        """The condition that the node reports where a threshold on it is met."""
        return RESOURCES[self.resource].condition

    def amount(self, count: int) -> Quantity:
        """Return an amount of the resource, in its format."""
        return Quantity(count * NANO, RESOURCES[self.resource].format)

    @property
    def unit(self) -> Unit:
        """Unit of the signal's own amounts; the pods' usage is in the unit of the resource."""
        return RESOURCES[self.resource].unit if self.stall is None else Unit.SHARE


def _space(filesystem: Filesystem, statistic: Statistic, use: str) -> SignalSpec:
    text = f"Bytes available of the filesystem {use}."
    return SignalSpec(resource=Resource.EPHEMERAL_STORAGE, statistic=statistic, text=text, filesystem=filesystem)


def _inodes(filesystem: Filesystem, statistic: Statistic, use: str) -> SignalSpec:
    text = f"Free inodes of the filesystem {use}."
    return SignalSpec(resource=Resource.INODES, statistic=statistic, text=text, filesystem=filesystem)


def _stall(name: str) -> SignalSpec:
    """Make the row of a stall signal, whose name says what it reads: `pods.memory.full.avg10`."""
    whole, resource, line, average = name.split(".")
    scope, stalled, kind = StallScope(whole), StalledResource(resource), StallType(line)
    stall = Stall(scope, stalled, kind, int(average.removeprefix("avg")))
    whose = "of all pods" if scope is StallScope.PODS else "of the node"
    tasks = f"at least one task {whose}" if kind is StallType.SOME else f"all tasks {whose} that were not idle"
    what = "memory" if stalled is StalledResource.MEMORY else "I/O"
    return SignalSpec(
        resource=Resource(resource),
        statistic=_STALLED_STATISTICS[scope, stalled],
        text=f"Share of the last {stall.average} s in which {tasks} stalled for {what}.",
        stall=stall,
        own=True,
    )


_STALLED_STATISTICS: Mapping[tuple[StallScope, StalledResource], Statistic] = {
    (StallScope.PODS, StalledResource.MEMORY): "pods_memory",
    (StallScope.PODS, StalledResource.IO): "pods_io",
    (StallScope.NODE, StalledResource.MEMORY): "memory",
    (StallScope.NODE, StalledResource.IO): "io",
}
_KUBELET_FILES = "that holds the kubelet's directory: volumes, logs, and all else where there is only one"
_IMAGES = "that holds container images"
_LAYERS = "that holds the writable layers of containers"

SIGNALS: Mapping[Signal, SignalSpec] = MappingProxyType(
    {
        Signal.MEMORY_AVAILABLE: SignalSpec(
            resource=Resource.MEMORY, statistic="memory", text="Memory of the node that is available."
        ),
        Signal.ALLOCATABLE_MEMORY_AVAILABLE: SignalSpec(
            resource=Resource.MEMORY,
            statistic="pods_memory",
            text="What all pods together may still use of the memory that is allocatable to them.",
        ),
        Signal.NODEFS_AVAILABLE: _space(Filesystem.NODEFS, "fs", _KUBELET_FILES),
        Signal.NODEFS_INODES_FREE: _inodes(Filesystem.NODEFS, "fs", _KUBELET_FILES),
        Signal.IMAGEFS_AVAILABLE: _space(Filesystem.IMAGEFS, "image_fs", _IMAGES),
        Signal.IMAGEFS_INODES_FREE: _inodes(Filesystem.IMAGEFS, "image_fs", _IMAGES),
        Signal.CONTAINERFS_AVAILABLE: _space(Filesystem.CONTAINERFS, "container_fs", _LAYERS),
        Signal.CONTAINERFS_INODES_FREE: _inodes(Filesystem.CONTAINERFS, "container_fs", _LAYERS),
        Signal.PID_AVAILABLE: SignalSpec(
            resource=Resource.PIDS, statistic="rlimit", text="PIDs that the node can still give to tasks."
        ),
        Signal.SWAP_AVAILABLE: SignalSpec(
            resource=Resource.SWAP, statistic="swap", text="Swap of the node that is free.", own=True
        ),
        **{signal: _stall(signal.value) for signal in Signal if ".avg" in signal.value},
    }
)
"""One row for each signal; that of a stall signal is made from its name."""

STALLS = {signal: spec.stall for signal, spec in SIGNALS.items() if spec.stall is not None}
"""The stall signals, with what each reads."""
MEMORY_SIGNALS = frozenset(s for s, spec in SIGNALS.items() if spec.resource is Resource.MEMORY and spec.stall is None)
"""The signals on what is available of memory."""
DISK_SIGNALS: Mapping[Filesystem, tuple[Signal, Signal]] = MappingProxyType(
    {each: (Signal(f"{each.value}.available"), Signal(f"{each.value}.inodesFree")) for each in Filesystem}
)
"""The signals on the bytes and on the inodes of each filesystem."""


_BY_NAME = {signal.value: signal for signal in Signal}


def signal_named(name: str) -> Signal | None:
    """Return the signal of this name; `None` if there is none, as in a damaged record."""
    return _BY_NAME.get(name)
