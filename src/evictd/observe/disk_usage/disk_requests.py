"""Builds the requests for the pods' disk usage: what is near a threshold decides which pods and which of their parts.

Among the parts are the writable layers. containerd walks the layers of all containers every `stats_collect_period`, 10 s by
default. A disk that fills at 200 MiB/s is full before that. Where containers have an overlay as their root, its `upperdir` is the
layer; the mount table of a process of the container names it. A container that may mount can put another path there. So only a
directory below the runtime's own directory of layers counts, no symlink is followed to it, and a layer is never taken for smaller
than the runtime says.
"""

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

from evictd.core.model.config import Policy
from evictd.core.model.pod import Pod
from evictd.core.model.signal import Filesystem
from evictd.observe.cgroups.cgroup import container_cgroups, pod_cgroups
from evictd.observe.cgroups.cgroup_reader import CgroupReader
from evictd.observe.cgroups.file_descriptor_cache import read_whole_lines
from evictd.observe.disk_usage.pod_disk import DiskRequest, LayerRequest, disk_request
from evictd.observe.disk_usage.writers import Writers
from evictd.observe.filesystems.mounts import parse_mountinfo
from evictd.observe.runtime.runtime_view import RuntimeView
from evictd.observe.untrusted_paths import is_safe_name, is_safe_path


class DiskRequests:
    """Names the directories of pods in one cgroup hierarchy, and remembers what they wrote."""

    def __init__(self, cgroups: CgroupReader, *, policy: Policy) -> None:
        self._cgroups = cgroups
        self._standard = policy is Policy.STANDARD
        self._writers = Writers(cgroups)

    def of(
        self,
        pods: Collection[Pod],
        near: Collection[Filesystem],
        runtime: RuntimeView | None,
        pods_cgroup: str | None,
    ) -> list[DiskRequest]:
        """Return the requests for all pods where a filesystem is `near` its threshold, else for those with a limit of their own.

        `pods_cgroup` is the cgroup of all pods, for those whose own the runtime does not report.
        """
        everyone = Filesystem.NODEFS in near
        if not everyone or not self._standard:
            return [disk_request(pod) for pod in pods if everyone or pod.resource_totals.local_limits]
        paths = {pod.uid: _cgroups_of(pod.uid, runtime, pods_cgroup) for pod in pods}
        layers = {} if runtime is None else layer_requests(runtime, partial(self._containers, paths))
        # With deleted files, not only once a threshold is met: the walks after that would have to be made twice.
        writers = self._writers.find(paths)
        return [
            replace(
                disk_request(pod),
                cgroups=tuple(self._cgroups.folder(path) for path in paths[pod.uid]),
                layers=layers.get(pod.uid, ()),
                writes_most=pod.uid in writers,
            )
            for pod in pods
        ]

    def _containers(self, paths: dict[str, tuple[str, ...]], uid: str, container_id: str) -> tuple[Path, ...]:
        """List the directories that a container's cgroup may have."""
        names = (path for pod in paths.get(uid, ()) for path in container_cgroups(pod, container_id))
        return tuple(self._cgroups.folder(path) for path in names)


def _cgroups_of(uid: str, runtime: RuntimeView | None, pods: str | None) -> tuple[str, ...]:
    """List the paths that a pod's cgroup may have."""
    reported = None if runtime is None else runtime.pod_cgroups.get(uid)
    if reported is not None:
        return (reported,) if is_safe_path(reported) else ()
    return () if pods is None else tuple(pod_cgroups(pods, uid))


_MOST_PROCESSES = 8
"""Processes of a container that are looked at: one that has entered it from the host has another root."""
_UPPER = b"upperdir="


def layer_requests(
    runtime: RuntimeView, folders: Callable[[str, str], tuple[Path, ...]]
) -> dict[str, tuple[LayerRequest, ...]]:
    """Return the running containers whose layers are to be walked, by the uid of their pod.

    `folders` gives the directories that a container's cgroup may have, from the uid of the pod and the container's id.
    """
    filesystems = () if runtime.image_fs is None else runtime.image_fs.image_filesystems
    if not filesystems or not is_safe_path(filesystems[0].mountpoint):
        return {}
    snapshots, uids = Path(filesystems[0].mountpoint), {each.id: each.uid for each in runtime.sandboxes}
    found: dict[str, tuple[LayerRequest, ...]] = {}
    for container in runtime.containers:
        uid = uids.get(container.sandbox_id)
        if uid is not None and container.state.may_run and is_safe_name(container.id):
            cgroups = folders(uid, container.id)
            request = LayerRequest(container_id=container.id, cgroups=cgroups, snapshots=snapshots)
            found[uid] = (*found.get(uid, ()), request)
    return found


def layer_steps(request: LayerRequest, proc: Path) -> tuple[str, ...] | None:
    """Return the path of a container's layer below `request.snapshots`, as steps; `None` if it cannot be found."""
    for pid in islice(_pids(request), _MOST_PROCESSES):
        with suppress(OSError, ValueError):
            found = _upper_directory(read_whole_lines(f"{proc}/{pid}/mountinfo"))
            if found is not None and (steps := _steps_below(request.snapshots, found)):
                return steps
    return None


def _pids(request: LayerRequest) -> Iterator[str]:
    for folder in request.cgroups:
        with suppress(OSError):
            yield from read_whole_lines(f"{folder}/cgroup.procs").decode("ascii").split()


def _upper_directory(mountinfo: bytes) -> str | None:
    """Return the upper directory of the overlay that is the root."""
    for mount in parse_mountinfo(mountinfo):
        if mount.point == b"/" and mount.fs_type == "overlay":
            return next((os.fsdecode(each[len(_UPPER) :]) for each in mount.options if each.startswith(_UPPER)), None)
    return None


def _steps_below(snapshots: Path, found: str) -> tuple[str, ...] | None:
    inside = is_safe_path(found) and found.startswith(f"{snapshots}/")
    return tuple(found[len(str(snapshots)) + 1 :].split("/")) if inside else None
