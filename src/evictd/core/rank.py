"""Who would go first?

Every active pod gets one key, made once from its stats and its requests, and the keys are sorted (kubelet
`rankMemoryPressure`, `rankPIDPressure`, `rankDiskPressureFunc`; the kubelet compares pods pairwise instead).
Order among equals is namespace, name, uid, so that the same input always gives the same victim.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from operator import itemgetter

from evictd.core.config import Policy
from evictd.core.decision import RankedPod
from evictd.core.pod import Pod
from evictd.core.quantity import NANO
from evictd.core.reclaim import Layout
from evictd.core.signal import SIGNAL_TO_FILESYSTEM, SIGNAL_TO_RESOURCE, Filesystem, Resource, Signal
from evictd.core.stats import DiskUsage, PodStats, VolumeStats


class Part(Enum):
    """A part of a pod's disk usage."""

    ROOTFS = "rootfs"
    LOGS = "logs"
    VOLUMES = "volumes"


_EVERYTHING = frozenset(Part)

RANKED_PARTS = {
    Layout.SINGLE: dict.fromkeys(Filesystem, _EVERYTHING),
    Layout.DEDICATED: {
        Filesystem.NODEFS: frozenset({Part.LOGS, Part.VOLUMES}),
        Filesystem.IMAGEFS: frozenset({Part.ROOTFS}),
        Filesystem.CONTAINERFS: frozenset({Part.ROOTFS}),
    },
    Layout.SPLIT: {
        Filesystem.NODEFS: _EVERYTHING,
        Filesystem.IMAGEFS: frozenset[Part](),  # images belong to no pod: every pod uses nothing
        Filesystem.CONTAINERFS: _EVERYTHING,
    },
}
"""Which parts of a pod lie on the filesystem under pressure (kubelet `buildSignalToRankFunc`)."""

_MISSING_FIRST, _EXCEEDS, _WITHIN = 0, 1, 2

_in_order = itemgetter(0, 1, 2, 3, 4, 5, 6)

Meter = Callable[[Pod, PodStats], int]
"""How much a pod uses of what is short, in the resource's own unit."""


def rank(
    signal: Signal, pods: Iterable[Pod], stats: Mapping[str, PodStats], layout: Layout, policy: Policy
) -> tuple[RankedPod, ...]:
    """Put the pods in the order in which they would go for this signal, the first to go first."""
    meter = usage_meter(signal, layout)
    row = _pid_row if SIGNAL_TO_RESOURCE[signal] is Resource.PIDS else _request_row(signal, policy)
    rows = [row(pod, None if (found := stats.get(pod.uid)) is None else meter(pod, found), policy) for pod in pods]
    rows.sort(key=_in_order)
    return tuple(rows)


def usage_meter(signal: Signal, layout: Layout) -> Meter:
    """Give the function that reads a pod's usage of what this signal watches."""
    resource = SIGNAL_TO_RESOURCE[signal]
    if resource is Resource.MEMORY:
        return _memory_usage
    if resource is Resource.PIDS:
        return _process_count
    parts = RANKED_PARTS[layout][SIGNAL_TO_FILESYSTEM[signal]]
    return _disk_meter(parts, 0 if resource is Resource.EPHEMERAL_STORAGE else 1)


def _request_row(signal: Signal, policy: Policy) -> Callable[[Pod, int | None, Policy], RankedPod]:
    """Rank by: usage exceeds request, priority, usage minus request."""
    resource = SIGNAL_TO_RESOURCE[signal]
    exceeding: Callable[[Pod], int] = _memory_request
    subtracted: Callable[[Pod], int] = _memory_request
    if resource is Resource.EPHEMERAL_STORAGE:
        exceeding = subtracted = _storage_request if policy is Policy.STANDARD else _storage_request_as_kubelet
    elif resource is Resource.INODES:
        exceeding = _no_request
        # The kubelet takes the request in bytes off a count of inodes (spec 14, point 13).
        subtracted = _no_request if policy is Policy.STANDARD else _storage_request_as_kubelet

    def row(pod: Pod, usage: int | None, policy: Policy) -> RankedPod:
        if usage is None:
            return _unmeasured(pod, subtracted(pod), policy)
        used = usage * NANO
        request = subtracted(pod)
        first = _EXCEEDS if used > exceeding(pod) else _WITHIN
        return RankedPod(first, pod.priority, 0, request - used, pod.namespace, pod.name, pod.uid, usage, request, pod)

    return row


def _unmeasured(pod: Pod, request: int, policy: Policy) -> RankedPod:
    # The kubelet lets a pod without stats go before all others, so a glitch kills an innocent (kubernetes issue 123591).
    first, last_of_priority = (_WITHIN, 1) if policy is Policy.STANDARD else (_MISSING_FIRST, 0)
    return RankedPod(first, pod.priority, last_of_priority, 0, pod.namespace, pod.name, pod.uid, None, request, pod)


def _pid_row(pod: Pod, usage: int | None, policy: Policy) -> RankedPod:
    """Rank by: priority, number of processes."""
    if usage is None:
        unmeasured = _WITHIN if policy is Policy.STANDARD else _MISSING_FIRST
        return RankedPod(0, pod.priority, unmeasured, 0, pod.namespace, pod.name, pod.uid, None, 0, pod)
    return RankedPod(0, pod.priority, _EXCEEDS, -usage * NANO, pod.namespace, pod.name, pod.uid, usage, 0, pod)


def _memory_request(pod: Pod) -> int:
    return pod.accounts.memory_request


def _storage_request(pod: Pod) -> int:
    return pod.accounts.storage_request


def _storage_request_as_kubelet(pod: Pod) -> int:
    return pod.accounts.storage_request_as_kubelet


def _no_request(_pod: Pod) -> int:
    return 0


def _memory_usage(_pod: Pod, stats: PodStats) -> int:
    return (stats.memory.working_set_bytes or 0) if stats.memory is not None else 0


def _process_count(_pod: Pod, stats: PodStats) -> int:
    return stats.process_count or 0


def _disk_meter(parts: frozenset[Part], unit: int) -> Meter:
    """Sum the parts that count; `unit` 0 reads bytes, 1 inodes. A part without a number adds nothing."""
    with_rootfs, with_logs, with_volumes = (part in parts for part in Part)
    of_volume = itemgetter(VolumeStats._fields.index(DiskUsage._fields[unit]))

    def meter(pod: Pod, stats: PodStats) -> int:
        total = 0
        if with_rootfs or with_logs:
            for _, _, rootfs, logs in stats.containers:
                if with_rootfs and rootfs is not None:
                    total += rootfs[unit] or 0
                if with_logs and logs is not None:
                    total += logs[unit] or 0
        if with_volumes:
            local = pod.accounts.local_volumes
            for volume in stats.volumes:
                if volume.name in local:
                    total += of_volume(volume) or 0
        return total

    return meter
