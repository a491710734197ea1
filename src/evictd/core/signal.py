"""Which signals there are, and what each one stands for.

The tables of the eviction manager (kubelet `pkg/kubelet/eviction/helpers.go`, init, and `api/types.go`): signal to node
condition, signal to resource, signal to the format of its quantities. Everything else in the core looks these up.
"""

from enum import Enum

from evictd.core.quantity import Format


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


class NodeCondition(Enum):
    """A node condition by its type in the API."""

    MEMORY_PRESSURE = "MemoryPressure"
    DISK_PRESSURE = "DiskPressure"
    PID_PRESSURE = "PIDPressure"


class Resource(Enum):
    """What a signal says is running out, by its name in messages and annotations."""

    MEMORY = "memory"
    EPHEMERAL_STORAGE = "ephemeral-storage"
    INODES = "inodes"
    PIDS = "pids"


class Filesystem(Enum):
    """The filesystem that a disk signal looks at, by its name in the configuration."""

    NODEFS = "nodefs"
    IMAGEFS = "imagefs"
    CONTAINERFS = "containerfs"


MEMORY_SIGNALS = frozenset({Signal.MEMORY_AVAILABLE, Signal.ALLOCATABLE_MEMORY_AVAILABLE})
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
}

RESOURCE_TO_CONDITION = {
    Resource.MEMORY: NodeCondition.MEMORY_PRESSURE,
    Resource.EPHEMERAL_STORAGE: NodeCondition.DISK_PRESSURE,
    Resource.INODES: NodeCondition.DISK_PRESSURE,
    Resource.PIDS: NodeCondition.PID_PRESSURE,
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
}
"""How a counter of this resource is written: quantities made from bytes are binary, from inodes and PIDs decimal."""
