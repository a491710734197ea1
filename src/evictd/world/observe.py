"""Makes the reading of the simulated node that the daemon's observer would make at this time.

Memory, processes and filesystems are as of now. Writable layers are as of the runtime's last reading of them (`layers_period`),
logs and volumes as of the last walk (`walk_age`). What a fault keeps from being read is absent.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from evictd.core.frozen import frozen
from evictd.core.model.config import (
    EvictionConfig,
    Policy,
    available_by,
    memory_formula,
    stall_signals,
    unallocatable_by,
)
from evictd.core.model.observation import Observation, Outcomes
from evictd.core.model.stats import (
    ContainerStats,
    DiskUsage,
    FsStats,
    IOStats,
    MemoryStats,
    NodeStats,
    PodStats,
    PressureStall,
    PSIStats,
    RlimitStats,
    SwapStats,
    VolumeStats,
)
from evictd.world.behaviours import OF_MEMORY, Behaviour, Stalls, Usage, is_now
from evictd.world.model import NodeSpec, Unread
from evictd.world.node import NodeMemory, SimulatedHost, SimulatedNode, SimulatedPod
from evictd.world.process import Process

_NOTHING = DiskUsage(0, 0)


@frozen
class _PodParts:
    """The measured usage of a pod; all of it is its first container's."""

    containers: tuple[ContainerStats, ...]
    volumes: tuple[VolumeStats, ...]
    memory: MemoryStats
    """Statistics have no time of their own: `PodStats.time` has it."""
    disk: DiskUsage
    deleted: DiskUsage
    """Deleted files that are still open; no part of `disk`, and looked for under policy Standard alone."""
    processes: int


@dataclass(slots=True)
class WorldObserver:
    """Reads one node. The readings of pods that never change are kept from cycle to cycle."""

    node: SimulatedNode
    config: EvictionConfig
    collect_time: int | None = None
    """Nanoseconds that the last collection took; `None`: there was none yet."""
    _with_stalls: bool = False
    _constant: dict[str, _PodParts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._with_stalls = bool(stall_signals(self.config))

    def observe(self, now: int, outcomes: Outcomes, stop_time: int | None) -> Observation:
        """Return the reading at a time."""
        world = self.node.world
        unread = {each.unread for each in world.faults if each.start <= now < each.start + each.duration}
        if Unread.EVERYTHING in unread:
            return Observation(node=None, outcomes=outcomes)
        running, memory = tuple(self.node.pods.values()), self.node.memory(now)
        read = (
            () if Unread.PODS in unread else (each for each in running if not each.unreadable or _readable(each, now))
        )
        stats = {each.pod.uid: self._pod(each, memory, now) for each in read}
        return Observation(
            node=self.node_stats(now, unread, stop_time),
            pods=tuple(each.pod for each in running),
            pod_stats=stats,
            filesystems=self.node.filesystems,
            outcomes=outcomes,
            own_pods=world.own_pods,
        )

    # --- the node -----------------------------------------------------------------------------------------------------

    def node_stats(self, now: int, unread: Collection[Unread] = (), stop_time: int | None = None) -> NodeStats:
        """Return the node's own numbers at a time."""
        memory, spec = self.node.memory(now), self.node.world.node
        (psi, io), (pods_psi, pods_io) = self._psi_of_all(now, hosts=True), self._psi_of_all(now)
        of_node, of_pods = self._memory_stats(memory, (psi, pods_psi), now)
        disks = NodeStats(name=spec.name) if Unread.DISK in unread else self.disk_stats(now)
        return replace(
            disks,
            memory=None if Unread.MEMORY in unread else of_node,
            pods_memory=None if Unread.PODS_MEMORY in unread else of_pods,
            rlimit=None if Unread.PIDS in unread else self._rlimit(now),
            swap=None if Unread.SWAP in unread else self._swap(memory, now),
            stop_time=stop_time,
            collect_time=self.collect_time,
            io=None if io is None else IOStats(time=now, psi=io),
            pods_io=None if pods_io is None else IOStats(time=now, psi=pods_io),
        )

    def disk_stats(self, now: int) -> NodeStats:
        """Return the numbers of the node's filesystems alone."""
        spec = self.node.world.node
        fs, image_fs = self._filesystem(now, images=False), self._filesystem(now, images=True)
        return NodeStats(name=spec.name, fs=fs, image_fs=image_fs, container_fs=fs if spec.split_layout else image_fs)

    def _memory_stats(
        self, memory: NodeMemory, psi: tuple[PSIStats | None, PSIStats | None], now: int
    ) -> tuple[MemoryStats, MemoryStats]:
        spec = self.node.world.node
        rate = self.node.growth(OF_MEMORY, now)
        limit = spec.memory if spec.allocatable_memory is None else spec.allocatable_memory
        of_pods = memory.pods_working_set
        formula, kernels = memory_formula(self.config), self._kernels_estimate(memory)
        available = self.memory_available(now)
        return (
            MemoryStats(
                time=now,
                available_bytes=available,
                usage_bytes=spec.memory - memory.available,
                working_set_bytes=spec.memory - available,
                fill_rate=rate,
                psi=psi[0],
                clean_file_bytes=memory.cache or None,
                mem_available_bytes=kernels,
                unallocatable_bytes=unallocatable_by(formula, memory.available, available),
                stalled=self._stalled(memory, now) if memory.cache else None,
            ),
            MemoryStats(
                time=now,
                available_bytes=limit - of_pods,
                usage_bytes=of_pods,
                working_set_bytes=of_pods,
                fill_rate=rate - sum(host.process.growth(OF_MEMORY, now) for host in self.node.hosts),
                psi=psi[1],
            ),
        )

    def memory_available(self, now: int) -> int:
        """Return the node's available memory by the formula in effect."""
        memory = self.node.memory(now)
        found = available_by(memory_formula(self.config), memory.available, self._kernels_estimate(memory))
        return memory.available if found is None else found

    def _kernels_estimate(self, memory: NodeMemory) -> int:
        spec = self.node.world.node
        return max(spec.memory - spec.unusable_memory - memory.anonymous + memory.swapped, 0)

    def _stalled(self, memory: NodeMemory, now: int) -> int:
        """Return hundredths of a percent of the time in which a task stalls: by its behaviours, or for pages that do not fit."""
        holders: tuple[SimulatedPod | SimulatedHost, ...] = (*self.node.pods.values(), *self.node.hosts)
        share = max((_stalls(each.spec.behaviours, each.process, now)[0] for each in holders), default=0.0)
        missing = memory.cache_wanted - memory.cache
        return max(round(share * 100), 10000 * missing // memory.cache_wanted if missing else 0)

    def _filesystem(self, now: int, *, images: bool) -> FsStats:
        disk = self.node.disk(images=images)
        used, inodes = self.node.disk_used(now, images=images)
        used, inodes = min(used, disk.capacity), min(inodes, disk.inodes)
        kinds, counts = self.node.kinds_on_disk(images=images)
        return FsStats(
            time=now,
            available_bytes=disk.capacity - used,
            capacity_bytes=disk.capacity,
            used_bytes=used,
            inodes_free=disk.inodes - inodes,
            inodes=disk.inodes,
            inodes_used=inodes,
            fill_rate=0 if used >= disk.capacity else self.node.growth(kinds, now),
            inodes_fill_rate=0 if inodes >= disk.inodes else self.node.growth(counts, now),
            read_only=disk.read_only,
        )

    def _rlimit(self, now: int) -> RlimitStats:
        rate = self.node.growth((Usage.PROCESSES,), now)
        return RlimitStats(
            time=now, max_pid=self.node.world.node.pids, current=self.node.processes(now), fill_rate=rate
        )

    def _swap(self, memory: NodeMemory, now: int) -> SwapStats | None:
        total = self.node.world.node.swap
        if not total:
            return None
        return SwapStats(time=now, available_bytes=total - memory.swapped, usage_bytes=memory.swapped)

    # --- pods ---------------------------------------------------------------------------------------------------------

    def _pod(self, running: SimulatedPod, memory: NodeMemory, now: int) -> PodStats:
        spec, process, pod = self.node.world.node, running.process, running.pod
        parts = self._parts(running, memory, now)
        stats: tuple[MemoryStats, IOStats | None] = parts.memory, None
        if self._with_stalls:
            memory_psi, io_psi = _psi(running, now)
            stats = replace(parts.memory, psi=memory_psi), IOStats(time=now, psi=io_psi)
        return PodStats(
            name=pod.name,
            namespace=pod.namespace,
            uid=pod.uid,
            containers=parts.containers,
            volumes=parts.volumes,
            memory=stats[0],
            ephemeral_storage=parts.disk,
            deleted_local=parts.deleted if self.config.policy is Policy.STANDARD else None,
            process_count=parts.processes,
            time=now,
            disk_time=max(now - spec.walk_age, process.started),
            layers_time=_layers_time(spec, process, now),
            io=stats[1],
        )

    def _parts(self, running: SimulatedPod, memory: NodeMemory, now: int) -> _PodParts:
        """Return the reading of a pod without its times; that of a pod that never changes is kept."""
        squeezed = memory.swapped > 0 or memory.cache < memory.cache_wanted
        process = running.process
        lasts = not squeezed and not process.ended and process.begun <= now  # else it is about to be restarted
        if lasts and (known := self._constant.get(running.pod.uid)) is not None:
            return known
        found = _pod_parts(running, memory, self.node.world.node, now)
        if process.is_still and lasts and found.containers and found.containers[0].rootfs is not None:
            self._constant[running.pod.uid] = found
        return found

    def _psi_of_all(self, now: int, *, hosts: bool = False) -> tuple[PSIStats | None, PSIStats | None]:
        """Return how long the tasks of all pods stall for memory and I/O, those of the host's parts included or not."""
        if not self._with_stalls:
            return None, None
        holders = (*self.node.pods.values(), *(self.node.hosts if hosts else ()))
        shares = [_stalls(each.spec.behaviours, each.process, now) for each in holders]
        memory, io = (max((each[i] for each in shares), default=0.0) for i in (0, 1))
        return _psi_stats(memory), _psi_stats(io)


def _layers_time(spec: NodeSpec, process: Process, now: int) -> int | None:
    """Return when the runtime last read the pod's writable layers; `None`: not since the pod was started."""
    read = now - now % spec.layers_period
    return read if read >= process.started else None


def _pod_parts(running: SimulatedPod, memory: NodeMemory, spec: NodeSpec, now: int) -> _PodParts:
    pod, process, layers_time = running.pod, running.process, _layers_time(spec, running.process, now)
    held = process.held(now)
    anonymous = held.get(Usage.MEMORY, 0) + held.get(Usage.MEMORY_VOLUME, 0)
    swapped = memory.swapped * anonymous // memory.pods if memory.swapped else 0
    cache = held.get(Usage.PAGE_CACHE, 0)
    if memory.cache < memory.cache_wanted:
        cache = cache * memory.cache // memory.cache_wanted
    working_set = anonymous - swapped + cache
    walked_at = max(now - spec.walk_age, process.started)
    walked = held if walked_at == now else process.held(walked_at)
    layers = None if layers_time is None else held if layers_time == now else process.held(layers_time)
    logs = DiskUsage(walked.get(Usage.LOGS, 0), 0)
    rootfs = None if layers is None else DiskUsage(layers.get(Usage.LAYER, 0), layers.get(Usage.LAYER_INODES, 0))
    of_volume = DiskUsage(walked.get(Usage.VOLUME, 0), walked.get(Usage.VOLUME_INODES, 0))
    volume = next((each for each in pod.volumes if each.local), None)
    measured = [part for part in (rootfs, logs, of_volume) if part is not None]
    first, *others = pod.containers
    return _PodParts(
        containers=(
            ContainerStats(first.name, working_set, rootfs, logs),
            *(ContainerStats(each.name, 0, _NOTHING, _NOTHING) for each in others),
        ),
        volumes=() if volume is None else (VolumeStats(volume.name, *of_volume),),
        memory=MemoryStats(
            usage_bytes=working_set,
            working_set_bytes=working_set,
            swap_bytes=swapped if spec.swap else None,
            clean_file_bytes=cache or None,
        ),
        disk=DiskUsage(sum(each.used_bytes or 0 for each in measured), sum(each.inodes_used or 0 for each in measured)),
        deleted=DiskUsage(walked.get(Usage.UNLINKED, 0), 0),
        processes=1 + held.get(Usage.PROCESSES, 0),
    )


def _readable(running: SimulatedPod, now: int) -> bool:
    age = now - running.process.started
    return not any(is_now(each.start, each.duration, each.every, age) for each in running.unreadable)


def _stalls(behaviours: Iterable[Behaviour], process: Process, now: int) -> tuple[float, float]:
    age = now - process.started
    found = [
        each
        for each in behaviours
        if isinstance(each, Stalls) and is_now(each.start, each.duration, None, age) and not process.ended
    ]
    return max((each.memory for each in found), default=0.0), max((each.io for each in found), default=0.0)


def _psi(running: SimulatedPod, now: int) -> tuple[PSIStats | None, PSIStats | None]:
    memory, io = _stalls(running.spec.behaviours, running.process, now)
    return _psi_stats(memory), _psi_stats(io)


def _psi_stats(share: float) -> PSIStats:
    line = PressureStall(share, share, share, 0)
    return PSIStats(full=line, some=line)
