"""Declares the eviction signals and maps them to resources, conditions and formats.

The tables of the eviction manager (kubelet `pkg/kubelet/eviction/helpers.go`, init, and `api/types.go`): signal to node
condition, signal to resource, signal to the format of its quantities. All of the core uses these tables. Swap and the stall
signals are evictd's own: of the latter one for each average of the kernel's PSI files that a threshold may name (`Stall`).

The members are hashed by identity, as they are compared: `Enum` hashes their names, in Python, hundreds of times a decision.
"""

from enum import Enum
from typing import NamedTuple

from evictd.core.units.quantity import Format


class Signal(Enum):
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

    __hash__ = object.__hash__


class NodeCondition(Enum):
    """A node condition by its type in the API."""

    MEMORY_PRESSURE = "MemoryPressure"
    DISK_PRESSURE = "DiskPressure"
    PID_PRESSURE = "PIDPressure"

    __hash__ = object.__hash__


class Resource(Enum):
    """The resource that a signal measures, by its name in messages and annotations."""

    MEMORY = "memory"
    EPHEMERAL_STORAGE = "ephemeral-storage"
    INODES = "inodes"
    PIDS = "pids"
    IO = "io"
    SWAP = "swap"

    __hash__ = object.__hash__


class StallScope(Enum):
    """Whose tasks a stall signal watches: all pods' together, or all of the node."""

    PODS = "pods"
    NODE = "node"

    __hash__ = object.__hash__


class StalledResource(Enum):
    """The resource that tasks stall for."""

    MEMORY = "memory"
    IO = "io"

    __hash__ = object.__hash__


class StallType(Enum):
    """The line of a PSI file: time in which some task stalled, or in which all that were not idle did."""

    FULL = "full"
    SOME = "some"

    __hash__ = object.__hash__


class Stall(NamedTuple):
    """What a stall signal reads; `average` is the window in seconds.

    `available` of such a signal is the share of time without a stall, in hundredths of a percent, of a capacity of 10000. So the
    comparison of every other signal serves: "stalled above 20 %" is "available below 8000".
    """

    scope: StallScope
    resource: StalledResource
    type: StallType
    average: int


ALL_OF_THE_TIME = 10_000
"""The capacity of a stall signal."""


class Filesystem(Enum):
    """The filesystem that a disk signal measures, by its name in the configuration."""

    NODEFS = "nodefs"
    IMAGEFS = "imagefs"
    CONTAINERFS = "containerfs"

    __hash__ = object.__hash__


MEMORY_SIGNALS = frozenset({Signal.MEMORY_AVAILABLE, Signal.ALLOCATABLE_MEMORY_AVAILABLE})
STALLS = {
    signal: Stall(StallScope(scope), StalledResource(resource), StallType(kind), int(average.removeprefix("avg")))
    for signal in Signal
    if (parts := signal.value.split(".")) and len(parts) == 4
    for scope, resource, kind, average in (parts,)
}
"""What each stall signal reads."""
OWN_SIGNALS = frozenset({*STALLS, Signal.SWAP_AVAILABLE})
"""The signals that the kubelet does not have, and policy Kubelet does not either."""
CONTAINERFS_SIGNALS = frozenset({Signal.CONTAINERFS_AVAILABLE, Signal.CONTAINERFS_INODES_FREE})

SIGNAL_TO_RESOURCE = {
    Signal.MEMORY_AVAILABLE: Resource.MEMORY,
    Signal.ALLOCATABLE_MEMORY_AVAILABLE: Resource.MEMORY,
    Signal.NODEFS_AVAILABLE: Resource.EPHEMERAL_STORAGE,
    Signal.NODEFS_INODES_FREE: Resource.INODES,
    Signal.IMAGEFS_AVAILABLE: Resource.EPHEMERAL_STORAGE,
    Signal.IMAGEFS_INODES_FREE: Resource.INODES,
    Signal.CONTAINERFS_AVAILABLE: Resource.EPHEMERAL_STORAGE,
    Signal.CONTAINERFS_INODES_FREE: Resource.INODES,
    Signal.PID_AVAILABLE: Resource.PIDS,
    Signal.SWAP_AVAILABLE: Resource.SWAP,
    **{signal: Resource(stall.resource.value) for signal, stall in STALLS.items()},
}

RESOURCE_TO_CONDITION = {
    Resource.MEMORY: NodeCondition.MEMORY_PRESSURE,
    Resource.EPHEMERAL_STORAGE: NodeCondition.DISK_PRESSURE,
    Resource.INODES: NodeCondition.DISK_PRESSURE,
    Resource.PIDS: NodeCondition.PID_PRESSURE,
    Resource.IO: NodeCondition.DISK_PRESSURE,
    Resource.SWAP: NodeCondition.MEMORY_PRESSURE,
}

SIGNAL_TO_CONDITION = {signal: RESOURCE_TO_CONDITION[resource] for signal, resource in SIGNAL_TO_RESOURCE.items()}

SIGNAL_TO_FILESYSTEM = {
    signal: Filesystem(signal.value.partition(".")[0])
    for signal in Signal
    if SIGNAL_TO_RESOURCE[signal] in {Resource.EPHEMERAL_STORAGE, Resource.INODES}
}

RESOURCE_TO_FORMAT = {
    Resource.MEMORY: Format.BINARY_SI,
    Resource.EPHEMERAL_STORAGE: Format.BINARY_SI,
    Resource.INODES: Format.DECIMAL_SI,
    Resource.PIDS: Format.DECIMAL_SI,
    Resource.IO: Format.DECIMAL_SI,
    Resource.SWAP: Format.BINARY_SI,
}
"""Format of a counter of this resource: quantities made from bytes are binary, from inodes and PIDs decimal."""

IN_BYTES = frozenset({Resource.MEMORY, Resource.EPHEMERAL_STORAGE, Resource.SWAP})
WITHOUT_REQUEST = frozenset({Resource.PIDS, Resource.IO, Resource.SWAP})
"""The resources that no pod requests."""
