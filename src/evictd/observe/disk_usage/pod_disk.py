"""Declares which parts of a pod are measured on disk, and the result (docs/kubelet.md, Statistics).

Writable layers are among them where their directories are known (`disk_requests`); the runtime reports them too, but less often.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from itertools import chain
from pathlib import Path

from evictd.core.frozen import frozen
from evictd.core.model.observation import Problem
from evictd.core.model.pod import Pod
from evictd.core.model.resources import Volume, VolumeKind
from evictd.core.model.stats import DiskUsage

PLUGINS = {
    VolumeKind.EMPTY_DIR: "kubernetes.io~empty-dir",
    VolumeKind.CONFIG_MAP: "kubernetes.io~configmap",
    VolumeKind.SECRET: "kubernetes.io~secret",
    VolumeKind.PROJECTED: "kubernetes.io~projected",
    VolumeKind.DOWNWARD_API: "kubernetes.io~downward-api",
}
"""The kinds of volumes that are measured, with the plugin directory of the kubelet; a hostPath has no usage of its own."""


@frozen
class LayerRequest:
    """A running container whose writable layer is to be walked."""

    container_id: str
    cgroups: tuple[Path, ...]
    """The directories that its cgroup may have."""
    snapshots: Path
    """The runtime's directory of layers; one outside of it is not walked."""


@frozen
class DiskRequest:
    """The parts of one pod to measure."""

    uid: str
    namespace: str
    name: str
    containers: tuple[str, ...] = ()
    volumes: tuple[tuple[str, str], ...] = ()
    """Pairs of plugin directory and volume name."""
    cgroups: tuple[Path, ...] = ()
    """The directories that the pod's cgroup may have, where the deleted files of its processes are to be counted as well."""
    layers: tuple[LayerRequest, ...] = ()
    """The running containers whose writable layers are to be walked."""
    quotas: bool = False
    """Whether project quotas count: root of the node's user namespace can set another project on its files, and then they do not.
    The kubelet too uses quotas only for pods with `hostUsers: false` (`assignQuota`)."""
    limited: bool = False
    """Whether the pod has a limit of local storage, which is enforced also while no filesystem is near a threshold."""
    writes_most: bool = False
    """Whether the pod is one of those that write the most at present (`writers`)."""

    @property
    def full_name(self) -> str:
        """`namespace/name`, for messages."""
        return f"{self.namespace}/{self.name}"


@frozen
class PodDisk:
    """The result for one pod; parts that could not be measured are absent."""

    time: int | None
    """Start of the measurement; `None`: none has ended, and the amounts are those that one under way has counted so far."""
    logs: Mapping[str, DiskUsage] = field(default_factory=dict)
    """By container name."""
    volumes: Mapping[str, DiskUsage] = field(default_factory=dict)
    layers: Mapping[str, DiskUsage] = field(default_factory=dict)
    """By container id."""
    pod_logs: DiskUsage | None = None
    """Files directly in the pod's log directory."""
    etc_hosts: DiskUsage | None = None
    deleted_layer: DiskUsage | None = None
    """Deleted files of the containers' layers that are still open; `None` where they were not looked for."""
    deleted_local: DiskUsage | None = None
    """Deleted files of volumes and logs that are still open."""
    problems: tuple[Problem, ...] = ()
    at_least: bool = False
    """Whether the pod may use more than the amounts say: a walk was not to its end."""

    @property
    def total(self) -> DiskUsage:
        """Return the sum of all parts."""
        single = (self.pod_logs, self.etc_hosts, self.deleted_layer, self.deleted_local)
        parts = [
            each for each in chain(self.logs.values(), self.volumes.values(), self.layers.values(), single) if each
        ]
        return DiskUsage(sum(each.used_bytes or 0 for each in parts), sum(each.inodes_used or 0 for each in parts))

    def raised(self, other: "PodDisk") -> "PodDisk":
        """Return this result, each part at least as large as in `other`, which a measurement under way has counted so far."""
        raised = replace(
            self,
            logs=_larger(self.logs, other.logs),
            volumes=_larger(self.volumes, other.volumes),
            layers=_larger(self.layers, other.layers),
            pod_logs=larger_of(self.pod_logs, other.pod_logs),
            etc_hosts=larger_of(self.etc_hosts, other.etc_hosts),
            deleted_layer=larger_of(self.deleted_layer, other.deleted_layer),
            deleted_local=larger_of(self.deleted_local, other.deleted_local),
        )
        return self if raised == self else replace(raised, at_least=True)


def _larger(one: Mapping[str, DiskUsage], other: Mapping[str, DiskUsage]) -> Mapping[str, DiskUsage]:
    names = dict.fromkeys(chain(one, other))
    found = {name: larger_of(one.get(name), other.get(name)) for name in names}
    return {name: usage for name, usage in found.items() if usage is not None}


def larger_of(one: DiskUsage | None, other: DiskUsage | None) -> DiskUsage | None:
    """Return the larger amounts of two measurements; of one that is absent, those of the other."""
    if one is None or other is None:
        return one or other
    return DiskUsage(_most(one.used_bytes, other.used_bytes), _most(one.inodes_used, other.inodes_used))


def _most(one: int | None, other: int | None) -> int | None:
    return max((each for each in (one, other) if each is not None), default=None)


def is_local_ephemeral(volume: Volume) -> bool:
    """Whether a volume counts as ephemeral storage (kubelet `localEphemeralVolumeNames`); tmpfs does not."""
    if volume.kind is VolumeKind.EMPTY_DIR:
        return volume.medium == ""
    return volume.kind in {VolumeKind.CONFIG_MAP, VolumeKind.GIT_REPO}


def disk_request(pod: Pod) -> DiskRequest:
    """Build the request for all measurable parts of a pod."""
    return DiskRequest(
        uid=pod.uid,
        namespace=pod.namespace,
        name=pod.name,
        containers=tuple(container.name for container in (*pod.init_containers, *pod.containers)),
        volumes=tuple((PLUGINS[volume.kind], volume.name) for volume in pod.volumes if volume.kind in PLUGINS),
        quotas=not pod.host_users,
        limited=bool(pod.resource_totals.local_limits),
    )
