"""Reads the amounts of a recorded summary for `evictd advise`: what the node has, what is available, what belongs to no pod."""

from contextlib import suppress

import msgspec

from evictd.codec.summary import WireFs, WireProcesses, WireRlimit, WireRuntime
from evictd.codec.times import parse_time
from evictd.core.model.config import MemoryFormula, available_by
from evictd.core.model.signal import Resource, Signal
from evictd.core.units.duration import SECOND
from evictd.errors import InvalidValueError

_SAME_TIME = 1 * SECOND
"""Measurements of a disk and of pods that are no further apart count as of one time."""


class _Part(msgspec.Struct, frozen=True, rename="camel"):
    """A part of a line; fields that are not declared are skipped."""


class _Memory(_Part, frozen=True):
    working_set_bytes: int | None = None
    available_bytes: int | None = None
    mem_available_bytes: int | None = None
    unallocatable_bytes: int | None = None


class _PodStats(_Part, frozen=True):
    memory: _Memory = _Memory()
    ephemeral_storage: WireFs | None = msgspec.field(name="ephemeral-storage", default=None)
    process_stats: WireProcesses = msgspec.field(name="process_stats", default=WireProcesses())


class _Node(_Part, frozen=True):
    node_name: str = ""
    memory: _Memory = _Memory()
    fs: WireFs | None = None
    runtime: WireRuntime = WireRuntime()
    rlimit: WireRlimit = WireRlimit()


class RecordedAmounts(_Part, frozen=True):
    """The amounts of the node and its pods."""

    node: _Node = _Node()
    pods: tuple[_PodStats, ...] = ()

    @property
    def unallocatable(self) -> int:
        """Memory that soft thresholds count as available although no process can allocate it."""
        return self.node.memory.unallocatable_bytes or 0

    @property
    def overcounted(self) -> int:
        """The same of hard thresholds of memory: 0 where the kernel's estimate is their formula."""
        memory = self.node.memory
        allocatable = available_by(MemoryFormula.AUTO, memory.available_bytes, memory.mem_available_bytes)
        return (memory.available_bytes or 0) - (allocatable or 0)

    @property
    def capacity(self) -> dict[Resource, int]:
        """Capacity of the node of memory, disk space and PIDs; only what was measured."""
        memory, fs = self.node.memory, self.node.fs
        both = memory.available_bytes is not None and memory.working_set_bytes is not None
        found = {
            Resource.MEMORY: (memory.available_bytes or 0) + (memory.working_set_bytes or 0) if both else 0,
            Resource.EPHEMERAL_STORAGE: 0 if fs is None else fs.capacity_bytes or 0,
            Resource.PIDS: self.node.rlimit.max_pid or 0,
        }
        return {resource: amount for resource, amount in found.items() if amount}

    @property
    def available(self) -> dict[Signal, tuple[int, int]]:
        """Of each signal that was measured what was available, and of how much; imagefs only as a disk of its own."""
        fs, image_fs, pids = self.node.fs, self.node.runtime.image_fs, self.node.rlimit
        measured: dict[Signal, tuple[int | None, int | None]] = {
            Signal.MEMORY_AVAILABLE: (self.node.memory.available_bytes, self.capacity.get(Resource.MEMORY)),
            Signal.PID_AVAILABLE: (
                None if pids.max_pid is None or pids.current is None else pids.max_pid - pids.current,
                pids.max_pid,
            ),
        }
        if fs is not None:
            measured[Signal.NODEFS_AVAILABLE] = fs.available_bytes, fs.capacity_bytes
            measured[Signal.NODEFS_INODES_FREE] = fs.inodes_free, fs.inodes
        if fs is not None and image_fs is not None and image_fs.capacity_bytes != fs.capacity_bytes:
            measured[Signal.IMAGEFS_AVAILABLE] = image_fs.available_bytes, image_fs.capacity_bytes
            measured[Signal.IMAGEFS_INODES_FREE] = image_fs.inodes_free, image_fs.inodes
        return {signal: (left, of) for signal, (left, of) in measured.items() if left is not None and of}

    @property
    def outside_pods(self) -> dict[Resource, int]:
        """Used memory, disk space and PIDs that belong to no pod; only where the node and every pod were measured."""
        node, pods = self.node, self.pods
        measured: dict[Resource, tuple[int | None, list[int | None]]] = {
            Resource.MEMORY: (node.memory.working_set_bytes, [pod.memory.working_set_bytes for pod in pods]),
            Resource.EPHEMERAL_STORAGE: (
                _disk_used(node),
                [_disk_used_by(pod.ephemeral_storage, node.fs) for pod in pods],
            ),
            Resource.PIDS: (node.rlimit.current, [pod.process_stats.process_count for pod in pods]),
        }
        return {
            resource: max(0, used - sum(each or 0 for each in by_pods))
            for resource, (used, by_pods) in measured.items()
            if used is not None and None not in by_pods
        }


def _disk_used(node: _Node) -> int | None:
    """Return the used bytes of nodefs; `None` where images and writable layers have a disk of their own."""
    fs, image_fs = node.fs, node.runtime.image_fs
    if fs is None or fs.capacity_bytes is None or fs.available_bytes is None:
        return None
    one_disk = image_fs is None or image_fs.capacity_bytes == fs.capacity_bytes
    return fs.capacity_bytes - fs.available_bytes if one_disk else None


def _disk_used_by(storage: WireFs | None, disk: WireFs | None) -> int | None:
    """Return a pod's bytes; `None` where its folders were not walked, or before the disk was read: it may have written since."""
    if storage is None or storage.time is None or disk is None:
        return None
    with suppress(InvalidValueError):
        if disk.time is not None and parse_time(disk.time) - parse_time(storage.time) > _SAME_TIME:
            return None
    return storage.used_bytes
