"""Builds the requests for the pods' disk usage: what is near a threshold decides which pods and which of their parts."""

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from pathlib import Path

from evictd.core.model.config import Policy
from evictd.core.model.pod import Pod
from evictd.core.model.signal import Filesystem
from evictd.observe.cgroups.cgroup import container_cgroups, is_safe_path, pod_cgroups
from evictd.observe.cgroups.cgroup_reader import CgroupReader
from evictd.observe.disk_usage.layer_folder import layer_requests
from evictd.observe.disk_usage.pod_disk import DiskRequest, disk_request
from evictd.observe.disk_usage.writers import Writers
from evictd.observe.runtime.runtime_view import RuntimeView


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
