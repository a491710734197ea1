"""Completes the pods that only the runtime knows with what the kubelet's directory says of them.

Without a manifest and an API server the spec of a pod is unknown, and its requests are deduced from its OOM score at best. But
the kubelet names each of its volumes below `pods/UID/volumes/PLUGIN/NAME` (kubelet `getPodVolumeDir`). Sizes and limits are not
there, and a hostPath has no directory. A pod's volumes never change and are set up before its sandbox, so they are read once per
pod.

The kubelet also keeps the allocated requests and limits of every pod in `allocated_pods_state`, to restore them after a restart
(kubelet `pkg/kubelet/allocation/state`, since Kubernetes 1.33). It replaces the file at each change, and then it is read again.

No symlink is followed, and no volume is opened: only the directories above the volumes, which belong to the kubelet, are. Nor is
a volume's filesystem asked for anything: a pod may mount one there that never answers.
"""

import os
import stat
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path

from evictd.codec.pods.pod import Allocation, decode_allocations
from evictd.core.model.pod import Pod
from evictd.core.model.resources import IN_MEMORY, Volume, VolumeKind
from evictd.errors import EvictdError, NodeError, SourceKind
from evictd.observe.cgroups.file_descriptor_cache import VanishedError, unreadable
from evictd.observe.disk_usage.pod_disk import PLUGINS
from evictd.observe.filesystems.mounts import mount_number
from evictd.observe.reading.problems import Problems
from evictd.observe.untrusted_paths import OPEN_DIRECTORY, open_below

_KINDS = {plugin: kind for kind, plugin in PLUGINS.items()} | {"kubernetes.io~git-repo": VolumeKind.GIT_REPO}
"""The plugin directories of the volumes on the node's disk or memory; a volume of another plugin does not count for a pod."""

_MAX_ENTRIES = 1000
"""The number of entries of one directory that are read."""


class VolumeFolders:
    """Reads the volumes of pods below the kubelet's directory; remembers those of the pods that are asked for."""

    def __init__(self, kubelet_dir: Path) -> None:
        self._pods = kubelet_dir / "pods"
        self._known: dict[str, tuple[Volume, ...]] = {}

    def complete(self, pods: Collection[Pod], problems: Problems, *, anew: bool = True) -> tuple[Pod, ...]:
        """Return all pods, those of unknown volumes with the volumes that they have a directory for.

        Where that cannot be read, a problem is added, and the volumes stay unknown. Without `anew` nothing is opened.
        """
        unknown = {pod.uid for pod in pods if not pod.volumes_known}
        self._known = {uid: volumes for uid, volumes in self._known.items() if uid in unknown}
        return tuple(self._completed(pod, problems, anew=anew) if pod.uid in unknown else pod for pod in pods)

    def _completed(self, pod: Pod, problems: Problems, *, anew: bool) -> Pod:
        if pod.uid not in self._known and not anew:
            return pod
        if pod.uid not in self._known:
            try:
                self._known[pod.uid] = tuple(sorted(volumes_in(self._pods, pod.uid), key=lambda each: each.name))
            except NodeError as error:
                problems.add(f"volumes of {pod.full_name}", error)
                return pod
        return replace(pod, volumes=self._known[pod.uid], volumes_known=True)


def volumes_in(pods: Path, uid: str) -> Iterator[Volume]:
    """Yield the volumes of one pod that have a directory below `pods`; raises `NodeError` where one cannot be read."""
    for plugin in list_folders(pods, (uid, "volumes")):
        if (kind := _KINDS.get(plugin)) is not None:
            steps = (uid, "volumes", plugin)
            for name in list_folders(pods, steps):
                # An emptyDir that is a mount is on tmpfs or in huge pages, which does not count as disk usage.
                in_memory = kind is VolumeKind.EMPTY_DIR and _is_mount(pods, steps, name)
                yield Volume(name=name, kind=kind, medium=IN_MEMORY if in_memory else "")


def list_folders(base: Path, steps: tuple[str, ...]) -> tuple[str, ...]:
    """List the names of the directories in one; none where it does not exist: no kubelet made it."""
    try:
        folder = open_below(base, steps)
    except VanishedError:
        return ()
    try:
        with os.scandir(folder) as entries:
            return tuple(e.name for e in islice(entries, _MAX_ENTRIES) if e.is_dir(follow_symlinks=False))
    except OSError as error:
        raise unreadable("/".join((str(base), *steps)), error) from error
    finally:
        os.close(folder)


def _is_mount(base: Path, steps: tuple[str, ...], name: str) -> bool:
    """Whether a directory below `base` is a mount point. Unlike `stat` this asks nothing of what is mounted there."""
    above = open_below(base, steps)
    try:
        folder = os.open(name, OPEN_DIRECTORY | os.O_PATH, dir_fd=above)
        try:
            return mount_number(folder) != mount_number(above)
        finally:
            os.close(folder)
    except OSError as error:
        raise unreadable("/".join((str(base), *steps, name)), error) from error
    finally:
        os.close(above)


CHECKPOINT = "allocated_pods_state"
_MAX_BYTES = 16 << 20
"""A pod takes some 300 bytes."""


class AllocatedPods:
    """The allocations in one kubelet's directory; remembers them as long as the file is the same."""

    def __init__(self, kubelet_dir: Path) -> None:
        self._path = kubelet_dir / CHECKPOINT
        self._version: tuple[int, ...] | None = None
        self._known: Mapping[str, Allocation] = {}

    def complete(self, pods: Collection[Pod], problems: Problems, *, anew: bool = True) -> tuple[Pod, ...]:
        """Return all pods, those without a known spec with the requests and limits that were allocated to them.

        Where the file cannot be read a problem is added, and the pods stay as they are; without a file there is no problem.
        Without `anew` nothing is opened, and what was read last counts.
        """
        if all(pod.spec_known for pod in pods):
            return tuple(pods)
        try:
            if anew:
                self._refresh()
        except VanishedError:
            self._version, self._known = None, {}  # no kubelet ran here, or one before 1.33
        except EvictdError as error:
            self._version, self._known = None, {}
            problems.add(SourceKind.ALLOCATED_RESOURCES.value, error)
        return tuple(pod if pod.spec_known else self._completed(pod) for pod in pods)

    def _completed(self, pod: Pod) -> Pod:
        found = self._known.get(pod.uid)
        if found is None:
            return pod
        containers = tuple(found.containers.get(each.name, each) for each in pod.containers)
        return replace(pod, containers=containers, resources=found.pod)

    def _refresh(self) -> None:
        """Read the file if it is another one; raises `NodeError` and `InputError`."""
        try:
            file = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                status = os.fstat(file)
                version = (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)
                if version == self._version:
                    return
                if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_BYTES:
                    raise NodeError(f"{self._path}: not a checkpoint of at most {_MAX_BYTES >> 20} MiB")
                data = os.read(file, _MAX_BYTES)
            finally:
                os.close(file)
        except OSError as error:
            raise unreadable(str(self._path), error) from error
        self._known, self._version = decode_allocations(data), version
