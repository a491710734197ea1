"""One reading of the node at one time: all that a decision may know of the world.

The shell builds it (`observe.node`, `codec.scenario`); the core only reads it. `signal_observations` turns the numbers into
what thresholds are compared with (kubelet `makeSignalObservations`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from evictd.core.pod import Pod
from evictd.core.quantity import Quantity, of_bytes, of_count
from evictd.core.signal import Signal
from evictd.core.stats import FsStats, MemoryStats, NodeStats, PodStats


class Reclaim(Enum):
    """A way to free resources of the node without touching a running pod."""

    CONTAINERS = "containers"
    IMAGES = "images"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filesystems:
    """How nodefs, imagefs and containerfs lie on devices (spec 3.4). `None`: could not be found out."""

    dedicated_image_fs: bool | None = False
    split_container_fs: bool | None = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReclaimOutcome:
    """What became of one reclaim action; `error` is the runtime's last word if something was left."""

    action: Reclaim
    freed_bytes: int = 0
    removed: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """What became of the last decisions."""

    reclaimed: tuple[ReclaimOutcome, ...] | None = None
    """`None` while the collectors are still at work."""
    cleaned_up: frozenset[str] = frozenset()
    """Uids of victims of which nothing is left running."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something that could not be read: `source` names it for ever, `detail` says what happened this time."""

    source: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The node, its pods and their usage at one time."""

    node: NodeStats | None
    """`None`: the reading failed as a whole, nothing can be said."""
    pods: tuple[Pod, ...] = ()
    """The active pods: not terminated, mirror pods left out (spec 5.9)."""
    pod_stats: Mapping[str, PodStats] = field(default_factory=dict)
    """By pod uid."""
    filesystems: Filesystems = Filesystems()
    outcomes: Outcomes = Outcomes()
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalObservation:
    """One signal as read: what is available of what capacity, and when that was true."""

    available: Quantity
    capacity: Quantity
    time: int | None = None


def signal_observations(node: NodeStats) -> dict[Signal, SignalObservation]:
    """Every signal that these numbers allow; one whose numbers are missing is left out."""
    found = {
        Signal.MEMORY_AVAILABLE: _memory(node.memory),
        Signal.ALLOCATABLE_MEMORY_AVAILABLE: _memory(node.pods_memory),
        Signal.NODEFS_AVAILABLE: _bytes(node.fs),
        Signal.NODEFS_INODES_FREE: _inodes(node.fs),
        Signal.IMAGEFS_AVAILABLE: _bytes(node.image_fs),
        Signal.IMAGEFS_INODES_FREE: _inodes(node.image_fs),
        Signal.CONTAINERFS_AVAILABLE: _bytes(node.container_fs),
        Signal.CONTAINERFS_INODES_FREE: _inodes(node.container_fs),
        Signal.PID_AVAILABLE: _pids(node),
    }
    return {signal: observation for signal, observation in found.items() if observation is not None}


def _memory(memory: MemoryStats | None) -> SignalObservation | None:
    if memory is None or memory.available_bytes is None or memory.working_set_bytes is None:
        return None
    capacity = memory.available_bytes + memory.working_set_bytes
    return SignalObservation(available=of_bytes(memory.available_bytes), capacity=of_bytes(capacity), time=memory.time)


def _bytes(fs: FsStats | None) -> SignalObservation | None:
    if fs is None or fs.available_bytes is None or fs.capacity_bytes is None:
        return None
    return SignalObservation(available=of_bytes(fs.available_bytes), capacity=of_bytes(fs.capacity_bytes), time=fs.time)


def _inodes(fs: FsStats | None) -> SignalObservation | None:
    if fs is None or fs.inodes_free is None or fs.inodes is None:
        return None
    return SignalObservation(available=of_count(fs.inodes_free), capacity=of_count(fs.inodes), time=fs.time)


def _pids(node: NodeStats) -> SignalObservation | None:
    rlimit = node.rlimit
    if rlimit is None or rlimit.max_pid is None or rlimit.current is None:
        return None
    return SignalObservation(
        available=of_count(rlimit.max_pid - rlimit.current), capacity=of_count(rlimit.max_pid), time=rlimit.time
    )
