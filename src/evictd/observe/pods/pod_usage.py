"""Reads each pod's memory, tasks and disk usage.

Memory and tasks are read from the pods' cgroups; logs and volumes come from the last walk, with its time; writable layers come
from the runtime's statistics, or from the walk where that is younger and counted more. With policy Standard the layers of
exited containers count for their pod, which the kubelet omits (kubernetes/kubernetes#115201), and a pod whose containers have
all exited has an entry too.

A pod of which the runtime lists nothing has none, although its cgroup may be there: it could not be stopped, and would count as
stopped.

Policy Standard loses no measurement when the runtime does not answer: the pod's cgroup is read at its last known path, or at the
path that the kubelet would give it. A pod without a cgroup then has an entry only if its disk was measured.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field

from evictd.clients.cri.values import CriContainer, FilesystemUsage
from evictd.clients.cri.values import CriContainerStats as RuntimeStats
from evictd.core.frozen import frozen
from evictd.core.model.config import Policy
from evictd.core.model.pod import Pod
from evictd.core.model.resources import QOSClass
from evictd.core.model.signal import StalledResource
from evictd.core.model.stats import ContainerStats, DiskUsage, IOStats, MemoryStats, PodStats, PSIStats, VolumeStats
from evictd.errors import NodeError
from evictd.observe.cgroups.cgroup import container_cgroups, pod_cgroup
from evictd.observe.cgroups.cgroup_reader import CgroupReader
from evictd.observe.cgroups.file_descriptor_cache import VanishedError
from evictd.observe.cgroups.kernel_text import possible
from evictd.observe.disk_usage.pod_disk import PodDisk, is_local_ephemeral, larger_of
from evictd.observe.reading.problems import Problems
from evictd.observe.runtime.runtime_view import RuntimeView
from evictd.observe.untrusted_paths import is_safe_name, is_safe_path

MOST_TASKS = 1 << 22
"""The kernel's bound of PIDs (`PID_MAX_LIMIT`); each task has one."""
MOST_BYTES = 1 << 60
"""Upper bound: no filesystem of a node is larger. Files that share blocks may count for more than its capacity."""

_QOS_FOLDER = {QOSClass.GUARANTEED: "", QOSClass.BURSTABLE: "burstable", QOSClass.BEST_EFFORT: "besteffort"}


@frozen
class UsageSources:
    """The inputs of one reading beside the cgroups."""

    now: int
    problems: Problems
    runtime: RuntimeView | None = None
    pods_cgroup: str | None = None
    """The cgroup of all pods, to find the cgroup of a pod for which the runtime reported none."""
    disks: Mapping[str, PodDisk] = field(default_factory=dict)
    """The last disk measurements by pod uid."""
    stalled: frozenset[StalledResource] = frozenset()
    """The resources for which the pods' own stalls are read."""
    swap: bool = False
    """Whether the node has swap, so that the pods' own is read."""
    most_memory: int | None = None
    """Bytes of the machine's memory and swap: a pod that shows more has not used that, and counts as not measured."""

    @property
    def listed(self) -> bool:
        """Whether the runtime listed its containers in this cycle."""
        return self.runtime is not None and self.runtime.current

    def lists(self, pod: Pod) -> bool:
        """Whether the runtime has a sandbox of this pod: without one nothing of the pod could be stopped."""
        return self.runtime is not None and any(sandbox.uid == pod.uid for sandbox in self.runtime.sandboxes)

    def reported_cgroup(self, pod: Pod) -> str | None:
        """Return the pod's cgroup as the runtime reported it, or `None`."""
        return self.runtime.pod_cgroups.get(pod.uid) if self.runtime is not None else None

    def stats_of(self, container: CriContainer) -> RuntimeStats | None:
        """Return the runtime's statistics of a container, or `None`."""
        stats = self.runtime.stats if self.runtime is not None else None
        return stats.get(container.id) if stats is not None else None


class PodUsageReader:
    """Reads the usage of all pods; caches the paths of the containers' cgroups."""

    def __init__(self, cgroups: CgroupReader, *, policy: Policy) -> None:
        self._cgroups = cgroups
        self._policy = policy
        self._container_paths: dict[str, str] = {}

    def read(self, pods: Iterable[Pod], sources: UsageSources) -> dict[str, PodStats]:
        """Return the stats of every pod of which anything is known, by uid; failed reads are problems of `sources`."""
        members = _by_pod(sources.runtime)
        found = {}
        for pod in pods:
            containers = self._counted(members.get(pod.uid, ()), sources)
            if self._policy is Policy.STANDARD and not sources.listed:
                stats = self._pod(pod, containers, sources)
                if stats.memory is not None or stats.process_count is not None or pod.uid in sources.disks:
                    found[pod.uid] = stats
            elif containers or (self._policy is Policy.STANDARD and pod.uid in sources.disks and sources.lists(pod)):
                found[pod.uid] = self._pod(pod, containers, sources)
        self._forget(members)
        return found

    def _counted(self, containers: Iterable[CriContainer], sources: UsageSources) -> tuple[CriContainer, ...]:
        if self._policy is Policy.STANDARD:
            # The running instance of a container comes first, because the logs are attributed to the first instance.
            members = tuple(containers)
            running = tuple(member for member in members if member.state.may_run)
            return members if running == members else running + tuple(m for m in members if not m.state.may_run)
        # The kubelet has no entry for a pod unless a running container of it has statistics.
        return tuple(m for m in containers if m.state.may_run and sources.stats_of(m) is not None)

    def _pod_path(self, pod: Pod, sources: UsageSources) -> str | None:
        reported = sources.reported_cgroup(pod)
        if reported is not None:
            if is_safe_path(reported):
                return reported
            sources.problems.add(f"cgroup of {pod.full_name}", f"unsafe path: {reported!r}")
            return None
        if sources.pods_cgroup is None:
            return None
        if not is_safe_name(pod.uid):
            sources.problems.add(f"cgroup of {pod.full_name}", f"unsafe uid: {pod.uid!r}")
            return None
        return pod_cgroup(sources.pods_cgroup, pod.uid, _QOS_FOLDER[pod.qos_class])

    def _pod(self, pod: Pod, members: tuple[CriContainer, ...], sources: UsageSources) -> PodStats:
        """Join what cgroups, the last walk and the runtime say of a pod; `members` are its containers, running ones first."""
        path = self._pod_path(pod, sources)
        disk = sources.disks.get(pod.uid)
        logs = dict(disk.logs) if disk is not None else {}
        containers = tuple(
            ContainerStats(
                member.name,
                self._container_memory(path, member, sources),
                self._writable_layer(member, disk, sources),
                # All instances of a container share one log directory; it counts for the first of them only.
                logs.pop(member.name, None),
            )
            for member in members
        )
        local, other = _volumes(pod, disk)
        runs = sources.listed and bool(members) and members[0].state.may_run
        return PodStats(
            name=pod.name,
            namespace=pod.namespace,
            uid=pod.uid,
            containers=containers,
            volumes=(*local, *other),
            memory=self._memory(pod, path, sources, expected=runs) or _sum_of_containers(containers, sources.now),
            ephemeral_storage=_ephemeral_storage(containers, local, disk, logs.values()),
            process_count=self._tasks(pod, path, sources, expected=runs),
            time=sources.now,
            disk_time=None if disk is None else disk.time,
            deleted_layer=None if disk is None else disk.deleted_layer,
            deleted_local=None if disk is None else disk.deleted_local,
            disk_at_least=disk is not None and disk.at_least,
            layers_time=_layers_time(members, disk, sources),
            io=self._io(pod, path, sources),
        )

    def _memory(self, pod: Pod, path: str | None, sources: UsageSources, *, expected: bool) -> MemoryStats | None:
        if path is None:
            return None
        try:
            usage, working_set, clean_file = self._cgroups.memory(path)
            possible(usage, sources.most_memory, path)
        except NodeError as error:
            _add_problem(sources.problems, f"memory of {pod.full_name}", error, expected=expected)
            return None
        return MemoryStats(
            time=sources.now,
            usage_bytes=usage,
            working_set_bytes=working_set,
            clean_file_bytes=clean_file,
            psi=self._stall(pod, path, StalledResource.MEMORY, sources),
            swap_bytes=self._swap(pod, path, sources) if sources.swap else None,
        )

    def _swap(self, pod: Pod, path: str, sources: UsageSources) -> int | None:
        try:
            swap = self._cgroups.swap(path)
            return None if swap is None else possible(swap, sources.most_memory, path)
        except NodeError as error:  # there is no such file in a kernel without accounting of swap
            _add_problem(sources.problems, f"memory of {pod.full_name}", error, expected=False)
            return None

    def _stall(self, pod: Pod, path: str | None, resource: StalledResource, sources: UsageSources) -> PSIStats | None:
        if path is None or resource not in sources.stalled:
            return None
        try:
            lines = self._cgroups.pressure(path, resource)
        except VanishedError:
            return None
        except NodeError as error:
            sources.problems.add(f"{resource.value} pressure of {pod.full_name}", error)
            return None
        return PSIStats(lines.get("full"), lines.get("some")) if lines else None

    def _io(self, pod: Pod, path: str | None, sources: UsageSources) -> IOStats | None:
        psi = self._stall(pod, path, StalledResource.IO, sources)
        return None if psi is None else IOStats(time=sources.now, psi=psi)

    def _tasks(self, pod: Pod, path: str | None, sources: UsageSources, *, expected: bool) -> int | None:
        if path is None:
            return None
        try:
            return possible(self._cgroups.pids_current(path), MOST_TASKS, path)
        except NodeError as error:
            _add_problem(sources.problems, f"tasks of {pod.full_name}", error, expected=expected)
            return None

    def _container_memory(self, pod: str | None, member: CriContainer, sources: UsageSources) -> int | None:
        if not member.state.may_run:
            return None
        if pod is not None and is_safe_name(member.id):
            known = self._container_paths.get(member.id)
            for path in (known,) if known is not None else container_cgroups(pod, member.id):
                try:
                    working_set = self._cgroups.memory_usage(path).working_set
                    working_set = possible(working_set, sources.most_memory, path)
                except VanishedError:
                    self._container_paths.pop(member.id, None)
                    continue
                except NodeError as error:
                    sources.problems.add(f"memory of container {member.id[:12]}", error)
                    break
                self._container_paths[member.id] = path
                return working_set
        # Older statistics of the runtime are used only if it has listed the container in this cycle, so that it still runs.
        stats = sources.stats_of(member) if sources.listed else None
        if stats is None or stats.memory is None or stats.memory.working_set_bytes is None:
            return None
        source = f"memory of container {member.id[:12]}"
        return _possible_or_problem(stats.memory.working_set_bytes, sources.most_memory, source, sources.problems)

    def _writable_layer(self, member: CriContainer, disk: PodDisk | None, sources: UsageSources) -> DiskUsage | None:
        """Return a layer as the runtime measured it, or as walked where that is later and not less."""
        stats = sources.stats_of(member)
        layer = stats.writable_layer if stats is not None else None
        walked = None if disk is None else disk.layers.get(member.id)
        if layer is None:
            return walked
        source = f"writable layer of container {member.id[:12]}"
        if _possible_or_problem(layer.used_bytes or 0, MOST_BYTES, source, sources.problems) is None:
            return None
        if self._policy is Policy.KUBELET and layer.time == 0:
            return DiskUsage(0, 0)  # to the kubelet a layer that containerd has not measured yet is empty
        reported = DiskUsage(layer.used_bytes, layer.inodes_used)
        read, walked_at = _read_at(layer, sources), None if disk is None else disk.time
        later = read is not None and walked_at is not None and read >= walked_at
        return reported if later else larger_of(reported, walked)

    def _forget(self, members: Mapping[str, list[CriContainer]]) -> None:
        alive = {member.id for row in members.values() for member in row}
        for gone in self._container_paths.keys() - alive:
            del self._container_paths[gone]


def _by_pod(runtime: RuntimeView | None) -> dict[str, list[CriContainer]]:
    found: dict[str, list[CriContainer]] = {}
    if runtime is not None:
        uids = {sandbox.id: sandbox.uid for sandbox in runtime.sandboxes}
        for container in runtime.containers:
            uid = uids.get(container.sandbox_id)
            if uid is not None:
                found.setdefault(uid, []).append(container)
    return found


def _possible_or_problem(number: int, most: int | None, source: str, problems: Problems) -> int | None:
    try:
        return possible(number, most, source)
    except NodeError as error:
        problems.add(source, error)
        return None


def _add_problem(problems: Problems, source: str, error: NodeError, *, expected: bool) -> None:
    """Add a problem, except for the missing cgroup of a pod without a running container (`expected`)."""
    if expected or not isinstance(error, VanishedError):
        problems.add(source, error)


def _sum_of_containers(containers: tuple[ContainerStats, ...], now: int) -> MemoryStats | None:
    """Sum the containers' working sets, for a pod whose own cgroup could not be read, as the kubelet does."""
    known = [member.working_set_bytes for member in containers if member.working_set_bytes is not None]
    return MemoryStats(time=now, working_set_bytes=sum(known)) if known else None


def _layers_time(members: Iterable[CriContainer], disk: PodDisk | None, sources: UsageSources) -> int | None:
    """Return when the oldest of these containers' layers was read, on the boot-time clock; `None` if one was not read.

    A missing layer of an exited container is ignored: it does not grow any more, and not every runtime reports it.
    """
    if sources.runtime is None:
        return None
    oldest = sources.now
    for member in members:
        stats = sources.stats_of(member)
        layer = None if stats is None else stats.writable_layer
        reported = layer is not None and layer.used_bytes is not None
        times = (
            _read_at(layer, sources) if layer is not None and reported else None,
            disk.time if disk is not None and member.id in disk.layers else None,
        )
        read = max((each for each in times if each is not None), default=None)
        if read is not None:
            oldest = min(oldest, read)
        elif reported or member.state.may_run:
            return None
    return oldest


def _read_at(layer: FilesystemUsage, sources: UsageSources) -> int | None:
    """Return when the runtime measured a layer, on the boot-time clock.

    Its time stamps are of the wall clock, which may be changed: one in the future is not used.
    """
    view = sources.runtime
    if view is None or layer.time == 0 or view.wall is None:
        return None
    read = view.time + layer.time - view.wall
    return None if read > sources.now else read


def _volumes(pod: Pod, disk: PodDisk | None) -> tuple[tuple[VolumeStats, ...], tuple[VolumeStats, ...]]:
    """Return the measured volumes: those that count as ephemeral storage, and the others."""
    local: list[VolumeStats] = []
    other: list[VolumeStats] = []
    for volume in pod.volumes:
        usage = disk.volumes.get(volume.name) if disk is not None else None
        if usage is not None:
            (local if is_local_ephemeral(volume) else other).append(VolumeStats(volume.name, *usage))
    return tuple(local), tuple(other)


def _ephemeral_storage(
    containers: tuple[ContainerStats, ...],
    volumes: tuple[VolumeStats, ...],
    disk: PodDisk | None,
    more_logs: Iterable[DiskUsage],
) -> DiskUsage | None:
    """Sum the usage that counts against the pod's ephemeral storage limit; `None` only if no part of it is known."""
    parts = [part for member in containers for part in (member.rootfs, member.logs) if part is not None]
    parts += [DiskUsage(volume.used_bytes, volume.inodes_used) for volume in volumes]
    parts += more_logs
    if disk is not None:
        parts += [part for part in (disk.pod_logs, disk.etc_hosts) if part is not None]
    if not parts:
        return None
    used = [part.used_bytes for part in parts if part.used_bytes is not None]
    inodes = [part.inodes_used for part in parts if part.inodes_used is not None]
    return DiskUsage(sum(used) if used else None, sum(inodes) if inodes else None)
