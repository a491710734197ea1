"""Makes the reading of the simulated node that the daemon's observer would make at this time.

Memory, processes and filesystems are as of now. Writable layers are as of the runtime's last reading of them (`layers_period`),
logs and volumes as of the last walk (`walk_age`). What a fault keeps from being read is absent.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

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
from evictd.world.behaviours import OF_MEMORY, Stalls, Usage, is_now
from evictd.world.model import NodeSpec, Unread
from evictd.world.node import Holder, NodeMemory, SimulatedNode, SimulatedPod, kinds_on_disk
from evictd.world.process import Process

_NOTHING = DiskUsage(0, 0)


@dataclass(slots=True)
class WorldObserver:
    """Reads one node. The readings of pods that never change are kept from cycle to cycle."""

    node: SimulatedNode
    config: EvictionConfig
    collect_time: int | None = None
    """Nanoseconds that the last collection took; `None`: there was none yet."""
    _with_stalls: bool = False
    _constant: dict[str, PodStats] = field(default_factory=dict)

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
            removed_pods=self.node.removed_pods(now),
            filesystems=self.node.filesystems,
            outcomes=outcomes,
            own_pods=world.own_pods,
        )

    # --- the node -----------------------------------------------------------------------------------------------------

    def node_stats(self, now: int, unread: Collection[Unread] = (), stop_time: int | None = None) -> NodeStats:
        """Return the node's own numbers at a time."""
        memory = self.node.memory(now)
        psi, io = self._psi(self.node.holders(), now)
        pods_psi, pods_io = self._psi(self.node.pods.values(), now)
        disks = NodeStats(name=self.node.world.node.name) if Unread.DISK in unread else self.disk_stats(now)
        return replace(
            disks,
            memory=None if Unread.MEMORY in unread else self._memory(memory, psi, now),
            pods_memory=None if Unread.PODS_MEMORY in unread else self._pods_memory(memory, pods_psi, now),
            rlimit=None if Unread.PIDS in unread else self._rlimit(now),
            swap=None if Unread.SWAP in unread else self._swap(memory, now),
            stop_time=stop_time,
            collect_time=self.collect_time,
            io=io,
            pods_io=pods_io,
        )

    def disk_stats(self, now: int) -> NodeStats:
        """Return the numbers of the node's filesystems alone."""
        spec = self.node.world.node
        fs, image_fs = self._filesystem(now, images=False), self._filesystem(now, images=True)
        return NodeStats(name=spec.name, fs=fs, image_fs=image_fs, container_fs=fs if spec.split_layout else image_fs)

    def _memory(self, memory: NodeMemory, psi: PSIStats | None, now: int) -> MemoryStats:
        capacity, available = self.node.world.node.memory, self.memory_available(now)
        return MemoryStats(
            time=now,
            available_bytes=available,
            usage_bytes=capacity - memory.available,
            working_set_bytes=capacity - available,
            fill_rate=self.node.growth(OF_MEMORY, now),
            psi=psi,
            clean_file_bytes=memory.cache or None,
            mem_available_bytes=memory.kernels_estimate,
            unallocatable_bytes=unallocatable_by(memory_formula(self.config), memory.available, available),
            stalled=self._stalled(memory, now) if memory.cache else None,
        )

    def _pods_memory(self, memory: NodeMemory, psi: PSIStats | None, now: int) -> MemoryStats:
        return MemoryStats(
            time=now,
            available_bytes=self.node.world.node.memory_of_pods - memory.pods_working_set,
            usage_bytes=memory.pods_working_set,
            working_set_bytes=memory.pods_working_set,
            fill_rate=self.node.growth_of_pods(OF_MEMORY, now),
            psi=psi,
        )

    def memory_available(self, now: int) -> int:
        """Return the node's available memory by the formula in effect."""
        memory = self.node.memory(now)
        found = available_by(memory_formula(self.config), memory.available, memory.kernels_estimate)
        return memory.available if found is None else found

    def _stalled(self, memory: NodeMemory, now: int) -> int:
        """Return hundredths of a percent of the time in which a task stalls: by its behaviours, or for pages that do not fit."""
        share = max((_stalls(each, now)[0] for each in self.node.holders()), default=0.0)
        missing = memory.cache_wanted - memory.cache
        return max(round(share * 100), 10000 * missing // memory.cache_wanted if missing else 0)

    def _filesystem(self, now: int, *, images: bool) -> FsStats:
        disk = self.node.disk(images=images)
        used, inodes = self.node.disk_used(now, images=images)
        used, inodes = min(used, disk.capacity), min(inodes, disk.inodes)
        kinds, counts = kinds_on_disk(self.node.filesystems, images=images)
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
        spec, process = self.node.world.node, running.process
        stats = self._untimed(running, memory, now)
        psi, io = self._psi((running,), now)
        if psi is not None and stats.memory is not None:
            stats = replace(stats, memory=replace(stats.memory, psi=psi))
        return replace(
            stats,
            time=now,
            disk_time=max(now - spec.walk_age, process.started),
            layers_time=_layers_time(spec, process, now),
            io=io,
        )

    def _untimed(self, running: SimulatedPod, memory: NodeMemory, now: int) -> PodStats:
        """Return the reading of a pod without its times; that of a pod that never changes is kept."""
        squeezed = memory.swapped > 0 or memory.cache < memory.cache_wanted
        process = running.process
        lasts = not squeezed and not process.ended and process.begun <= now  # else it is about to be restarted
        if lasts and (known := self._constant.get(running.pod.uid)) is not None:
            return known
        found = self._measured(running, memory, now)
        if process.is_still and lasts and found.containers and found.containers[0].rootfs is not None:
            self._constant[running.pod.uid] = found
        return found

    def _measured(self, running: SimulatedPod, memory: NodeMemory, now: int) -> PodStats:
        """Measure a pod; all that it uses is its first container's."""
        spec, pod, process = self.node.world.node, running.pod, running.process
        held = process.held(now)
        of_memory = _pod_memory(held, memory, spec)
        walked = process.held(max(now - spec.walk_age, process.started))
        layers_time = _layers_time(spec, process, now)
        layers = None if layers_time is None else process.held(layers_time)
        logs = DiskUsage(walked.get(Usage.LOGS, 0), 0)
        rootfs = None if layers is None else DiskUsage(layers.get(Usage.LAYER, 0), layers.get(Usage.LAYER_INODES, 0))
        of_volume = DiskUsage(walked.get(Usage.VOLUME, 0), walked.get(Usage.VOLUME_INODES, 0))
        volume = next((each for each in pod.volumes if each.local), None)
        measured = [part for part in (rootfs, logs, of_volume) if part is not None]
        first, *others = pod.containers
        return PodStats(
            name=pod.name,
            namespace=pod.namespace,
            uid=pod.uid,
            containers=(
                ContainerStats(first.name, of_memory.working_set_bytes, rootfs, logs),
                *(ContainerStats(each.name, 0, _NOTHING, _NOTHING) for each in others),
            ),
            volumes=() if volume is None else (VolumeStats(volume.name, *of_volume),),
            memory=of_memory,
            ephemeral_storage=DiskUsage(*(sum(each[i] or 0 for each in measured) for i in (0, 1))),
            deleted_local=DiskUsage(walked.get(Usage.UNLINKED, 0), 0)
            if self.config.policy is Policy.STANDARD
            else None,
            process_count=1 + held.get(Usage.PROCESSES, 0),
        )

    def _psi(self, holders: Iterable[Holder], now: int) -> tuple[PSIStats | None, IOStats | None]:
        """Return how long tasks stall for memory and for I/O; `None` where no threshold is about that."""
        if not self._with_stalls:
            return None, None
        shares = [_stalls(each, now) for each in holders]
        memory, io = (_psi_stats(max((each[i] for each in shares), default=0.0)) for i in (0, 1))
        return memory, IOStats(time=now, psi=io)


def _layers_time(spec: NodeSpec, process: Process, now: int) -> int | None:
    """Return when the runtime last read the pod's writable layers; `None`: not since the pod was started."""
    read = now - now % max(spec.layers_period, 1)
    return read if read >= process.started else None


def _pod_memory(held: Mapping[Usage, int], memory: NodeMemory, spec: NodeSpec) -> MemoryStats:
    """Return the memory of a pod: of what is swapped out its part is that of all pods, of the page cache kept that of all."""
    anonymous = held.get(Usage.MEMORY, 0) + held.get(Usage.MEMORY_VOLUME, 0)
    swapped = memory.swapped * anonymous // memory.pods if memory.swapped else 0
    cache = held.get(Usage.PAGE_CACHE, 0)
    if memory.cache < memory.cache_wanted:
        cache = cache * memory.cache // memory.cache_wanted
    working_set = anonymous - swapped + cache
    return MemoryStats(
        usage_bytes=working_set,
        working_set_bytes=working_set,
        swap_bytes=swapped if spec.swap else None,
        clean_file_bytes=cache or None,
    )


def _readable(running: SimulatedPod, now: int) -> bool:
    age = now - running.process.started
    return not any(is_now(each.start, each.duration, each.every, age) for each in running.unreadable)


def _stalls(holder: Holder, now: int) -> tuple[float, float]:
    """Return the parts of the time, in percent, in which a holder stalls for memory and for I/O."""
    process = holder.process
    found = [
        each
        for each in holder.spec.behaviours
        if isinstance(each, Stalls) and is_now(each.start, each.duration, None, now - process.started)
    ]
    if process.ended:
        return 0.0, 0.0
    return max((each.memory for each in found), default=0.0), max((each.io for each in found), default=0.0)


def _psi_stats(share: float) -> PSIStats:
    line = PressureStall(share, share, share, 0)
    return PSIStats(full=line, some=line)
