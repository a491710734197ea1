"""Finds the volumes of a pod that only the runtime knows, in the directories that the kubelet made for them.

Without a manifest and an API server the spec of a pod is unknown, but the kubelet names each of its volumes below
`pods/UID/volumes/PLUGIN/NAME` (kubelet `getPodVolumeDir`). Sizes and limits are not there, and a hostPath has no directory. A
pod's volumes never change and are set up before its sandbox, so they are read once per pod.

No symlink is followed, and no volume is opened: only the directories above the volumes, which belong to the kubelet, are.
"""

import os
from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from evictd.core.model.pod import Pod
from evictd.core.model.resources import IN_MEMORY, Volume, VolumeKind
from evictd.errors import NodeError
from evictd.observe.cgroups.file_descriptor_cache import VanishedError, unreadable
from evictd.observe.disk_usage.pod_meter import open_below
from evictd.observe.reading.problems import Problems

_KINDS = {
    "kubernetes.io~empty-dir": VolumeKind.EMPTY_DIR,
    "kubernetes.io~configmap": VolumeKind.CONFIG_MAP,
    "kubernetes.io~secret": VolumeKind.SECRET,
    "kubernetes.io~projected": VolumeKind.PROJECTED,
    "kubernetes.io~downward-api": VolumeKind.DOWNWARD_API,
    "kubernetes.io~git-repo": VolumeKind.GIT_REPO,
}
"""The plugin directories of the volumes on the node's disk or memory; a volume of another plugin does not count for a pod."""

_MAX_ENTRIES = 1000
"""The number of entries of one directory that are read."""


class VolumeFolders:
    """Reads the volumes of pods below the kubelet's directory; remembers those of the pods that are asked for."""

    def __init__(self, kubelet_dir: Path) -> None:
        self._pods = kubelet_dir / "pods"
        self._known: dict[str, tuple[Volume, ...]] = {}

    def complete(self, pods: Collection[Pod], problems: Problems) -> tuple[Pod, ...]:
        """Return all pods, those of unknown volumes with the volumes that they have a directory for.

        Where that cannot be read, a problem is added, and the volumes stay unknown.
        """
        unknown = {pod.uid for pod in pods if not pod.volumes_known}
        self._known = {uid: volumes for uid, volumes in self._known.items() if uid in unknown}
        return tuple(self._completed(pod, problems) if pod.uid in unknown else pod for pod in pods)

    def _completed(self, pod: Pod, problems: Problems) -> Pod:
        if pod.uid not in self._known:
            try:
                self._known[pod.uid] = tuple(sorted(self._read(pod.uid), key=lambda volume: volume.name))
            except NodeError as error:
                problems.add(f"volumes of {pod.full_name}", error)
                return pod
        return replace(pod, volumes=self._known[pod.uid], volumes_known=True)

    def _read(self, uid: str) -> Iterator[Volume]:
        """Yield the volumes of one pod; raises `NodeError` where one of the directories cannot be read."""
        for plugin in _list(self._pods, (uid, "volumes")):
            if (kind := _KINDS.get(plugin.name)) is not None:
                for entry in _list(self._pods, (uid, "volumes", plugin.name)):
                    yield _volume(entry.name, kind, mounted=entry.device != plugin.device)


class _Folder(NamedTuple):
    """A directory in a directory, and the device that it is on."""

    name: str
    device: int


def _list(base: Path, steps: tuple[str, ...]) -> tuple[_Folder, ...]:
    """List the directories in one; none where it does not exist: no kubelet made it."""
    try:
        folder = open_below(base, steps)
    except VanishedError:
        return ()
    try:
        with os.scandir(folder) as entries:
            found = (e for e in islice(entries, _MAX_ENTRIES) if e.is_dir(follow_symlinks=False))
            return tuple(_Folder(e.name, e.stat(follow_symlinks=False).st_dev) for e in found)
    except OSError as error:
        raise unreadable("/".join((str(base), *steps)), error) from error
    finally:
        os.close(folder)


def _volume(name: str, kind: VolumeKind, *, mounted: bool) -> Volume:
    """Describe one volume: an emptyDir that is a mount is on tmpfs or in huge pages, which does not count as disk usage."""
    return Volume(name=name, kind=kind, medium=IN_MEMORY if mounted and kind is VolumeKind.EMPTY_DIR else "")
