"""Ranks the active pods for a signal: the first is evicted first.

Every active pod gets one key, made once from its stats and its requests, and the keys are sorted (kubelet
`rankMemoryPressure`, `rankPIDPressure`, `rankDiskPressureFunc`; the kubelet compares pods pairwise instead).
Order among equals is namespace, name, uid, so that the same input always gives the same victim.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from operator import itemgetter

from evictd.core.eviction.reclaim import Layout
from evictd.core.model.config import NO_PREFERENCES, PodGroup, Policy, Preferences
from evictd.core.model.decision import RankedPod
from evictd.core.model.observation import stalled
from evictd.core.model.pod import Pod
from evictd.core.model.signal import (
    SIGNAL_TO_FILESYSTEM,
    SIGNAL_TO_RESOURCE,
    STALLS,
    WITHOUT_REQUEST,
    Filesystem,
    Resource,
    Signal,
    Stall,
)
from evictd.core.model.stats import DiskUsage, PodStats, VolumeStats
from evictd.core.units.quantity import NANO


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

_keys = itemgetter(0, 1, 2, 3, 4, 5, 6, 7)

Meter = Callable[[Pod, PodStats], int | None]
"""How much a pod uses of what is short, in the resource's own unit; `None` where nothing of it was measured."""


def rank(
    signal: Signal,
    pods: Iterable[Pod],
    stats: Mapping[str, PodStats],
    layout: Layout,
    policy: Policy,
    *,
    preferences: Preferences = NO_PREFERENCES,
) -> tuple[RankedPod, ...]:
    """Put the pods in the order in which they would go for this signal, the first to go first.

    Under Standard `preferences` come after "exceeds its request" and before the priority, so that they never make a pod within
    its request go before one that exceeds its own (law Fairness).
    """
    meter = usage_meter(signal, layout)
    if signal is Signal.SWAP_AVAILABLE:
        by_memory = rank(Signal.MEMORY_AVAILABLE, pods, stats, layout, policy, preferences=preferences)
        return in_order(_by_swap(row, stats.get(row.uid)) for row in by_memory)
    row = _usage_row if SIGNAL_TO_RESOURCE[signal] in WITHOUT_REQUEST else _request_row(signal, policy)
    # The kubelet takes 0 for what is missing from a pod's stats; under Standard such a pod is not measured for this signal.
    unread = 0 if policy is Policy.KUBELET else None
    # Else a pod that was swapped out looks small, although it is the one that uses most (kubernetes issues 120800, 129578).
    with_swap = policy is Policy.STANDARD and SIGNAL_TO_RESOURCE[signal] is Resource.MEMORY

    def used(pod: Pod) -> int | None:
        found = stats.get(pod.uid)
        if found is None:
            return None
        usage = meter(pod, found)
        return unread if usage is None else usage + (swapped(found) if with_swap else 0)

    rows = [row(pod, used(pod), policy) for pod in pods]
    if signal in STALLS:
        rows = _by_stall(rows, STALLS[signal], stats)
    if preferences != NO_PREFERENCES and policy is Policy.STANDARD:
        rows = [row._replace(preference=_preference(row.pod, preferences)) for row in rows]
    return in_order(rows)


def in_order(rows: Iterable[RankedPod]) -> tuple[RankedPod, ...]:
    """Sort the rows of a ranking by their keys."""
    return tuple(sorted(rows, key=_keys))


def _preference(pod: Pod, preferences: Preferences) -> int:
    def is_in(groups: tuple[PodGroup, ...]) -> bool:
        return any(
            (not each.namespaces or pod.namespace in each.namespaces) and each.labels.items() <= pod.labels.items()
            for each in groups
        )

    return 1 if is_in(preferences.avoid) else -1 if is_in(preferences.prefer) else 0


def usage_meter(signal: Signal, layout: Layout) -> Meter:
    """Give the function that reads a pod's usage of what this signal watches."""
    resource = SIGNAL_TO_RESOURCE[signal]
    if resource is Resource.MEMORY:
        return _memory_usage
    if resource is Resource.PIDS:
        return _process_count
    if resource is Resource.SWAP:
        return lambda _pod, stats: None if stats.memory is None else stats.memory.swap_bytes
    if resource is Resource.IO:
        return lambda _pod, stats: stalled(STALLS[signal], stats.memory, stats.io)
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
        return RankedPod(
            first, 0, pod.priority, 0, request - used, pod.namespace, pod.name, pod.uid, usage, request, pod
        )

    return row


def _unmeasured(pod: Pod, request: int, policy: Policy) -> RankedPod:
    # The kubelet lets a pod without stats go before all others, so a glitch kills an innocent (kubernetes issue 123591).
    first, last_of_priority = (_WITHIN, 1) if policy is Policy.STANDARD else (_MISSING_FIRST, 0)
    return RankedPod(first, 0, pod.priority, last_of_priority, 0, pod.namespace, pod.name, pod.uid, None, request, pod)


def _by_stall(rows: list[RankedPod], stall: Stall, stats: Mapping[str, PodStats]) -> list[RankedPod]:
    """Put the pods that stall themselves before the others of their priority, and note each one's own stall.

    The culprit of thrashing stalls as much as its neighbours; a large pod that only holds what it has does not. A pod stalls
    itself if it does for at least half as long as the one that stalls most.
    """
    shares = {
        pod.uid: stalled(stall, found.memory, found.io) for pod in rows if (found := stats.get(pod.uid)) is not None
    }
    most = max((share for share in shares.values() if share is not None), default=0)
    own = ((row, shares.get(row.uid)) for row in rows)
    return [row._replace(stall=share, second=max(row.second, (share or 0) * 2 < most)) for row, share in own]


def _by_swap(row: RankedPod, stats: PodStats | None) -> RankedPod:
    """Rank by what a pod has in swap, which alone comes back, where its place among the pods for memory leaves that open."""
    swap = None if stats is None or stats.memory is None else stats.memory.swap_bytes
    if swap is None:
        return _unmeasured(row.pod, 0, Policy.STANDARD)._replace(preference=row.preference)
    return row._replace(deficit=-swap * NANO, usage=swap, request=0)


def _usage_row(pod: Pod, usage: int | None, policy: Policy) -> RankedPod:
    """Rank by: priority, number of processes or share of time stalled."""
    if usage is None:
        unmeasured = _WITHIN if policy is Policy.STANDARD else _MISSING_FIRST
        return RankedPod(0, 0, pod.priority, unmeasured, 0, pod.namespace, pod.name, pod.uid, None, 0, pod)
    return RankedPod(0, 0, pod.priority, _EXCEEDS, -usage * NANO, pod.namespace, pod.name, pod.uid, usage, 0, pod)


def _memory_request(pod: Pod) -> int:
    return pod.resource_totals.memory_request


def _storage_request(pod: Pod) -> int:
    return pod.resource_totals.storage_request


def _storage_request_as_kubelet(pod: Pod) -> int:
    return pod.resource_totals.storage_request_as_kubelet


def _no_request(_pod: Pod) -> int:
    return 0


def swapped(stats: PodStats) -> int:
    """Give the bytes that a pod has in swap; 0 where that was not read."""
    return 0 if stats.memory is None else stats.memory.swap_bytes or 0


def _memory_usage(_pod: Pod, stats: PodStats) -> int | None:
    return None if stats.memory is None else stats.memory.working_set_bytes


def _process_count(_pod: Pod, stats: PodStats) -> int | None:
    return stats.process_count


def _disk_meter(parts: frozenset[Part], unit: int) -> Meter:
    """Sum the parts that count; `unit` 0 reads bytes, 1 inodes. A part without a number adds nothing.

    Where parts count and none of them has a number the pod is not measured. Where no part counts every pod uses nothing.
    """
    with_rootfs, with_logs, with_volumes = (part in parts for part in Part)
    of_volume = itemgetter(VolumeStats._fields.index(DiskUsage._fields[unit]))

    def meter(pod: Pod, stats: PodStats) -> int | None:
        total: int | None = None if parts else 0
        if with_rootfs or with_logs:
            for _, _, rootfs, logs in stats.containers:
                if with_rootfs and rootfs is not None and (used := rootfs[unit]) is not None:
                    total = (total or 0) + used
                if with_logs and logs is not None and (used := logs[unit]) is not None:
                    total = (total or 0) + used
        if with_volumes:
            local = pod.resource_totals.local_volumes
            for volume in stats.volumes:
                if volume.name in local and (used := of_volume(volume)) is not None:
                    total = (total or 0) + used
        return total

    return meter
