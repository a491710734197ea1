"""Keeps the pods that the API server listed last in the state directory, for a start while the server does not answer.

The runtime knows neither priority nor requests nor owner of a pod. After a restart during an outage of the API server, and
before the first list, evictd would therefore take `kube-system/calico-node` for a pod like any other (docs/faults.md, 9).
What the server listed last completes such pods by their uid. It is never the list of pods itself: only what the runtime runs
now is on the node.

The file is `pods.json`, written by the recorder's thread when something that decisions use has changed. Its blocks are reserved
as those of the state file are, because a full disk is when the pods are needed. It is valid in any boot, since a pod keeps its
uid over a restart of the node. It is bounded: where the pods are more than fit, the least important ones are left out. A file
that cannot be used is set aside with one error.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from evictd.codec.pods.pod import decode_pod, encode_pod
from evictd.codec.scalars import check_texts
from evictd.core.model.pod import Pod
from evictd.daemon.store.state_file import StateFile
from evictd.errors import InputError
from evictd.worker import ErrorReporter, JobQueue

FILE_NAME = "pods.json"
MOST_BYTES = 1 << 20
"""Most bytes of all pods together, encoded: some thousand pods of an ordinary size."""
_ANY_BOOT = ""


class KnownPods:
    """The last known pods. Reads the file at once; writes are jobs of `jobs`."""

    def __init__(self, state_directory: Path, jobs: JobQueue, errors: ErrorReporter) -> None:
        self._file = StateFile(state_directory / FILE_NAME, _ANY_BOOT)
        self._jobs = jobs
        self._by_uid: dict[str, Pod] = self._file.load(
            decode_known_pods, fresh={}, errors=errors, then="no pod is known from before"
        )
        self._listed: tuple[Pod, ...] = ()
        self._written: Mapping[str, Pod] | None = self._by_uid

    def remember(self, pods: tuple[Pod, ...]) -> None:
        """Take the API server's present pods; write them if any part that decisions use has changed."""
        if pods != self._listed or self._written is None:
            self._listed = pods
            self._by_uid = {pod.uid: _lasting(pod) for pod in pods}
            if self._by_uid != self._written:
                self._written = self._by_uid
                if not self._jobs.submit("state", partial(self._write, self._by_uid)):
                    self._written = None

    def completed(self, pods: tuple[Pod, ...]) -> tuple[Pod, ...]:
        """Complete pods that only the runtime knows with their last listing; other pods stay unchanged."""
        return tuple(self._completed(pod) for pod in pods)

    def _completed(self, pod: Pod) -> Pod:
        known = None if pod.spec_known else self._by_uid.get(pod.uid)
        if known is None or known.full_name != pod.full_name:
            return pod
        return replace(known, phase=pod.phase, deletion_grace_period_seconds=pod.deletion_grace_period_seconds)

    def _write(self, pods: Mapping[str, Pod]) -> None:
        try:
            self._file.write({"pods": encode_known_pods(pods)})
        except BaseException:
            self._written = None  # the next cycle tries again
            raise


def _lasting(pod: Pod) -> Pod:
    """Leave out what changes while a pod runs, and what no eviction depends on."""
    return replace(pod, phase="", generation=0, deletion_grace_period_seconds=None, tolerations=())


def encode_known_pods(pods: Mapping[str, Pod]) -> list[dict[str, Any]]:
    """Encode as v1.Pod, the most important pods first, until the bytes are used up; a pod that does not fit is left out."""
    found, left = [], MOST_BYTES
    for pod in sorted(pods.values(), key=lambda pod: (not pod.critical, -pod.priority, pod.uid)):
        plain = encode_pod(pod)
        size = len(json.dumps(plain, separators=(",", ":")))
        if size <= left:
            left -= size
            found.append(plain)
    return found


def decode_known_pods(remembered: Mapping[str, Any]) -> dict[str, Pod]:
    """Decode by uid; raises `InputError` for what `encode_known_pods` cannot have written."""
    plain = remembered.get("pods")
    if not isinstance(plain, list):
        raise InputError("pods: want a list")
    check_texts(plain, "pods")
    pods = tuple(decode_pod(each) for each in plain)
    return {pod.uid: pod for pod in pods}
