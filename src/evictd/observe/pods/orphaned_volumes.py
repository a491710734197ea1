"""Finds the volumes of pods that are listed no more: their kubelet removes them a second or two after the pod's end.

Such a pod was deleted by force, or has ended by itself. The core waits for what its volumes hold before it evicts another pod
(`core.eviction.leaving`). Only an emptyDir counts: it is what fills nodefs. One on tmpfs or in huge pages is a mount and does
not.

No symlink is followed, and no volume is opened.
"""

from collections.abc import Collection, Mapping
from pathlib import Path

from evictd.core.model.resources import IN_MEMORY, Volume, VolumeKind
from evictd.errors import NodeError
from evictd.observe.pods.kubelet_folder import list_folders, volumes_in
from evictd.observe.reading.problems import Problems

_PROBLEM = "volumes of removed pods"


class OrphanedVolumes:
    """Looks for them below the kubelet's directory, and remembers when each pod's were first seen.

    A pod that has ended keeps its directory as long as the API server lists it. So one that was found without a volume is not
    opened again.
    """

    def __init__(self, kubelet_dir: Path) -> None:
        self._pods = kubelet_dir / "pods"
        self._first_seen: dict[str, int] = {}
        self._empty: set[str] = set()

    def read(self, listed: Collection[str], now: int, problems: Problems) -> Mapping[str, int]:
        """Return by uid when the volumes of each pod that is not `listed` were first seen; `now` for those seen first now.

        A directory that cannot be read is a problem, and its pod is left out.
        """
        try:
            unlisted = {folder.name for folder in list_folders(self._pods, ())} - set(listed)
        except NodeError as error:
            problems.add(_PROBLEM, error)
            return {}
        self._empty &= unlisted
        found = [uid for uid in sorted(unlisted - self._empty) if self._has_volumes(uid, problems)]
        self._first_seen = {uid: self._first_seen.get(uid, now) for uid in found}
        return self._first_seen

    def _has_volumes(self, uid: str, problems: Problems) -> bool:
        try:
            found = any(_fills_nodefs(volume) for volume in volumes_in(self._pods, uid))
        except NodeError as error:
            problems.add(_PROBLEM, error)
            return False
        if not found:
            self._empty.add(uid)
        return found


def _fills_nodefs(volume: Volume) -> bool:
    return volume.kind is VolumeKind.EMPTY_DIR and volume.medium != IN_MEMORY
