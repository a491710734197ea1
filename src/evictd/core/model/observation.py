"""One reading of the node at one time: all that a decision may know of the world.

The shell builds it (`observe.node`, `codec.scenario`); the core only reads it. `signal_observations` turns the numbers into
what thresholds are compared with (kubelet `makeSignalObservations`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from evictd.core.model.pod import Pod
from evictd.core.model.signal import ALL_OF_THE_TIME, STALLS, Filesystem, Signal, Stall, StalledResource, StallScope
from evictd.core.model.stats import FsStats, IOStats, MemoryStats, NodeStats, PodStats, RlimitStats, SwapStats
from evictd.core.units.quantity import Quantity, of_bytes, of_count


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
    device: Filesystem | None = None
    """The device that the collection was begun for, as `ReclaimNode.device` names it; `None`: the only one under way."""


class EvictionAnswerKind(Enum):
    """What is known of the consent to an eviction that was decided."""

    AGREED = "Agreed"
    """The pod goes: the API server accepted, or its containers are being stopped."""
    REFUSED = "Refused"
    """A PodDisruptionBudget does not allow it. The pod stays unless it is chosen again."""
    NOT_ASKED = "NotAsked"
    """Nothing asked for this eviction before a restart, and the pod is not being deleted. It may be chosen again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictionAnswer:
    """What the API server answered about one victim. A victim without an answer is still being asked about."""

    uid: str
    kind: EvictionAnswerKind
    at: int = 0
    """`now` of the answer, in nanoseconds. It distinguishes two refusals of one pod."""
    retry_after: int | None = None
    """Nanoseconds after which the server wants to be asked again; `None` where it named no time."""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """What became of the last decisions."""

    reclaimed: tuple[ReclaimOutcome, ...] | None = None
    """Of the collections that have ended; `None` while none has. An empty tuple, or an outcome without a device, ends all."""
    collecting: frozenset[Filesystem] | None = None
    """The devices that collectors are at work for. `None`: not known; then each collection counts as under way."""
    cleaned_up: frozenset[str] = frozenset()
    """Uids of victims of which nothing is left running."""
    answers: tuple[EvictionAnswer, ...] = ()
    """The last answer about each victim that the API server answered about, for as long as the victim is remembered."""
    dry_run: bool = False
    """Decisions are not carried out: no pod leaves and nothing is collected."""


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
    own_pods: frozenset[str] = frozenset()
    """Uids of the pods that evictd itself runs in: never evicted."""
    api_pods_standalone: bool = False
    """evictd has no API server, but the runtime runs pods that an API server has bound to the node."""
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalObservation:
    """One signal as read: what is available of what capacity, and when that was true."""

    available: Quantity
    capacity: Quantity
    time: int | None = None
    fill_rate: int | None = None
    """Units per second by which `available` falls, as measured shortly before; `None`: not measured."""
    stop_time: int | None = None
    """Nanoseconds that stops took here beyond their grace (`NodeStats.stop_time`)."""


def signal_observations(node: NodeStats) -> dict[Signal, SignalObservation]:
    """Every signal that these numbers allow; one whose numbers are missing is left out."""
    found = {
        Signal.MEMORY_AVAILABLE: _memory(node.memory, node.stop_time),
        Signal.ALLOCATABLE_MEMORY_AVAILABLE: _memory(node.pods_memory, node.stop_time),
        Signal.NODEFS_AVAILABLE: _bytes(node.fs),
        Signal.NODEFS_INODES_FREE: _inodes(node.fs),
        Signal.IMAGEFS_AVAILABLE: _bytes(node.image_fs),
        Signal.IMAGEFS_INODES_FREE: _inodes(node.image_fs),
        Signal.CONTAINERFS_AVAILABLE: _bytes(node.container_fs),
        Signal.CONTAINERFS_INODES_FREE: _inodes(node.container_fs),
        Signal.PID_AVAILABLE: _pids(node.rlimit, node.stop_time),
        Signal.SWAP_AVAILABLE: _swap(node.swap),
        **_stalls(node),
    }
    return {signal: observation for signal, observation in found.items() if observation is not None}


def _memory(memory: MemoryStats | None, stop_time: int | None) -> SignalObservation | None:
    if memory is None or memory.available_bytes is None or memory.working_set_bytes is None:
        return None
    capacity = memory.available_bytes + memory.working_set_bytes
    return SignalObservation(
        available=of_bytes(memory.available_bytes),
        capacity=of_bytes(capacity),
        time=memory.time,
        fill_rate=memory.fill_rate,
        stop_time=stop_time,
    )


def _bytes(fs: FsStats | None) -> SignalObservation | None:
    if fs is None or fs.available_bytes is None or fs.capacity_bytes is None:
        return None
    return SignalObservation(available=of_bytes(fs.available_bytes), capacity=of_bytes(fs.capacity_bytes), time=fs.time)


def _inodes(fs: FsStats | None) -> SignalObservation | None:
    if fs is None or fs.inodes_free is None or fs.inodes is None:
        return None
    return SignalObservation(available=of_count(fs.inodes_free), capacity=of_count(fs.inodes), time=fs.time)


def _pids(rlimit: RlimitStats | None, stop_time: int | None) -> SignalObservation | None:
    if rlimit is None or rlimit.max_pid is None or rlimit.current is None:
        return None
    return SignalObservation(
        available=of_count(rlimit.max_pid - rlimit.current),
        capacity=of_count(rlimit.max_pid),
        time=rlimit.time,
        fill_rate=rlimit.fill_rate,
        stop_time=stop_time,
    )


def _swap(swap: SwapStats | None) -> SignalObservation | None:
    if swap is None or swap.available_bytes is None or swap.usage_bytes is None:
        return None
    capacity = swap.available_bytes + swap.usage_bytes
    return SignalObservation(available=of_bytes(swap.available_bytes), capacity=of_bytes(capacity), time=swap.time)


def stalled(stall: Stall, memory: MemoryStats | None, io: IOStats | None) -> int | None:
    """Give the share of time that these tasks stalled, in hundredths of a percent; `None` where it was not read."""
    stats = memory if stall.resource is StalledResource.MEMORY else io
    line = None if stats is None or stats.psi is None else getattr(stats.psi, stall.type.value)
    return None if line is None else round((line.avg10 if stall.average == 10 else line.avg60) * 100)


def _stalls(node: NodeStats) -> dict[Signal, SignalObservation]:
    sources = (node.memory, node.pods_memory, node.io, node.pods_io)
    if not any(each is not None and each.psi is not None for each in sources):
        return {}  # no threshold needs them
    found = {}
    for signal, stall in STALLS.items():
        pods = stall.scope is StallScope.PODS
        memory, io = (node.pods_memory, node.pods_io) if pods else (node.memory, node.io)
        share = stalled(stall, memory, io)
        source = memory if stall.resource is StalledResource.MEMORY else io
        if share is not None and source is not None:
            left = of_count(ALL_OF_THE_TIME - share)
            found[signal] = SignalObservation(available=left, capacity=of_count(ALL_OF_THE_TIME), time=source.time)
    return found
