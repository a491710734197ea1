"""One reading of the node at one time: all that a decision may know of the world.

The shell builds it (`observe.reading`, `codec.scenario`); the core only reads it. `signal_observations` turns the numbers into
what thresholds are compared with (kubelet `makeSignalObservations`).
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from enum import Enum
from functools import partial
from operator import attrgetter
from typing import Any

from evictd.core.frozen import frozen
from evictd.core.model.pod import PENDING, Pod
from evictd.core.model.signal import (
    ALL_OF_THE_TIME,
    SIGNALS,
    STALLS,
    Filesystem,
    Resource,
    Signal,
    Stall,
    StalledResource,
)
from evictd.core.model.stats import FsStats, IOStats, MemoryStats, NodeStats, PodStats, RlimitStats, SwapStats
from evictd.core.units.quantity import Quantity, of_bytes, of_count
from evictd.errors import SourceKind


class Reclaim(Enum):
    """A way to free resources of the node without touching a running pod."""

    CONTAINERS = "containers"
    IMAGES = "images"
    ROTATED_LOGS = "rotatedLogs"
    """Rotated logs of running containers; never the one that is written."""
    PAGE_CACHE = "pageCache"
    """Clean file pages of pods (cgroup v2); the bytes freed are those of the working set."""


@frozen
class Filesystems:
    """The layout of nodefs, imagefs and containerfs on devices (docs/kubelet.md, Statistics). `None`: unknown."""

    dedicated_image_fs: bool | None = False
    split_container_fs: bool | None = False


@frozen
class ReclaimOutcome:
    """The outcome of one reclaim action; `error` is the runtime's last error if something was left."""

    action: Reclaim
    freed_bytes: int = 0
    removed: int = 0
    error: str = ""
    device: Filesystem | None = None
    """The device that the collection was begun for, as `ReclaimNode.device` names it; `None`: the only one under way."""
    unused_bytes: int | None = None
    """Bytes that an action of `ReclaimNode.measured` would free; it has freed nothing."""


class EvictionAnswerKind(Enum):
    """The API server's consent to a decided eviction."""

    AGREED = "Agreed"
    """The pod goes: the API server accepted, or its containers are being stopped."""
    REFUSED = "Refused"
    """A PodDisruptionBudget does not allow it. The pod stays unless it is chosen again."""
    NOT_ASKED = "NotAsked"
    """The eviction was withdrawn, or nothing asked for it before a restart; the pod stays. It may be chosen again."""


@frozen
class EvictionAnswer:
    """The API server's answer about one victim; the request of a victim without one is still under way."""

    uid: str
    kind: EvictionAnswerKind
    at: int = 0
    """`now` of the answer, in nanoseconds. It distinguishes two refusals of one pod."""
    retry_after: int | None = None
    """Nanoseconds after which the server wants to be asked again; `None` where it named no time."""
    detail: str = ""


@frozen
class Outcomes:
    """The outcomes of the last decisions."""

    reclaimed: tuple[ReclaimOutcome, ...] | None = None
    """The ended collections; `None` while none has ended. An empty tuple, or an outcome without a device, ends all."""
    collecting: frozenset[Filesystem] | None = None
    """The devices that collectors are at work for. `None`: not known; then each collection counts as under way."""
    page_cache: ReclaimOutcome | None = None
    """The outcome of the last reclaim of page cache since the start; `None` while it is under way."""
    cleaned_up: frozenset[str] = frozenset()
    """Uids of victims without a running process, whose volumes were cleared where evictd removes volumes."""
    stopped: frozenset[str] = frozenset()
    """Uids of victims without a running process; their volumes may still exist."""
    answers: tuple[EvictionAnswer, ...] = ()
    """The last answer about each victim that the API server answered about, for as long as the victim is remembered."""
    dry_run: bool = False
    """Decisions are not carried out: no pod leaves and nothing is collected."""
    unanswered: frozenset[str] = frozenset()
    """Uids of victims whose eviction needs the API server's agreement, which it has not given yet. They may be withdrawn."""
    unused_images: int | None = None
    """Bytes of the images that may be removed, by the last list that the image collector has taken from the runtime, at most five
    minutes ago. A layer of two images counts twice, so it is the most that their removal frees. `None`: never listed."""
    unkillable: frozenset[str] = frozenset()
    """Uids of victims that were killed and live on, because a process of theirs is in uninterruptible sleep (state D)."""


@frozen
class Problem:
    """Something that could not be read: `source` is its stable name, `detail` says what happened this time."""

    source: str
    detail: str


@frozen
class RemovedPod:
    """A pod that is listed no more, while its kubelet ends it or removes what it held. Times are of the cycles' clock."""

    first_seen: int
    runs: bool = False
    """Whether its sandbox is ready, or one of its containers may run."""
    has_volumes: bool = False
    """Whether it has a volume on nodefs. Its kubelet removes it a second or two after the pod's end."""
    gone_at: int | None = None
    """When neither was found any more. Its kubelet then removes its containers, and the runtime their layers a moment later."""


@frozen
class Observation:
    """The node, its pods and their usage at one time."""

    node: NodeStats | None
    """`None`: the whole reading failed."""
    pods: tuple[Pod, ...] = ()
    """The active pods: not terminated, mirror pods left out (docs/kubelet.md, Ranking)."""
    pod_stats: Mapping[str, PodStats] = field(default_factory=dict)
    """By pod uid."""
    filesystems: Filesystems = Filesystems()
    outcomes: Outcomes = Outcomes()
    own_pods: frozenset[str] = frozenset()
    """Uids of the pods that evictd itself runs in: never evicted."""
    api_pods_standalone: bool = False
    """evictd has no API server, but the runtime runs pods that an API server has bound to the node."""
    problems: tuple[Problem, ...] = ()
    absent: frozenset[Signal] = frozenset()
    """The signals that this node is known not to have, such as swap after swapoff; a signal that could not be read is not one."""
    pods_read: bool = True
    """Whether the pods were read; else `pods` and `pod_stats` are those of the last reading of them (`core.eviction.calm`)."""
    drops_page_cache: bool = False
    """Whether the kernel can be asked to drop page cache of pods (`memory.reclaim`)."""
    removed_pods: Mapping[str, RemovedPod] = field(default_factory=dict)
    """By uid the pods that are listed no more and hold something, or did so a moment ago."""

    @property
    def removes_pods(self) -> bool:
        """Whether a pod that is listed no more holds something still."""
        return any(pod.gone_at is None for pod in self.removed_pods.values())

    @property
    def memory_capacity(self) -> int | None:
        """The machine's memory in bytes; `None` where it was not read."""
        gauges = None if self.node is None else self.node.gauges
        return None if gauges is None else gauges.capacity_bytes

    @property
    def pods_unknown(self) -> bool:
        """Whether no pod is known because the container runtime did not answer; the node may have some."""
        return not self.pods and any(each.source == SourceKind.CONTAINER_RUNTIME.value for each in self.problems)

    def runs_nothing(self, pod: Pod) -> bool:
        """Whether nothing of a pod runs yet, as while its image is pulled: it holds neither memory nor PIDs nor swap."""
        return pod.phase == PENDING and pod.uid not in self.pod_stats


@frozen
class SignalObservation:
    """One signal as read: how much is available, of which capacity, and at what time."""

    available: Quantity
    capacity: Quantity
    time: int | None = None
    fill_rate: int | None = None
    """Units per second by which `available` falls, as measured shortly before; `None`: not measured."""
    stop_time: int | None = None
    """Nanoseconds that stops took here beyond their grace (`NodeStats.stop_time`)."""
    collect_time: int | None = None
    """Nanoseconds that collections took here (`NodeStats.collect_time`); only of disks."""
    unallocatable: Quantity | None = None
    """How much the documented formula exceeds `available` (`MemoryStats.unallocatable_bytes`); soft thresholds add it."""


def signal_observations(node: NodeStats) -> dict[Signal, SignalObservation]:
    """Return the observation of every signal; one whose numbers are missing is left out."""
    found = {signal: seen for signal in _OBSERVED if (seen := _observation(node, signal)) is not None}
    return found | _stalls(node)


def signal_observation(node: NodeStats, signal: Signal) -> SignalObservation | None:
    """Return one signal as these numbers allow; `None` where its numbers are missing."""
    return _stalls(node).get(signal) if signal in STALLS else _observation(node, signal)


def _observation(node: NodeStats, signal: Signal) -> SignalObservation | None:
    statistic, observe = _OBSERVED[signal]
    stats = statistic(node)
    return None if stats is None else observe(stats, node)


def _memory(memory: MemoryStats, node: NodeStats) -> SignalObservation | None:
    left, used, hidden = memory.available_bytes, memory.working_set_bytes, memory.unallocatable_bytes
    if left is None or used is None:
        return None
    return SignalObservation(
        available=of_bytes(left),
        capacity=of_bytes(left + used),
        time=memory.time,
        fill_rate=memory.fill_rate,
        stop_time=node.stop_time,
        unallocatable=None if hidden is None else of_bytes(hidden),
    )


def _disk(fs: FsStats, node: NodeStats, *, inodes: bool) -> SignalObservation | None:
    left, capacity, rate, quantity = fs.available_bytes, fs.capacity_bytes, fs.fill_rate, of_bytes
    if inodes:
        left, capacity, rate, quantity = fs.inodes_free, fs.inodes, fs.inodes_fill_rate, of_count
    if left is None or capacity is None:
        return None
    return SignalObservation(
        available=quantity(left),
        capacity=quantity(capacity),
        time=fs.time,
        fill_rate=rate,
        stop_time=node.stop_time,
        collect_time=node.collect_time,
    )


def _pids(rlimit: RlimitStats, node: NodeStats) -> SignalObservation | None:
    if rlimit.max_pid is None or rlimit.current is None:
        return None
    return SignalObservation(
        available=of_count(rlimit.max_pid - rlimit.current),
        capacity=of_count(rlimit.max_pid),
        time=rlimit.time,
        fill_rate=rlimit.fill_rate,
        stop_time=node.stop_time,
    )


def _swap(swap: SwapStats, _node: NodeStats) -> SignalObservation | None:
    left, used = swap.available_bytes, swap.usage_bytes
    if left is None or used is None:
        return None
    return SignalObservation(available=of_bytes(left), capacity=of_bytes(left + used), time=swap.time)


_OBSERVERS: Mapping[Resource, Callable[[Any, NodeStats], SignalObservation | None]] = {
    Resource.MEMORY: _memory,
    Resource.EPHEMERAL_STORAGE: partial(_disk, inodes=False),
    Resource.INODES: partial(_disk, inodes=True),
    Resource.PIDS: _pids,
    Resource.SWAP: _swap,
}
_OBSERVED = {
    signal: (attrgetter(spec.statistic), _OBSERVERS[spec.resource])
    for signal, spec in SIGNALS.items()
    if spec.stall is None
}


def stalled(stall: Stall, memory: MemoryStats | None, io: IOStats | None) -> int | None:
    """Return the share of time that these tasks stalled, in hundredths of a percent; `None` where it was not read."""
    return _share(stall, memory if stall.resource is StalledResource.MEMORY else io)


def _share(stall: Stall, stats: MemoryStats | IOStats | None) -> int | None:
    line = None if stats is None or stats.psi is None else getattr(stats.psi, stall.type.value)
    return None if line is None else round(line[_AVERAGES[stall.average]] * 100)


_AVERAGES = {10: 0, 60: 1, 300: 2}
"""Index in `PressureStall` of each average, by its window in seconds."""


def _stalls(node: NodeStats) -> dict[Signal, SignalObservation]:
    sources = (node.memory, node.pods_memory, node.io, node.pods_io)
    if not [each for each in sources if each is not None and each.psi is not None]:
        return {}  # no threshold needs them
    found = {}
    for signal, stall in STALLS.items():
        source = getattr(node, SIGNALS[signal].statistic)
        share = _share(stall, source)
        if share is not None:
            left = of_count(ALL_OF_THE_TIME - share)
            found[signal] = SignalObservation(available=left, capacity=of_count(ALL_OF_THE_TIME), time=source.time)
    return found
