"""Makes a world of one reading of a node, so that it can be played on from there.

Each pod goes on holding what it was measured to use, the host what belongs to no pod. The clean file pages of both, where they
were measured, are page cache that the kernel drops when memory is short. The growth asked for is added. Images and dead
containers are not in a reading: what they hold counts as the host's, so no collection frees any of it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from evictd.core.model.observation import Filesystems
from evictd.core.model.pod import Pod
from evictd.core.model.stats import FsStats, MemoryStats, NodeStats, PodStats
from evictd.world.behaviours import Behaviour, Hold, Unreadable, Usage
from evictd.world.model import Disk, HostUse, NodeSpec, World, WorldPod
from evictd.world.node import part_on_disk

_NO_DISK = Disk(capacity=1 << 50)
"""The filesystem of a reading without one: it never runs full."""
_NO_MEMORY = 1 << 50


def world_of(
    node: NodeStats,
    pods: Iterable[Pod],
    stats: Mapping[str, PodStats],
    *,
    name: str,
    filesystems: Filesystems,
    behaviours: Mapping[str, tuple[Behaviour, ...]],
    gone: Collection[str] = frozenset(),
    begin: int = 0,
    duration: int,
) -> World:
    """Return the world that goes on from a reading at the time `begin` until `duration`.

    `behaviours` are what pods do from then on, by uid; `gone` are pods of the reading that are not there any more.
    """
    known = {pod.uid: pod for pod in pods}
    # A pod with statistics that is not among the pods is not of this world: what it holds is the host's.
    held = {uid: dict(_held(each)) for uid, each in stats.items() if uid in known}
    there = [pod for pod in known.values() if not pod.terminal and pod.uid not in gone]
    dedicated, split = bool(filesystems.dedicated_image_fs), bool(filesystems.split_container_fs)
    own, images = ([part_on_disk(each, filesystems, images=side) for each in held.values()] for side in (False, True))
    spec = NodeSpec(
        name=node.name,
        memory=_capacity(node.memory) or _NO_MEMORY,
        unusable_memory=_unusable(node, held.values()),
        allocatable_memory=_capacity(node.pods_memory),
        swap=0 if node.swap is None else (node.swap.available_bytes or 0) + (node.swap.usage_bytes or 0),
        pids=32768 if node.rlimit is None or node.rlimit.max_pid is None else node.rlimit.max_pid,
        nodefs=_disk(node.fs, own),
        imagefs=_disk(node.image_fs, images) if dedicated else None,
        split_layout=dedicated and split,
        layers_period=1,
    )
    return World(
        name=name,
        node=spec,
        pods=tuple(_world_pod(pod, held.get(pod.uid), behaviours.get(pod.uid, ())) for pod in there),
        host=(HostUse(name="host", behaviours=tuple(_of_host(node, held.values(), len(there)))),),
        begin=begin,
        duration=duration,
    )


def _world_pod(pod: Pod, held: Mapping[Usage, int] | None, behaviours: tuple[Behaviour, ...]) -> WorldPod:
    """Return a pod that goes on as measured; a deletion under way goes on too."""
    measured = (Unreadable(),) if held is None else tuple(Hold(of=usage, amount=each) for usage, each in held.items())
    leaving = pod.deletion_grace_period_seconds is not None
    return WorldPod(
        pod=pod,
        behaviours=(*measured, *behaviours),
        deleted_at=0 if leaving else None,
        culprit=bool(behaviours),
    )


def _held(stats: PodStats) -> Iterator[tuple[Usage, int]]:
    """Yield what a pod was measured to hold; what is absent is left out."""
    memory = None if stats.memory is None else stats.memory.working_set_bytes
    swapped = 0 if stats.memory is None else stats.memory.swap_bytes or 0
    if memory is not None:
        cache = min((stats.memory.clean_file_bytes if stats.memory else None) or 0, memory)
        yield Usage.MEMORY, memory - cache + swapped
        if cache:
            yield Usage.PAGE_CACHE, cache
    if stats.process_count is not None:
        yield Usage.PROCESSES, max(stats.process_count - 1, 0)
    rootfs = [each.rootfs for each in stats.containers if each.rootfs is not None]
    logs = [each.logs for each in stats.containers if each.logs is not None]
    yield Usage.LAYER, sum(each.used_bytes or 0 for each in rootfs)
    yield Usage.LAYER_INODES, sum(each.inodes_used or 0 for each in rootfs)
    yield Usage.LOGS, sum(each.used_bytes or 0 for each in logs)
    yield Usage.VOLUME, sum(each.used_bytes or 0 for each in stats.volumes)
    yield Usage.VOLUME_INODES, sum(each.inodes_used or 0 for each in stats.volumes)


def _of_host(node: NodeStats, pods: Collection[Mapping[Usage, int]], count: int) -> Iterator[Behaviour]:
    """Yield what the node uses and no measured pod does."""
    used = None if node.memory is None else node.memory.working_set_bytes
    swapped = 0 if node.swap is None else node.swap.usage_bytes or 0
    if used is not None:
        rest = used + swapped - sum(each.get(Usage.MEMORY, 0) for each in pods) - _cache_counted(node, pods)
        if node.memory is not None and _by_kernels_estimate(node.memory):
            rest -= _unusable(node, pods)  # the working set, capacity minus what is available, has it
        yield Hold(of=Usage.MEMORY, amount=max(rest, 0))
        if cache := _cache(node, pods) - _cache_of(pods):
            yield Hold(of=Usage.PAGE_CACHE, amount=cache)
    if node.rlimit is not None and node.rlimit.current is not None:
        of_pods = sum(each.get(Usage.PROCESSES, 0) for each in pods) + count
        yield Hold(of=Usage.PROCESSES, amount=max(node.rlimit.current - of_pods, 0))


def _cache(node: NodeStats, pods: Collection[Mapping[Usage, int]]) -> int:
    """Return the page cache of the whole node; that of the pods where the reading does not have it, or less of it."""
    return max((node.memory.clean_file_bytes if node.memory else None) or 0, _cache_of(pods))


def _cache_of(pods: Iterable[Mapping[Usage, int]]) -> int:
    return sum(each.get(Usage.PAGE_CACHE, 0) for each in pods)


def _cache_counted(node: NodeStats, pods: Collection[Mapping[Usage, int]]) -> int:
    """Return the page cache that the node's working set counts: none where it is the capacity minus `MemAvailable`."""
    return 0 if node.memory is None or _by_kernels_estimate(node.memory) else _cache(node, pods)


def _by_kernels_estimate(memory: MemoryStats) -> bool:
    """Whether what is available is `MemAvailable`: without what no process can allocate, with what the kernel can drop."""
    return memory.available_bytes == memory.mem_available_bytes


def _unusable(node: NodeStats, pods: Collection[Mapping[Usage, int]]) -> int:
    """Return the memory that no process can allocate: by it `MemAvailable` is less than the documented formula and the cache."""
    memory = node.memory
    if memory is None or memory.available_bytes is None or memory.mem_available_bytes is None:
        return 0
    if _by_kernels_estimate(memory) and not memory.unallocatable_bytes:
        return 0  # what the documented formula gives is not known; nothing that counts as available is unusable
    documented = memory.available_bytes + (memory.unallocatable_bytes or 0)
    return max(documented + _cache(node, pods) - memory.mem_available_bytes, 0)


def takes_unusable_as_none(node: NodeStats) -> bool:
    """Whether a reading does not tell the memory that no process can allocate: it has the documented formula alone."""
    return node.memory is not None and node.memory.mem_available_bytes is None


def _capacity(memory: MemoryStats | None) -> int | None:
    if memory is None or memory.available_bytes is None or memory.working_set_bytes is None:
        return None
    return memory.available_bytes + memory.working_set_bytes


def _disk(fs: FsStats | None, of_pods: Iterable[tuple[int, int]]) -> Disk:
    """Return a disk on which the system holds what no pod does."""
    if fs is None or fs.capacity_bytes is None or fs.available_bytes is None:
        return _NO_DISK
    parts = list(of_pods)
    size, count = (sum(each[i] for each in parts) for i in (0, 1))
    inodes = fs.inodes if fs.inodes is not None and fs.inodes_free is not None else 1 << 40
    inodes_used = inodes - fs.inodes_free if fs.inodes_free is not None and fs.inodes is not None else 0
    return Disk(
        capacity=fs.capacity_bytes,
        inodes=inodes,
        used=max(fs.capacity_bytes - fs.available_bytes - size, 0),
        inodes_used=max(inodes_used - count, 0),
        read_only=fs.read_only,
    )
