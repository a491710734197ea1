"""What does a pod take of the node's disk, beside its containers' writable layers?

Logs, volumes and the hosts file in the places where the kubelet keeps them (spec 3.6 and 11.4). Names of pods come from
outside, so each is one step of a path or nothing, and no step follows a symlink.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evictd.core.observation import Problem
from evictd.core.pod import Pod
from evictd.core.stats import DiskUsage
from evictd.core.volume import Volume, VolumeKind
from evictd.errors import NodeError
from evictd.observe.cgroup import is_safe_name
from evictd.observe.disk_usage import OPEN_DIRECTORY, measure, measure_file, measure_files
from evictd.observe.findings import Problems
from evictd.observe.kept_files import VanishedError, unreadable
from evictd.observe.pace import Pace
from evictd.observe.quota import quota_usage
from evictd.observe.roots import Roots

_PLUGINS = {
    VolumeKind.EMPTY_DIR: "kubernetes.io~empty-dir",
    VolumeKind.CONFIG_MAP: "kubernetes.io~configmap",
    VolumeKind.SECRET: "kubernetes.io~secret",
    VolumeKind.PROJECTED: "kubernetes.io~projected",
    VolumeKind.DOWNWARD_API: "kubernetes.io~downward-api",
}
"""The kinds that are measured, by the folder that the kubelet keeps them in; hostPath has no usage of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskRequest:
    """What to measure of a pod."""

    uid: str
    namespace: str
    name: str
    containers: tuple[str, ...] = ()
    volumes: tuple[tuple[str, str], ...] = ()
    """Pairs of plugin folder and volume name."""

    @property
    def full_name(self) -> str:
        """`namespace/name`, for people."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodDisk:
    """What was measured, and when that began. What could not be measured is not in it."""

    time: int
    logs: Mapping[str, DiskUsage] = field(default_factory=dict)
    """By container."""
    volumes: Mapping[str, DiskUsage] = field(default_factory=dict)
    pod_logs: DiskUsage | None = None
    """Files directly in the pod's log folder."""
    etc_hosts: DiskUsage | None = None
    problems: tuple[Problem, ...] = ()


def is_local_ephemeral(volume: Volume) -> bool:
    """Whether a volume counts against the pod's ephemeral storage (spec 3.6); one in memory does not."""
    if volume.kind is VolumeKind.EMPTY_DIR:
        return volume.medium == ""
    return volume.kind in {VolumeKind.CONFIG_MAP, VolumeKind.GIT_REPO}


def disk_request(pod: Pod) -> DiskRequest:
    """List what there is to measure of a pod."""
    return DiskRequest(
        uid=pod.uid,
        namespace=pod.namespace,
        name=pod.name,
        containers=tuple(container.name for container in (*pod.init_containers, *pod.containers)),
        volumes=tuple((_PLUGINS[volume.kind], volume.name) for volume in pod.volumes if volume.kind in _PLUGINS),
    )


class PodDiskMeter:
    """Measures one pod at a time; slow, so never in the observation itself."""

    def __init__(self, roots: Roots, clock: Callable[[], int], pace: Pace | None = None) -> None:
        self._pods = roots.kubelet_dir / "pods"
        self._logs = roots.pod_logs_dir
        self._clock = clock
        self._pace = pace or Pace()

    def measure(self, request: DiskRequest) -> PodDisk:
        """Measure everything of a pod; each part that fails is a problem of its own."""
        problems = Problems()
        time = self._clock()
        log_folder = f"{request.namespace}_{request.name}_{request.uid}"

        def part(
            what: str, base: Path, steps: tuple[str, ...], read: Callable[[int], DiskUsage | None]
        ) -> DiskUsage | None:
            return self._part(f"{what} of {request.full_name}", base, steps, read, problems)

        logs = {
            name: part(f"logs of {name}", self._logs, (log_folder, name), self._files) for name in request.containers
        }
        volumes = {
            name: part(f"volume {name}", self._pods, (request.uid, "volumes", plugin, name), self._tree)
            for plugin, name in request.volumes
        }
        return PodDisk(
            time=time,
            logs={name: usage for name, usage in logs.items() if usage is not None},
            volumes={name: usage for name, usage in volumes.items() if usage is not None},
            pod_logs=part("log folder", self._logs, (log_folder,), self._files),
            etc_hosts=part("hosts file", self._pods, (request.uid,), lambda folder: measure_file(folder, "etc-hosts")),
            problems=problems.found(),
        )

    def _part(
        self,
        what: str,
        base: Path,
        steps: tuple[str, ...],
        read: Callable[[int], DiskUsage | None],
        problems: Problems,
    ) -> DiskUsage | None:
        try:
            folder = open_below(base, steps)
        except VanishedError:
            return None  # not made yet, or gone with its pod
        except NodeError as error:
            problems.add(what, error)
            return None
        try:
            return read(folder)
        except NodeError as error:
            problems.add(what, error)
            return None
        finally:
            os.close(folder)

    def _files(self, folder: int) -> DiskUsage:
        return measure_files(folder, self._pace)

    def _tree(self, folder: int) -> DiskUsage:
        return quota_usage(folder) or measure(folder, self._pace)


def open_below(base: Path, steps: tuple[str, ...]) -> int:
    """Open a folder some steps below a trusted one, following no symlink; raises `NodeError`, `VanishedError` if missing."""
    for step in steps:
        if not is_safe_name(step):
            raise NodeError(f"unsafe name: {step!r}")
    path = str(base)
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for step in steps:
            above, path = folder, f"{path}/{step}"
            try:
                folder = os.open(step, OPEN_DIRECTORY, dir_fd=above)
            finally:
                os.close(above)
    except OSError as error:
        raise unreadable(path, error) from error
    return folder
