"""Finds the pods that are listed no more and still hold something: their kubelet ends and removes them within seconds.

Such a pod was deleted by force, or has ended by itself. The core waits for what it holds before it evicts another pod
(`core.eviction.accounts.leaving`). Two things show that it is still there: the runtime runs it, or it has an emptyDir, which
fills nodefs. One on tmpfs or in huge pages is a mount and does not.

No symlink is followed, and no volume is opened.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from evictd.core.eviction.accounts.release import RELEASE_TIMEOUT
from evictd.core.model.observation import RemovedPod
from evictd.core.model.resources import IN_MEMORY, Volume, VolumeKind
from evictd.errors import NodeError
from evictd.observe.pods.kubelet_folder import list_folders, volumes_in
from evictd.observe.reading.problems import Problems

_PROBLEM = "volumes of removed pods"


class RemovedPods:
    """Looks for them in the runtime's listing and below the kubelet's directory, and remembers when each was first seen.

    A pod that has ended keeps its directory as long as the API server lists it. So one that was found without a volume is not
    opened again.
    """

    def __init__(self, kubelet_dir: Path) -> None:
        self._pods = kubelet_dir / "pods"
        self._found: dict[str, RemovedPod] = {}
        self._listed: frozenset[str] = frozenset()
        self._empty: set[str] = set()

    def read(
        self, listed: Collection[str], running: Collection[str] | None, now: int, problems: Problems
    ) -> Mapping[str, RemovedPod]:
        """Return by uid the pods that are not `listed`: those that hold something, and those that have just ceased to.

        `running` are the uids of the pods that the runtime runs; `None`: the runtime did not say, and what it said last
        counts. A directory that cannot be read is a problem, and its volumes are left out.
        """
        with_volumes = self._with_volumes(listed, problems)
        if running is None:
            running = {uid for uid, pod in self._found.items() if pod.runs}
        there, ended = {*with_volumes, *running}, {*self._listed, *self._found}
        found: dict[str, RemovedPod] = {}
        for uid in sorted((there | ended) - set(listed)):
            before = self._found.get(uid, RemovedPod(first_seen=now))
            gone_at = None if uid in there else now if before.gone_at is None else before.gone_at
            if gone_at is None or now - gone_at < RELEASE_TIMEOUT:
                found[uid] = replace(before, runs=uid in running, has_volumes=uid in with_volumes, gone_at=gone_at)
        self._found, self._listed = found, frozenset(listed)
        return found

    def _with_volumes(self, listed: Collection[str], problems: Problems) -> set[str]:
        try:
            unlisted = set(list_folders(self._pods, ())) - set(listed)
        except NodeError as error:
            problems.add(_PROBLEM, error)
            return set()
        self._empty &= unlisted
        return {uid for uid in sorted(unlisted - self._empty) if self._has_volumes(uid, problems)}

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
