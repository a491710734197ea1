"""Reads what the kubelet has allocated to the pods that only the runtime knows, from the kubelet's own checkpoint.

Without an API server and a manifest the requests of such a pod are unknown, and deduced from its OOM score at best. The kubelet
keeps the allocated requests and limits of every pod in `allocated_pods_state` in its directory, to restore them after a restart
(kubelet `pkg/kubelet/allocation/state`, since Kubernetes 1.33). The kubelet replaces the file at each change, and then it is read
again.
"""

import os
import stat
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from evictd.codec.pod import Allocation, decode_allocations
from evictd.core.model.pod import Pod
from evictd.errors import EvictdError, NodeError, SourceKind
from evictd.observe.cgroups.file_descriptor_cache import VanishedError, unreadable
from evictd.observe.reading.problems import Problems

CHECKPOINT = "allocated_pods_state"
_MAX_BYTES = 16 << 20
"""A pod takes some 300 bytes."""


class AllocatedPods:
    """The allocations in one kubelet's directory; remembers them as long as the file is the same."""

    def __init__(self, kubelet_dir: Path) -> None:
        self._path = kubelet_dir / CHECKPOINT
        self._version: tuple[int, ...] | None = None
        self._known: Mapping[str, Allocation] = {}

    def complete(self, pods: Collection[Pod], problems: Problems) -> tuple[Pod, ...]:
        """Return all pods, those without a known spec with the requests and limits that were allocated to them.

        Where the file cannot be read a problem is added, and the pods stay as they are; without a file there is no problem.
        """
        if all(pod.spec_known for pod in pods):
            return tuple(pods)
        try:
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
