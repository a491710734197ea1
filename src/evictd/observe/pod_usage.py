"""What does each pod use?

Memory and tasks from the pods' cgroups, read now; writable layers from the runtime's statistics; logs and volumes from the last
walk, with its age (spec 3.6). The layers of exited containers count to their pod, though the kubelet forgets them (kubernetes
issue 115201); so does a pod all of whose containers have exited.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evictd.core.config import Policy
from evictd.core.pod import Pod
from evictd.core.qos import QOSClass
from evictd.core.stats import ContainerStats, DiskUsage, MemoryStats, PodStats, VolumeStats
from evictd.errors import NodeError
from evictd.observe.cgroup import CgroupReader, container_cgroups, is_safe_name, is_safe_path, pod_cgroup
from evictd.observe.findings import Problems
from evictd.observe.kept_files import VanishedError
from evictd.observe.pod_disk import PodDisk, is_local_ephemeral

if TYPE_CHECKING:  # the values' package brings the whole gRPC library along
    from evictd.clients.cri.values import Container
    from evictd.clients.cri.values import ContainerStats as RuntimeStats
    from evictd.observe.runtime_view import RuntimeView

_QOS_FOLDER = {QOSClass.GUARANTEED: "", QOSClass.BURSTABLE: "burstable", QOSClass.BEST_EFFORT: "besteffort"}


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSources:
    """What a reading of the pods draws on, beside their cgroups."""

    now: int
    problems: Problems
    runtime: "RuntimeView | None" = None
    pods_cgroup: str | None = None
    """Where to look for the cgroup of a pod of which the runtime did not tell."""
    disks: Mapping[str, PodDisk] = field(default_factory=dict)
    """The last walks, by pod uid."""

    def told_cgroup(self, pod: Pod) -> str | None:
        """Give the pod's cgroup if the runtime told of it."""
        return self.runtime.pod_cgroups.get(pod.uid) if self.runtime is not None else None

    def stats_of(self, container: "Container") -> "RuntimeStats | None":
        """Give the runtime's statistics of a container."""
        stats = self.runtime.stats if self.runtime is not None else None
        return stats.get(container.id) if stats is not None else None


class PodUsageReader:
    """Reads the usage of all pods; remembers where the containers' cgroups were found."""

    def __init__(self, cgroups: CgroupReader, *, policy: Policy) -> None:
        self._cgroups = cgroups
        self._policy = policy
        self._container_paths: dict[str, str] = {}

    def read(self, pods: Iterable[Pod], sources: UsageSources) -> dict[str, PodStats]:
        """Give the stats of every pod of which anything is known, by uid."""
        members = _by_pod(sources.runtime)
        found = {}
        for pod in pods:
            containers = self._counted(members.get(pod.uid, ()), sources)
            if containers or (self._policy is Policy.STANDARD and pod.uid in sources.disks):
                found[pod.uid] = self._pod(pod, containers, sources)
        self._forget(members)
        return found

    def _counted(self, containers: "Iterable[Container]", sources: UsageSources) -> "tuple[Container, ...]":
        if self._policy is Policy.STANDARD:
            # The running instance of a container first: it is the one that its logs are counted with.
            members = tuple(containers)
            running = tuple(member for member in members if member.state.may_run)
            return members if running == members else running + tuple(m for m in members if not m.state.may_run)
        # The kubelet makes no entry at all for a pod without a running container that has statistics.
        return tuple(m for m in containers if m.state.may_run and sources.stats_of(m) is not None)

    def _pod_path(self, pod: Pod, sources: UsageSources) -> str | None:
        told = sources.told_cgroup(pod)
        if told is not None:
            if is_safe_path(told):
                return told
            sources.problems.add(f"cgroup of {pod.full_name}", f"unsafe path: {told!r}")
            return None
        if sources.pods_cgroup is None:
            return None
        if not is_safe_name(pod.uid):
            sources.problems.add(f"cgroup of {pod.full_name}", f"unsafe uid: {pod.uid!r}")
            return None
        return pod_cgroup(sources.pods_cgroup, pod.uid, _QOS_FOLDER[pod.qos_class])

    def _pod(self, pod: Pod, members: "tuple[Container, ...]", sources: UsageSources) -> PodStats:
        path = self._pod_path(pod, sources)
        disk = sources.disks.get(pod.uid)
        logs = dict(disk.logs) if disk is not None else {}
        containers = tuple(
            ContainerStats(
                member.name,
                self._container_memory(path, member, sources),
                _writable_layer(sources.stats_of(member)),
                # One log folder for all instances of a container: it is counted with the first of them.
                logs.pop(member.name, None),
            )
            for member in members
        )
        local, other = _volumes(pod, disk)
        runs = bool(members) and members[0].state.may_run
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
        )

    def _memory(self, pod: Pod, path: str | None, sources: UsageSources, *, expected: bool) -> MemoryStats | None:
        if path is None:
            return None
        try:
            usage, working_set = self._cgroups.working_set(path)
        except NodeError as error:
            _tell(sources.problems, f"memory of {pod.full_name}", error, expected=expected)
            return None
        return MemoryStats(time=sources.now, usage_bytes=usage, working_set_bytes=working_set)

    def _tasks(self, pod: Pod, path: str | None, sources: UsageSources, *, expected: bool) -> int | None:
        if path is None:
            return None
        try:
            return self._cgroups.pids_current(path)
        except NodeError as error:
            _tell(sources.problems, f"tasks of {pod.full_name}", error, expected=expected)
            return None

    def _container_memory(self, pod: str | None, member: "Container", sources: UsageSources) -> int | None:
        if not member.state.may_run:
            return None
        if pod is not None and is_safe_name(member.id):
            known = self._container_paths.get(member.id)
            for path in (known,) if known is not None else container_cgroups(pod, member.id):
                try:
                    working_set = self._cgroups.working_set(path)[1]
                except VanishedError:
                    self._container_paths.pop(member.id, None)
                    continue
                except NodeError as error:
                    sources.problems.add(f"memory of container {member.id[:12]}", error)
                    break
                self._container_paths[member.id] = path
                return working_set
        # What the runtime read some time ago is better than nothing.
        stats = sources.stats_of(member)
        return stats.memory.working_set_bytes if stats is not None and stats.memory is not None else None

    def _forget(self, members: "Mapping[str, list[Container]]") -> None:
        alive = {member.id for row in members.values() for member in row}
        for gone in self._container_paths.keys() - alive:
            del self._container_paths[gone]


def _by_pod(runtime: "RuntimeView | None") -> "dict[str, list[Container]]":
    found: dict[str, list[Container]] = {}
    if runtime is not None:
        uids = {sandbox.id: sandbox.uid for sandbox in runtime.sandboxes}
        for container in runtime.containers:
            uid = uids.get(container.sandbox_id)
            if uid is not None:
                found.setdefault(uid, []).append(container)
    return found


def _tell(problems: Problems, source: str, error: NodeError, *, expected: bool) -> None:
    """Note a problem, but not that a pod without a running container has no cgroup."""
    if expected or not isinstance(error, VanishedError):
        problems.add(source, error)


def _sum_of_containers(containers: tuple[ContainerStats, ...], now: int) -> MemoryStats | None:
    """Make do with the containers' working sets where the pod's own cgroup tells nothing, as the kubelet does."""
    known = [member.working_set_bytes for member in containers if member.working_set_bytes is not None]
    return MemoryStats(time=now, working_set_bytes=sum(known)) if known else None


def _writable_layer(stats: "RuntimeStats | None") -> DiskUsage | None:
    layer = stats.writable_layer if stats is not None else None
    return None if layer is None else DiskUsage(layer.used_bytes, layer.inodes_used)


def _volumes(pod: Pod, disk: PodDisk | None) -> tuple[tuple[VolumeStats, ...], tuple[VolumeStats, ...]]:
    """Give the measured volumes: those that count against the pod's ephemeral storage, and the others."""
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
    """Add up what counts against the pod's limit; absent only if nothing of it is known."""
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
