"""Declares a world: the node, its pods with their behaviours and owners, the host, the API server and the faults.

A world is a plain value. Bytes are ints, times and durations ints of nanoseconds since the beginning of the world; ages are
nanoseconds since a process was started. `codec` reads it from a file, `loop.play` plays it.
"""

from collections.abc import Iterable
from enum import Enum
from uuid import UUID, uuid5

from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionMethod
from evictd.core.model.pod import Pod
from evictd.core.model.resources import IN_MEMORY, MEMORY
from evictd.core.units.duration import MILLISECOND, MINUTE, SECOND
from evictd.world.behaviours import Behaviour, Usage, takes_without_bound, within


@frozen
class Disk:
    """One device: bytes and inodes."""

    capacity: int
    inodes: int = 1 << 24
    used: int = 0
    """Bytes of the system, which never change."""
    inodes_used: int = 0
    read_only: bool = False


@frozen
class NodeImage:
    """An image on the node; a running pod that names it keeps it from being collected."""

    name: str
    size: int
    inodes: int = 0
    pinned: bool = False


@frozen
class DeadContainers:
    """Layers of dead containers, removed by the first collection of containers."""

    size: int = 0
    inodes: int = 0


@frozen
class NodeSpec:
    """The machine and its runtime."""

    memory: int
    name: str = "node"
    allocatable_memory: int | None = None
    """The limit of the cgroup of all pods; `None`: the capacity."""
    unusable_memory: int = 0
    """Memory that counts as available although processes cannot allocate it: the kernel's watermarks."""
    swap: int = 0
    pids: int = 32768
    nodefs: Disk = Disk(capacity=100 << 30)
    imagefs: Disk | None = None
    """The device of the images; `None`: they lie on `nodefs`."""
    split_layout: bool = False
    """With `imagefs`: the writable layers lie on `nodefs`, and only the images on `imagefs`."""
    images: tuple[NodeImage, ...] = ()
    dead_containers: DeadContainers = DeadContainers()
    stop_overhead: int = 200 * MILLISECOND
    """From the end of a process until the runtime says so."""
    release_delay: int = 1 * SECOND
    """From the end of a pod until the filesystem shows its bytes as free."""
    collection_time: int = 500 * MILLISECOND
    layers_period: int = 10 * SECOND
    """Interval at which the runtime reads the writable layers (containerd `stats_collect_period`)."""
    walk_age: int = 100 * MILLISECOND
    """Age of the measurements of logs and volumes."""

    @property
    def memory_of_pods(self) -> int:
        """What all pods together may use: the limit of their cgroup, or the capacity."""
        return self.memory if self.allocatable_memory is None else self.allocatable_memory


@frozen
class HostUse:
    """A part of the host that takes from the node and is no pod."""

    name: str
    behaviours: tuple[Behaviour, ...]
    oom_score_adj: int | None = None
    """`None`: memory of the kernel, which has no process to kill."""


@frozen
class WorldPod:
    """A pod, when it comes and what it does."""

    pod: Pod
    behaviours: tuple[Behaviour, ...] = ()
    start: int = 0
    image: str = ""
    deleted_at: int | None = None
    """Time at which another component deletes it, with its own grace period."""
    culprit: bool | None = None
    """Whether it is a cause of the incident; `None`: it is if it takes without bound."""

    @property
    def is_culprit(self) -> bool:
        """Whether it is a cause: it is marked, or takes without bound."""
        return takes_without_bound(self.behaviours) if self.culprit is None else self.culprit


@frozen
class Owner:
    """The owner that creates a pod's successor when the pod was evicted or has exited."""

    name: str
    """`Kind/name`, as `Pod.owner` has it; pods of one namespace only."""
    delay: int = 2 * SECOND
    here: float = 1.0
    """The probability that the successor is bound to this node."""
    tolerates: bool = False
    """Whether its pods tolerate the taints of pressure. Else a successor goes to another node while the node has a pressure
    condition, and where `here` is 1 it waits for the end of that."""


@frozen
class DisruptionBudget:
    """A PodDisruptionBudget."""

    pods: frozenset[str]
    """Full names, `namespace/name`, of pods in the world; their successors belong to it too."""
    allowed: int = 0
    """Number of them that may be gone at a time."""


@frozen
class Outage:
    """A time in which the API server answers every request with this status; 0: it does not answer."""

    start: int
    duration: int
    status: int = 0


@frozen
class ApiServer:
    """The method by which evictd ends pods, and the API server's answers."""

    termination: EvictionMethod = EvictionMethod.AUTO
    kubelet: bool = True
    """Whether a kubelet runs the pods (`choose_eviction_method`)."""
    budgets: tuple[DisruptionBudget, ...] = ()
    retry_after: int | None = 10 * SECOND
    outages: tuple[Outage, ...] = ()


class Unread(Enum):
    """The part of a reading that a fault hides."""

    EVERYTHING = "everything"
    MEMORY = "memory"
    PODS_MEMORY = "podsMemory"
    DISK = "disk"
    PIDS = "pids"
    SWAP = "swap"
    PODS = "pods"
    """The statistics of every pod."""

    __hash__ = object.__hash__


@frozen
class Fault:
    """A time in which something is not read."""

    unread: Unread
    start: int
    duration: int


@frozen
class World:
    """A node and all that happens on it."""

    name: str
    node: NodeSpec
    pods: tuple[WorldPod, ...] = ()
    owners: tuple[Owner, ...] = ()
    host: tuple[HostUse, ...] = ()
    api_server: ApiServer = ApiServer()
    faults: tuple[Fault, ...] = ()
    begin: int = 0
    """Time of evictd's first cycle; pods of `start` 0 exist then and have behaved since time 0."""
    duration: int = 10 * MINUTE
    """Time of its end, counted from time 0."""
    seed: int = 0
    watch: bool = True
    """Whether a crossing of memory or PIDs begins a cycle at once, as the daemon's threshold watch does."""
    own_pods: frozenset[str] = frozenset()
    """Uids of the pods that evictd runs in."""
    description: str = ""
    source: str = ""
    """The public reports, `owner/repository#number`, separated by commas."""

    @property
    def played(self) -> int:
        """The nanoseconds that are played: nothing is known of what comes after them."""
        return self.duration - self.begin


def pod_uid(full_name: str) -> str:
    """Return the uid of a world's pod: random to look at, as a real one, and the same in each run."""
    return str(uuid5(_PODS, full_name))


_PODS = UUID(int=0)


def memory_limit(pod: Pod) -> int | None:
    """Return the sum of the containers' memory limits; `None` where one of them has none."""
    limits = [each.limits.get(MEMORY) for each in pod.containers]
    return None if not limits or None in limits else sum(each.value() for each in limits if each is not None)


def within_volumes(behaviours: Iterable[Behaviour], pod: Pod) -> tuple[Behaviour, ...]:
    """Return the behaviours of a pod whose emptyDirs in memory are as large as the kubelet makes them: beyond that writes fail.

    Each is as large as its `sizeLimit`, and no larger than the pod's memory limit.
    """
    limit, most = memory_limit(pod), 0
    for size in [each.size_limit for each in pod.volumes if each.medium == IN_MEMORY] or [None]:
        bounds = [] if limit is None else [limit]
        bounds += [] if size is None or size.nano <= 0 else [size.value()]
        if not bounds:
            return tuple(behaviours)
        most += min(bounds)
    return within(behaviours, Usage.MEMORY_VOLUME, most)
