"""Finds the directory of a container's writable layer, so that it can be walked.

containerd walks the layers of all containers every `stats_collect_period`, 10 s by default. A disk that fills at 200 MiB/s is
full before that. Where containers have an overlay as their root, its `upperdir` is the layer; the mount table of a process of the
container names it. A container that may mount can put another path there. So only a directory below the runtime's own directory
of layers counts, no symlink is followed to it, and a layer is never taken for smaller than the runtime says.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from evictd.observe.cgroups.cgroup import is_safe_name, is_safe_path
from evictd.observe.disk_usage.pod_disk import LayerRequest
from evictd.observe.disk_usage.proc_text import read_whole_lines
from evictd.observe.filesystems.mounts import parse_mountinfo
from evictd.observe.runtime.runtime_view import RuntimeView

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
