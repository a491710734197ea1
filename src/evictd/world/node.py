"""Holds the simulated node: its running pods, their and the host's usage, and the contents of the disks.

It computes one moment only: `loop` moves the time, `kernel` kills, `lifecycle` starts and ends pods, `observe` makes readings.

**Memory.** Behaviours take anonymous memory. The part above the usable memory goes to swap; active page cache gets the rest.
When neither suffices `short` is above zero, and the kernel has to kill. A pod's share of the swapped bytes is its share of all
pods' memory; that of the page cache that is kept, its share of what pods and host want.

**Disks and PIDs.** A `grow` stands still while its disk is full or no PID is free (`Standstills`). Amounts that are held from the
beginning, bursts and images can exceed a capacity all the same; a reading shows the capacity then. Logs and volumes lie on
nodefs, images on imagefs, writable layers with the images unless the layout is split (`evictd.core.eviction.reclaim.Layout`).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from evictd.core.frozen import frozen
from evictd.core.model.observation import Filesystems, RemovedPod
from evictd.core.model.pod import Pod
from evictd.core.model.signal import DISK_SIGNALS, Filesystem, NodeCondition, Signal
from evictd.core.units.duration import MILLISECOND, SECOND
from evictd.world.behaviours import ANONYMOUS, Unreadable, Usage
from evictd.world.model import DeadContainers, Disk, HostUse, NodeImage, World, WorldPod, memory_limit
from evictd.world.process import Process, Standstills

_PROCESSES = (Usage.PROCESSES,)


@dataclass(slots=True, kw_only=True)
class SimulatedPod:
    """A pod that exists on the node: it runs, or is ending."""

    spec: WorldPod
    pod: Pod
    slot: str
    """The full name of the pod in the world that it is, or that it is a successor of."""
    process: Process
    memory_limit: int | None = field(init=False)
    leaving_until: int | None = None
    """Time at which it is killed at the latest; `None` while nothing ends it."""
    stopping_since: int = 0
    """Time at which it was first asked to end."""
    restarts: int = 0
    unreadable: tuple[Unreadable, ...] = ()
    """Times at which its statistics cannot be read."""

    def __post_init__(self) -> None:
        self.memory_limit = memory_limit(self.pod)


@dataclass(slots=True, kw_only=True)
class SimulatedHost:
    """A part of the host."""

    spec: HostUse
    process: Process


Holder = SimulatedPod | SimulatedHost


@frozen
class NodeMemory:
    """The memory of the node at one time, in bytes."""

    anonymous: int
    pods: int
    """Anonymous memory of all pods, swap included."""
    swapped: int
    cache: int
    """Active page cache that is kept, the host's among it."""
    cache_wanted: int
    short: int
    """Bytes that fit neither into memory nor into swap; above zero the kernel has to kill."""
    available: int
    kernels_estimate: int
    """What the kernel estimates that processes can allocate, as `MemAvailable` of /proc/meminfo."""
    pods_working_set: int


_IN_VOLUMES = frozenset({Usage.VOLUME, Usage.VOLUME_INODES})


@dataclass(slots=True, kw_only=True)
class Shown:
    """Bytes of a pod that is gone, which the filesystem still counts until a time, when the kubelet removes its volumes."""

    uid: str
    since: int
    until: int
    held: Mapping[Usage, int]


@dataclass(slots=True)
class SimulatedNode:
    """The node. `changed` must be called after pods were added, removed, restarted or ended."""

    world: World
    pods: dict[str, SimulatedPod] = field(default_factory=dict)
    """By uid, in the order of their arrival."""
    hosts: list[SimulatedHost] = field(default_factory=list)
    images: dict[str, NodeImage] = field(default_factory=dict)
    dead: DeadContainers = field(default_factory=DeadContainers)
    left: dict[Usage, int] = field(default_factory=dict)
    """Usages that gone pods have left on the node's disk."""
    shown: list[Shown] = field(default_factory=list)
    moving: list[SimulatedPod] = field(default_factory=list)
    """The pods whose amounts change."""
    conditions: tuple[NodeCondition, ...] = ()
    standstills: Standstills = field(default_factory=Standstills)
    filesystems: Filesystems = field(init=False)
    """The layout of the disks."""
    _ran_out: set[Signal] = field(default_factory=set)
    """The signals of which nothing is left."""
    _still: Counter[Usage] = field(default_factory=Counter)
    _known: tuple[int, Counter[Usage]] | None = None
    _memory: tuple[int, NodeMemory] | None = None
    _growths: tuple[int, dict[tuple[Usage, ...], int]] | None = None

    def __post_init__(self) -> None:
        self.hosts = [
            SimulatedHost(spec=each, process=Process(each.behaviours, 0, self.standstills)) for each in self.world.host
        ]
        self.images = {each.name: each for each in self.world.node.images}
        self.dead = self.world.node.dead_containers
        dedicated = self.world.node.imagefs is not None
        split = dedicated and self.world.node.split_layout
        self.filesystems = Filesystems(dedicated_image_fs=dedicated, split_container_fs=split)

    def holders(self) -> tuple[Holder, ...]:
        """Return what takes from the node: the pods and the parts of the host."""
        return (*self.pods.values(), *self.hosts)

    # --- what is held -------------------------------------------------------------------------------------------------

    def changed(self) -> None:
        """Forget what was added up."""
        self._known = self._memory = self._growths = None
        self.moving = [pod for pod in self.pods.values() if not _is_constant(pod.process)]
        self._still = Counter()
        for pod in self.pods.values():
            if _is_constant(pod.process):
                self._still.update(pod.process.held(pod.process.begun))

    def held(self, now: int) -> Mapping[Usage, int]:
        """Return what all pods hold."""
        if self._known is None or self._known[0] != now:
            total = self._still.copy()
            for pod in self.moving:
                total.update(pod.process.held(now))
            self._known = now, total
        return self._known[1]

    def held_by_host(self, now: int) -> Mapping[Usage, int]:
        """Return what the host holds."""
        total = Counter[Usage]()
        for host in self.hosts:
            total.update(host.process.held(now))
        return total

    def _changing(self) -> Iterator[Process]:
        holders: tuple[Holder, ...] = (*self.moving, *self.hosts)
        return (each.process for each in holders)

    def growth(self, of: tuple[Usage, ...], now: int) -> int:
        """Return by how much a second pods and host grow; a reading and the watch ask for the same several times."""
        if self._growths is None or self._growths[0] != now:
            self._growths = now, {}
        known = self._growths[1]
        if of not in known:
            free = self._free_memory(now)
            known[of] = sum(each.growth(of, now, free) for each in self._changing())
        return known[of]

    def growth_of_pods(self, of: tuple[Usage, ...], now: int) -> int:
        """Return by how much a second the pods grow."""
        free = self._free_memory(now)
        return self.growth(of, now) - sum(host.process.growth(of, now, free) for host in self.hosts)

    def next_change(self, now: int) -> int | None:
        """Return when a growth changes, or a pod may exceed its own memory limit."""
        found = [at for each in self._changing() if (at := each.next_change(now)) is not None]
        free = self._free_memory(now)
        found += [at for pod in self.moving if (at := limit_exceeded(pod, now, free)) is not None]
        return min(found, default=None)

    def memory(self, now: int) -> NodeMemory:
        """Return the state of memory."""
        if self._memory is None or self._memory[0] != now:
            self._memory = now, self._memory_at(now)
        return self._memory[1]

    def _memory_at(self, now: int) -> NodeMemory:
        spec, held, host = self.world.node, self.held(now), self.held_by_host(now)
        pods = held.get(Usage.MEMORY, 0) + held.get(Usage.MEMORY_VOLUME, 0)
        anonymous = pods + host.get(Usage.MEMORY, 0)
        usable = spec.memory - spec.unusable_memory
        swapped = min(max(anonymous - usable, 0), spec.swap, pods)
        of_pods = held.get(Usage.PAGE_CACHE, 0)
        wanted = of_pods + host.get(Usage.PAGE_CACHE, 0)
        cache = min(wanted, max(usable - anonymous + swapped, 0))
        return NodeMemory(
            anonymous=anonymous,
            pods=pods,
            swapped=swapped,
            cache=cache,
            cache_wanted=wanted,
            short=max(anonymous - swapped - usable, 0),
            available=max(spec.memory - (anonymous - swapped) - cache, 0),
            kernels_estimate=max(usable - anonymous + swapped, 0),
            pods_working_set=pods - swapped + (cache * of_pods // wanted if wanted else 0),
        )

    def take_rest(self, since: int, now: int) -> None:
        """Let the pods that take all memory that is left take their part of a span."""
        takers = [each for each in self._changing() if each.takes(since)]
        for each in takers:
            each.take(since, now, self._free_memory(now))
            self._known = self._memory = None

    def _free_memory(self, now: int) -> int:
        """Return what processes can still allocate without swap."""
        return self.world.node.memory - self.world.node.unusable_memory - self.memory(now).anonymous

    # --- PIDs and disks -----------------------------------------------------------------------------------------------

    def processes(self, now: int) -> int:
        """Return how many processes there are, one for each pod and what they fork, at most as many as PIDs."""
        return self.world.node.pids - max(self._free_pids(now), 0)

    def _free_pids(self, now: int) -> int:
        found = self.held(now).get(Usage.PROCESSES, 0) + self.held_by_host(now).get(Usage.PROCESSES, 0)
        return self.world.node.pids - found - len(self.pods)

    def bound_growth(self, since: int, now: int) -> list[tuple[int, Signal]]:
        """Let growth stand still from when a resource ran out in this span, and go on where some of it is free again.

        Return the time and the signal of each resource that ran out in this span.
        """
        found: list[tuple[int, Signal]] = []
        for signal, usages, free in self._bounded():
            stands, is_new = self.standstills.lasts(usages[0]), signal not in self._ran_out
            if free(now) > 0:
                self._ran_out.discard(signal)
                if stands:
                    self.standstills.end(usages, now)
                    self._known = self._memory = self._growths = None
                continue
            grows = not stands and self.growth(usages, now) > 0
            if not grows and not is_new:
                continue
            at = _first_without(free, since, now)
            if is_new:
                self._ran_out.add(signal)
                found.append((at, signal))
            if grows:
                self.standstills.begin(usages, at)
                self._known = self._memory = self._growths = None
        return found

    def _bounded(self) -> Iterator[tuple[Signal, tuple[Usage, ...], Callable[[int], int]]]:
        """Yield for each resource that can run out its signal, its usages, and a function that returns the free amount."""
        yield Signal.PID_AVAILABLE, _PROCESSES, self._free_pids
        for images in (False, True) if self.filesystems.dedicated_image_fs else (False,):
            signals = DISK_SIGNALS[Filesystem.IMAGEFS if images else Filesystem.NODEFS]
            for part, kinds in enumerate(kinds_on_disk(self.filesystems, images=images)):
                if kinds:
                    yield signals[part], kinds, partial(self._free_on_disk, images, part)

    def _free_on_disk(self, images: bool, part: int, now: int) -> int:
        """Return the free bytes (part 0) or inodes (part 1)."""
        disk = self.disk(images=images)
        return (disk.capacity, disk.inodes)[part] - self.disk_used(now, images=images)[part]

    def disk_used(self, now: int, *, images: bool) -> tuple[int, int]:
        """Return the bytes and inodes used of the disk of the images, or of the node's own; not bounded by its capacity."""
        spec, disk = self.world.node, self.disk(images=images)
        used, inodes = disk.used, disk.inodes_used
        for holder in self._on_disks(now):
            size, count = part_on_disk(holder, self.filesystems, images=images)
            used, inodes = used + size, inodes + count
        if images or spec.imagefs is None:
            used += sum(each.size for each in self.images.values())
            inodes += sum(each.inodes for each in self.images.values())
        if spec.imagefs is None or images is not spec.split_layout:
            used, inodes = used + self.dead.size, inodes + self.dead.inodes
        return used, inodes

    def disk(self, *, images: bool) -> Disk:
        """Return the disk of the images, or the node's own."""
        spec = self.world.node
        return spec.imagefs if images and spec.imagefs is not None else spec.nodefs

    def _on_disks(self, now: int) -> Iterator[Mapping[Usage, int]]:
        yield self.held(now)
        yield self.held_by_host(now)
        yield self.left
        yield from (each.held for each in self.shown if each.until > now)

    def removed_pods(self, now: int) -> Mapping[str, RemovedPod]:
        """Return by uid the pods that are gone and whose volumes the kubelet has not removed yet."""
        return {
            each.uid: RemovedPod(first_seen=each.since, has_volumes=True)
            for each in self.shown
            if each.until > now and not _IN_VOLUMES.isdisjoint(each.held)
        }

    def unused_images(self) -> list[NodeImage]:
        """Return the images that no pod on the node uses, in the order in which they came."""
        used = {pod.spec.image for pod in self.pods.values()}
        return [each for each in self.images.values() if each.name not in used and not each.pinned]


def part_on_disk(held: Mapping[Usage, int], filesystems: Filesystems, *, images: bool) -> tuple[int, int]:
    """Return the bytes and inodes of these amounts that lie on the disk of the images, or on the node's own."""
    if not held:
        return 0, 0
    kinds, counts = kinds_on_disk(filesystems, images=images)
    return sum(held.get(each, 0) for each in kinds), sum(held.get(each, 0) for each in counts)


def kinds_on_disk(filesystems: Filesystems, *, images: bool) -> tuple[tuple[Usage, ...], tuple[Usage, ...]]:
    """Return the usages of bytes and of inodes that lie on the disk of the images, or on the node's own."""
    one = not filesystems.dedicated_image_fs
    kinds: tuple[Usage, ...] = ()
    counts: tuple[Usage, ...] = ()
    if one or images is not bool(filesystems.split_container_fs):
        kinds, counts = (Usage.LAYER,), (Usage.LAYER_INODES,)
    if one or not images:
        kinds += (Usage.LOGS, Usage.VOLUME, Usage.HOST_PATH, Usage.UNLINKED)
        counts += (Usage.VOLUME_INODES, Usage.HOST_PATH_INODES)
    if one or images:
        kinds += (Usage.IMAGE_DISK,)
    return kinds, counts


def limit_exceeded(pod: SimulatedPod, now: int, free: int) -> int | None:
    """Return when a pod next exceeds its memory limit if it grows on as it does; `None` if it does not.

    Files in memory alone may exceed it already: there is no process to kill then.
    """
    process = pod.process
    if pod.memory_limit is None or (growth := process.growth(ANONYMOUS, now, free)) <= 0:
        return None
    held = process.held(now)
    left = pod.memory_limit - sum(held.get(each, 0) for each in ANONYMOUS)
    if left < 0 and not process.growth((Usage.MEMORY,), now, free):
        return None
    return now + max(left * SECOND // growth, 0) + 1


def _first_without(free: Callable[[int], int], since: int, now: int) -> int:
    """Return when nothing was free first in a span at whose end nothing is, to a millisecond."""
    while now - since > MILLISECOND:
        middle = (since + now) // 2
        if free(middle) > 0:
            since = middle
        else:
            now = middle
    return now


def _is_constant(process: Process) -> bool:
    return process.is_still and not process.ended and process.begun == process.started
