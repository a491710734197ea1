"""Measures a pod's logs, volumes, hosts file, writable layers and deleted files, a step at a time.

A measurement may take minutes, so it goes by steps of a few dozen entries, and what it has counted so far can be read at any
time. Names of pods, volumes and containers are untrusted: each must be a single path component, and no component that is a
symlink is followed.
"""

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Protocol

from evictd.core.model.stats import DiskUsage
from evictd.errors import NodeError
from evictd.observe.cgroups.file_descriptor_cache import VanishedError, read_whole_lines
from evictd.observe.disk_usage.deleted_files import DeletedFiles
from evictd.observe.disk_usage.disk_requests import layer_steps
from evictd.observe.disk_usage.files_walk import FilesWalk, measure_file
from evictd.observe.disk_usage.pod_disk import DiskRequest, PodDisk
from evictd.observe.disk_usage.quota import quota_usage
from evictd.observe.disk_usage.rate_limiter import RateLimiter
from evictd.observe.disk_usage.tree_walk import TreeWalk
from evictd.observe.filesystems.mounts import mount_number, parse_mountinfo
from evictd.observe.reading.problems import Problems
from evictd.observe.reading.roots import Roots
from evictd.observe.untrusted_paths import open_below

_LOGS, _HOSTS = "log folder", "hosts file"

_MAX_LOG_FOLDERS = 1000
"""The number of entries of a pod's log directory that are searched for containers."""


class Walk(Protocol):
    """Counts what is in one directory."""

    fault: str
    """Why the usage is a lower bound also at the end; empty where it is none."""

    @property
    def counted(self) -> DiskUsage:
        """The usage counted so far."""
        ...

    def steps(self) -> Generator[None, None, None]:
        """Continue counting; yields every few dozen entries."""
        ...


@dataclass(frozen=True, slots=True)
class _Part:
    """One directory of a pod to measure, and where in the result its usage belongs."""

    column: dict[str, DiskUsage]
    name: str
    what: str
    base: Path
    path: tuple[str, ...]
    """The steps below `base`."""
    read: Callable[[int], DiskUsage | Walk | None]


class PodDiskMeter:
    """Measures pods below the kubelet's directories; `limiter` counts the entries that are walked."""

    def __init__(self, roots: Roots, clock: Callable[[], int], limiter: RateLimiter | None = None) -> None:
        self.pods = roots.kubelet_dir / "pods"
        self.logs = roots.pod_logs_dir
        self.proc = roots.proc
        self.clock = clock
        self.limiter = limiter or RateLimiter()

    def disks(self) -> frozenset[int]:
        """Return the device numbers of the disks where volumes and logs are.

        A subvolume of btrfs has a number of its own, with major 0, which no mount table has. With it comes that of its mount.
        """
        found = set()
        for base in (self.pods.parent, self.logs):
            with suppress(OSError, NodeError):
                folder = open_below(base, ())
                try:
                    found.add(number := os.fstat(folder).st_dev)
                    if os.major(number) == 0:
                        found |= self._of_mount(mount_number(folder))
                finally:
                    os.close(folder)
        return frozenset(found)

    def _of_mount(self, number: str) -> set[int]:
        table = parse_mountinfo(read_whole_lines(f"{self.proc}/self/mountinfo"))
        devices = (each.device.partition(":") for each in table if each.number == number)
        return {os.makedev(int(major), int(minor)) for major, _, minor in devices}

    def begin(self, request: DiskRequest) -> "PodMeasurement":
        """Return a measurement of all parts of a pod, of which nothing is done yet."""
        return PodMeasurement(self, request)


class PodMeasurement:
    """One measurement of one pod; a part that fails is a problem and does not affect the others."""

    def __init__(self, meter: PodDiskMeter, request: DiskRequest) -> None:
        self._meter = meter
        self._request = request
        self._time = meter.clock()
        self._problems = Problems()
        self._logs: dict[str, DiskUsage] = {}
        self._volumes: dict[str, DiskUsage] = {}
        self._layers: dict[str, DiskUsage] = {}
        self._folder: dict[str, DiskUsage] = {}
        """By `_LOGS` and `_HOSTS`: what lies directly in the pod's own directories."""
        self._under_way: tuple[_Part, Walk] | None = None
        self._deleted: DeletedFiles | None = None
        self._disks_with_quota: set[int] = set()
        """Disks with a volume that was measured by its quota, which counts deleted files as well."""
        self._at_least = False
        self._ended = False

    @property
    def found(self) -> PodDisk:
        """The result; before the end the amounts counted so far, without a time."""
        return PodDisk(
            time=self._time if self._ended else None,
            logs=self._so_far(self._logs),
            volumes=self._so_far(self._volumes),
            layers=self._so_far(self._layers),
            pod_logs=self._so_far(self._folder).get(_LOGS),
            etc_hosts=self._folder.get(_HOSTS),
            deleted_layer=None if self._deleted is None else self._deleted.layer,
            deleted_local=None if self._deleted is None else self._deleted.local,
            problems=self._problems.found(),
            at_least=self._at_least or not self._ended,
        )

    def _so_far(self, column: dict[str, DiskUsage]) -> dict[str, DiskUsage]:
        """Return the usage of the parts measured, and of the one under way what is counted of it."""
        if self._under_way is None or self._under_way[0].column is not column:
            return dict(column)
        part, walk = self._under_way
        return {**column, part.name: walk.counted}

    def steps(self) -> Generator[None, None, None]:
        """Measure; yields every few dozen entries. What is open is closed at the end, or when the generator is."""
        for part in self._parts():
            yield from self._measure(part)
        if self._request.cgroups:
            yield from self._count_deleted()
        self._ended = True

    def _count_deleted(self) -> Generator[None, None, None]:
        meter = self._meter
        disks = meter.disks() - self._disks_with_quota
        deleted = DeletedFiles(meter.proc, self._request.cgroups, disks, meter.limiter)
        self._deleted = deleted
        yield from deleted.steps()
        self._at_least |= not deleted.complete
        if deleted.refused:
            self._problems.add(
                "disk usage of deleted files", "the processes of pods cannot be looked into without CAP_SYS_PTRACE"
            )

    def _parts(self) -> Iterator[_Part]:
        meter, request = self._meter, self._request
        log_folder = f"{request.namespace}_{request.name}_{request.uid}"
        for name in dict.fromkeys((*request.containers, *self._log_folders(log_folder))):
            yield _Part(self._logs, name, f"logs of {name}", meter.logs, (log_folder, name), self._files)
        for plugin, name in request.volumes:
            steps = (request.uid, "volumes", plugin, name)
            yield _Part(self._volumes, name, f"volume {name}", meter.pods, steps, self._tree)
        for layer in request.layers:
            if (found := layer_steps(layer, meter.proc)) is not None:
                what = f"layer of container {layer.container_id[:12]}"
                yield _Part(self._layers, layer.container_id, what, layer.snapshots, found, self._tree)
        yield _Part(self._folder, _LOGS, _LOGS, meter.logs, (log_folder,), self._files)
        yield _Part(self._folder, _HOSTS, _HOSTS, meter.pods, (request.uid,), _hosts_file)

    def _log_folders(self, log_folder: str) -> tuple[str, ...]:
        """List the subdirectories of a log directory: ephemeral containers have logs but are not in the spec evictd reads."""
        try:
            folder = open_below(self._meter.logs, (log_folder,))
        except NodeError:
            return ()  # measuring the files in it reports the problem
        try:
            with os.scandir(folder) as entries:
                return tuple(e.name for e in islice(entries, _MAX_LOG_FOLDERS) if e.is_dir(follow_symlinks=False))
        except OSError:
            return ()
        finally:
            os.close(folder)

    def _measure(self, part: _Part) -> Generator[None, None, None]:
        source = f"{part.what} of {self._request.full_name}"
        try:
            folder = open_below(part.base, part.path)
        except VanishedError:
            return  # not created yet, or removed with its pod
        except NodeError as error:
            self._problems.add(source, error)
            return
        try:
            usage = part.read(folder)
            if isinstance(usage, DiskUsage):
                part.column[part.name] = usage
            elif usage is not None:
                self._under_way = part, usage
                yield from usage.steps()
                self._add(part, source, usage)
        except NodeError as error:
            self._problems.add(source, error)
        finally:
            self._under_way = None
            os.close(folder)

    def _add(self, part: _Part, source: str, walk: Walk) -> None:
        counted = part.column[part.name] = walk.counted
        if walk.fault:  # without the lower bound a pod could hide its usage in a tree too large to walk
            self._at_least = True
            least = f"at least {counted.used_bytes} bytes and {counted.inodes_used} inodes"
            self._problems.add(source, f"disk usage: {walk.fault}: {least}")

    def _files(self, folder: int) -> Walk:
        return FilesWalk(folder, self._meter.limiter)

    def _tree(self, folder: int) -> DiskUsage | Walk:
        quota = quota_usage(folder) if self._request.quotas else None
        if quota is None:
            return TreeWalk(folder, self._meter.limiter)
        self._disks_with_quota.add(os.fstat(folder).st_dev)
        return quota


def _hosts_file(folder: int) -> DiskUsage | None:
    return measure_file(folder, "etc-hosts")
