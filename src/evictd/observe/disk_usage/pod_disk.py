"""Measures a pod's logs, volumes and hosts file in the directories where the kubelet keeps them (spec 3.6 and 11.4).

The writable layers of containers are not measured here: the runtime reports them. Names of pods, volumes and containers are
untrusted: each must be a single path component, and no component that is a symlink is followed.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from evictd.core.model.observation import Problem
from evictd.core.model.pod import Pod
from evictd.core.model.stats import DiskUsage
from evictd.core.model.volume import Volume, VolumeKind
from evictd.errors import NodeError
from evictd.observe.cgroups.cgroup import is_safe_name
from evictd.observe.cgroups.file_descriptor_cache import VanishedError, unreadable
from evictd.observe.disk_usage.quota import quota_usage
from evictd.observe.disk_usage.rate_limiter import RateLimiter
from evictd.observe.disk_usage.walk import OPEN_DIRECTORY, TooLargeError, measure, measure_file, measure_files
from evictd.observe.reading.problems import Problems
from evictd.observe.reading.roots import Roots

_PLUGINS = {
    VolumeKind.EMPTY_DIR: "kubernetes.io~empty-dir",
    VolumeKind.CONFIG_MAP: "kubernetes.io~configmap",
    VolumeKind.SECRET: "kubernetes.io~secret",
    VolumeKind.PROJECTED: "kubernetes.io~projected",
    VolumeKind.DOWNWARD_API: "kubernetes.io~downward-api",
}
"""The kinds of volumes that are measured, with the plugin directory of the kubelet; a hostPath has no usage of its own."""

_MAX_LOG_FOLDERS = 1000
"""The number of entries of a pod's log directory that are searched for containers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskRequest:
    """The parts of one pod to measure."""

    uid: str
    namespace: str
    name: str
    containers: tuple[str, ...] = ()
    volumes: tuple[tuple[str, str], ...] = ()
    """Pairs of plugin directory and volume name."""
    limited: bool = False
    """Whether the pod has a limit of local storage, which is enforced also while no filesystem is near a threshold."""

    @property
    def full_name(self) -> str:
        """`namespace/name`, for messages."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodDisk:
    """The result for one pod; parts that could not be measured are absent. `time`: when the measurement began."""

    time: int
    logs: Mapping[str, DiskUsage] = field(default_factory=dict)
    """By container name."""
    volumes: Mapping[str, DiskUsage] = field(default_factory=dict)
    pod_logs: DiskUsage | None = None
    """Files directly in the pod's log directory."""
    etc_hosts: DiskUsage | None = None
    problems: tuple[Problem, ...] = ()


def is_local_ephemeral(volume: Volume) -> bool:
    """Whether a volume counts as ephemeral storage (spec 3.6, kubelet `localEphemeralVolumeNames`); tmpfs does not."""
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
        volumes=tuple((_PLUGINS[volume.kind], volume.name) for volume in pod.volumes if volume.kind in _PLUGINS),
        limited=bool(pod.resource_totals.local_limits),
    )


class PodDiskMeter:
    """Measures one pod at a time. A measurement may take minutes, so it runs in the thread of `DiskUsageCache`."""

    def __init__(self, roots: Roots, clock: Callable[[], int], limiter: RateLimiter | None = None) -> None:
        self._pods = roots.kubelet_dir / "pods"
        self._logs = roots.pod_logs_dir
        self._clock = clock
        self._limiter = limiter or RateLimiter()

    def measure(self, request: DiskRequest) -> PodDisk:
        """Measure all parts of a pod; a part that fails is a problem and does not affect the others."""
        problems = Problems()
        time = self._clock()
        log_folder = f"{request.namespace}_{request.name}_{request.uid}"

        def part(
            what: str, base: Path, steps: tuple[str, ...], read: Callable[[int], DiskUsage | None]
        ) -> DiskUsage | None:
            return self._part(f"{what} of {request.full_name}", base, steps, read, problems)

        logs = {
            name: part(f"logs of {name}", self._logs, (log_folder, name), self._files)
            for name in dict.fromkeys((*request.containers, *self._log_folders(log_folder)))
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

    def _log_folders(self, log_folder: str) -> tuple[str, ...]:
        """List the subdirectories of a log directory: ephemeral containers have logs but are not in the spec evictd reads."""
        try:
            folder = open_below(self._logs, (log_folder,))
        except NodeError:
            return ()  # measuring the files in it reports the problem
        try:
            with os.scandir(folder) as entries:
                return tuple(e.name for e in islice(entries, _MAX_LOG_FOLDERS) if e.is_dir(follow_symlinks=False))
        except OSError:
            return ()
        finally:
            os.close(folder)

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
            return None  # not created yet, or removed with its pod
        except NodeError as error:
            problems.add(what, error)
            return None
        try:
            return read(folder)
        except TooLargeError as error:
            problems.add(what, error)
            return error.counted  # a lower bound; without it a pod could hide its usage in a tree too large to walk
        except NodeError as error:
            problems.add(what, error)
            return None
        finally:
            os.close(folder)

    def _files(self, folder: int) -> DiskUsage:
        return measure_files(folder, self._limiter)

    def _tree(self, folder: int) -> DiskUsage:
        return quota_usage(folder) or measure(folder, self._limiter)


def open_below(base: Path, steps: tuple[str, ...]) -> int:
    """Open the directory `steps` below the trusted directory `base` without following symlinks; returns a descriptor.

    Raises `NodeError` for an unsafe name, a symlink or an error, and `VanishedError` if a component does not exist.
    """
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
