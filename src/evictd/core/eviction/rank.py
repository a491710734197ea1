"""Ranks the active pods for a signal: the first is evicted first.

Every active pod gets one key, made once from its stats and its requests, and the keys are sorted (kubelet
`rankMemoryPressure`, `rankPIDPressure`, `rankDiskPressureFunc`; the kubelet compares pods pairwise instead).
Order among equals is namespace, name, uid, so that the same input always gives the same victim.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import cache, partial
from operator import attrgetter, itemgetter

from evictd.core.eviction.reclaim import Layout
from evictd.core.model.config import NO_PREFERENCES, PodGroup, Policy, Preferences
from evictd.core.model.finding import RankedPod, RankPlace, Standing
from evictd.core.model.holdings import SupplyHoldings
from evictd.core.model.observation import stalled
from evictd.core.model.pod import Pod
from evictd.core.model.signal import RESOURCES, SIGNALS, STALLS, Filesystem, Resource, Signal, Stall, StalledResource
from evictd.core.model.stats import PodStats
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

NOTHING_REMEMBERED = SupplyHoldings()

_group, _within_group = itemgetter(0, 1, 2, 3), itemgetter(4, 5, 6, 7)
_new = tuple.__new__
_memory_request: Callable[[Pod], int] = attrgetter("resource_totals.memory_request")
_storage_request: Callable[[Pod], int] = attrgetter("resource_totals.storage_request")
_storage_request_as_kubelet: Callable[[Pod], int] = attrgetter("resource_totals.storage_request_as_kubelet")

Meter = Callable[[Pod, PodStats], int | None]
"""A pod's usage of the short resource, in the resource's unit; `None` if none of it was measured."""
Measure = Callable[[Iterable[Pod], Mapping[str, PodStats]], tuple[dict[str, int], dict[str, int]]]
"""By uid the usage of each pod that was measured; and how many numbers it is the sum of, where it is not 1."""


def rank(
    signal: Signal,
    pods: Iterable[Pod],
    stats: Mapping[str, PodStats],
    layout: Layout,
    policy: Policy,
    *,
    preferences: Preferences = NO_PREFERENCES,
    holdings: SupplyHoldings = NOTHING_REMEMBERED,
    now: int = 0,
) -> tuple[RankedPod, ...]:
    """Return the pods in the order in which they would be evicted for this signal.

    `holdings` has what pods were measured to hold within the last minute: what these statistics say for those that were measured
    at `now`, and a lower bound for the others.
    Under Standard `preferences` come after "exceeds its request" and before the priority, so that they never make a pod within
    its request go before one that exceeds its own (law Fairness).
    """
    if signal is Signal.SWAP_AVAILABLE:
        by_memory = rank(Signal.MEMORY_AVAILABLE, pods, stats, layout, policy, preferences=preferences)
        return in_order(_by_swap(row, stats.get(row.uid)) for row in by_memory)
    pods = tuple(pods)
    usages = _usages(signal, pods, stats, layout, policy, holdings=holdings, now=now)
    rows = _rows(signal, policy, zip(pods, usages, strict=True))
    if signal in STALLS:
        rows = _by_stall(rows, STALLS[signal], stats)
    if preferences != NO_PREFERENCES and policy is Policy.STANDARD:
        rows = [row._replace(preference=_preference(row.pod, preferences)) for row in rows]
    return in_order(rows)


def _usages(
    signal: Signal,
    pods: Iterable[Pod],
    stats: Mapping[str, PodStats],
    layout: Layout,
    policy: Policy,
    *,
    holdings: SupplyHoldings,
    now: int,
) -> list[int | None]:
    """Return the usage that each pod is ranked by: as measured now, or at least what it was measured to hold lately."""
    meter = usage_meter(signal, layout)
    # The kubelet takes 0 for what is missing from a pod's stats; under Standard such a pod is not measured for this signal.
    unread = 0 if policy is Policy.KUBELET else None
    # Else a pod that was swapped out looks small, although it is the one that uses most (kubernetes/kubernetes#129578).
    with_swap = policy is Policy.STANDARD and SIGNALS[signal].resource is Resource.MEMORY

    used = list[int | None]()
    known, known_now = holdings.used, holdings.measured_at(now)
    for pod in pods:
        uid = pod.uid
        if (found := stats.get(uid)) is None:
            used.append(known.get(uid))
            continue
        if (usage := known_now.get(uid)) is None:  # measuring is the most expensive part of a ranking
            usage = meter(pod, found)
            if uid in known:
                usage = max(usage or 0, known[uid])
        if usage is None:
            usage = unread
        elif with_swap and (memory := found.memory) is not None and memory.swap_bytes:
            usage += memory.swap_bytes
        used.append(usage)
    return used


def in_order(rows: Iterable[RankedPod]) -> tuple[RankedPod, ...]:
    """Sort the rows of a ranking by their keys: few groups by the first four, and then each group by the others."""
    groups: dict[tuple[int, ...], list[RankedPod]] = {}
    for row in rows:
        key = _group(row)
        if (group := groups.get(key)) is None:
            groups[key] = [row]
        else:
            group.append(row)
    found = list[RankedPod]()
    for key in sorted(groups):
        groups[key].sort(key=_within_group)
        found += groups[key]
    return tuple(found)


def _preference(pod: Pod, preferences: Preferences) -> int:
    def is_in(groups: tuple[PodGroup, ...]) -> bool:
        return any(each.has(pod) for each in groups)

    return 1 if is_in(preferences.avoid) else -1 if is_in(preferences.prefer) else 0


@cache
def usage_meter(signal: Signal, layout: Layout) -> Meter:
    """Return the function that reads a pod's usage of what this signal watches."""
    spec = SIGNALS[signal]
    if spec.filesystem is not None:
        return _disk_meter(RANKED_PARTS[layout][spec.filesystem], _unit_of(signal))
    if spec.resource is Resource.IO and spec.stall is not None:
        return partial(_stalled_for_io, spec.stall)
    return _METERS[spec.resource]


def _rows(signal: Signal, policy: Policy, used: Iterable[tuple[Pod, int | None]]) -> list[RankedPod]:
    """Rank by: usage exceeds request, priority, usage minus request; one loop, for it is run over every pod of a ranking.

    Where pods request nothing no pod exceeds its request: the rank is by priority, number of processes or share of time stalled.
    """
    resource = SIGNALS[signal].resource
    requested = RESOURCES[resource].requested
    exceeding = subtracted = _memory_request
    if not requested:
        exceeding = subtracted = _no_request
    elif resource is Resource.EPHEMERAL_STORAGE:
        exceeding = subtracted = _storage_request if policy is Policy.STANDARD else _storage_request_as_kubelet
    elif resource is Resource.INODES:
        exceeding = _no_request
        # The kubelet takes the request in bytes off a count of inodes (docs/parity.md, row 13).
        subtracted = _no_request if policy is Policy.STANDARD else _storage_request_as_kubelet

    # Looked up once, not for every pod; and a row is made without the named tuple's own constructor, a function of Python.
    within, measured, new, kind = Standing.WITHIN, RankPlace.MEASURED, _new, RankedPod
    exceeds = Standing.EXCEEDS if requested else within
    is_same, rows = exceeding is subtracted, list[RankedPod]()
    for pod, usage in used:
        request = subtracted(pod)
        if usage is None:
            rows.append(_unmeasured(pod, request, policy, requested=requested))
            continue
        deficit = request - usage * NANO
        standing = exceeds if (deficit < 0 if is_same else usage * NANO > exceeding(pod)) else within
        of_pod = (pod.namespace, pod.name, pod.uid, usage, request, pod, None, None)
        rows.append(new(kind, (standing, 0, pod.priority, measured, deficit, *of_pod)))
    return rows


def _unmeasured(pod: Pod, request: int, policy: Policy, *, requested: bool) -> RankedPod:
    standing, place = Standing.WITHIN, RankPlace.LAST
    if policy is Policy.KUBELET:
        # It lets a pod without stats go before all others, so a glitch kills an innocent (kubernetes/kubernetes#123591).
        standing, place = Standing.UNMEASURED_FIRST if requested else Standing.WITHIN, RankPlace.UNMEASURED_FIRST
    return RankedPod(standing, 0, pod.priority, place, 0, pod.namespace, pod.name, pod.uid, None, request, pod)


def _by_stall(rows: list[RankedPod], stall: Stall, stats: Mapping[str, PodStats]) -> list[RankedPod]:
    """Rank pods that stall themselves before the others of their priority, and add each one's own stall.

    The culprit of thrashing stalls as much as its neighbours; a large pod that only holds what it has does not. A pod stalls
    itself if it does for at least half as long as the one that stalls most. For I/O the usage is the stall, so that it ranks.
    """
    shares = {
        pod.uid: stalled(stall, found.memory, found.io) for pod in rows if (found := stats.get(pod.uid)) is not None
    }
    most = max((share for share in shares.values() if share is not None), default=0)

    def placed(row: RankedPod) -> RankedPod:
        share = shares.get(row.uid)
        is_last = stall.resource is StalledResource.MEMORY and (share or 0) * 2 < most
        return row._replace(stall=share, place=RankPlace.LAST if is_last else row.place)

    return [placed(row) for row in rows]


def _by_swap(row: RankedPod, stats: PodStats | None) -> RankedPod:
    """Rank by the pod's swap, which its end frees; the keys before that are those of memory."""
    swap = None if stats is None or stats.memory is None else stats.memory.swap_bytes
    if swap is None:
        return _unmeasured(row.pod, 0, Policy.STANDARD, requested=False)._replace(preference=row.preference)
    return row._replace(deficit=-swap * NANO, usage=swap, request=0)


def _no_request(_pod: Pod) -> int:
    return 0


def _stalled_for_io(stall: Stall, _pod: Pod, stats: PodStats) -> int | None:
    return stalled(stall, stats.memory, stats.io)


_METERS: Mapping[Resource, Meter] = {
    Resource.MEMORY: lambda _, stats: None if stats.memory is None else stats.memory.working_set_bytes,
    Resource.PIDS: lambda _, stats: stats.process_count,
    Resource.SWAP: lambda _, stats: None if stats.memory is None else stats.memory.swap_bytes,
}
"""Meters of the resources that are read in the same way for every signal."""


@cache
def usage_measure(signal: Signal, layout: Layout) -> Measure:
    """Return the function that reads the usage of pods of the signal's resource, and how many numbers each amount sums up."""
    filesystem = SIGNALS[signal].filesystem
    if filesystem is not None:
        return partial(_disk_usage, _disk_measure(RANKED_PARTS[layout][filesystem], _unit_of(signal)))
    return partial(_usage, usage_meter(signal, layout))


def _usage(meter: Meter, pods: Iterable[Pod], stats: Mapping[str, PodStats]) -> tuple[dict[str, int], dict[str, int]]:
    return {
        uid: used
        for pod in pods
        if (found := stats.get(uid := pod.uid)) is not None and (used := meter(pod, found)) is not None
    }, {}


def _disk_usage(
    measure: Callable[[Pod, PodStats], tuple[int | None, int]], pods: Iterable[Pod], stats: Mapping[str, PodStats]
) -> tuple[dict[str, int], dict[str, int]]:
    used, parts = dict[str, int](), dict[str, int]()
    for pod in pods:
        if (found := stats.get(uid := pod.uid)) is None:
            continue
        amount, count = measure(pod, found)
        if amount is not None:
            used[uid] = amount
            if count != 1:
                parts[uid] = count
    return used, parts


def _unit_of(signal: Signal) -> int:
    """Return the place of the number in `DiskUsage`: bytes or inodes."""
    return 0 if SIGNALS[signal].resource is Resource.EPHEMERAL_STORAGE else 1


def _disk_meter(parts: frozenset[Part], unit: int) -> Meter:
    measure = _disk_measure(parts, unit)
    return lambda pod, stats: measure(pod, stats)[0]


@cache
def _disk_measure(parts: frozenset[Part], unit: int) -> Callable[[Pod, PodStats], tuple[int | None, int]]:
    """Return the sum of the parts that count, and of how many numbers it is; `unit` 0 reads bytes, 1 inodes.

    Where parts count and none of them has a number the pod is not measured, nor where volumes count and it is not known which it
    has: what is known is then not all. Where no part counts every pod uses nothing.
    """
    with_rootfs, with_logs, with_volumes = (part in parts for part in Part)
    in_bytes = unit == 0

    def measure(pod: Pod, stats: PodStats) -> tuple[int | None, int]:
        if with_volumes and not pod.volumes_known:
            return None, 0
        total = count = 0
        # Parts are read by their places in the named tuples: by name, or unpacked, it takes a third longer.
        if with_rootfs or with_logs:
            for container in stats.containers:
                if with_rootfs and (layer := container[2]) is not None and (used := layer[unit]) is not None:
                    total, count = total + used, count + 1
                if with_logs and (logs := container[3]) is not None and (used := logs[unit]) is not None:
                    total, count = total + used, count + 1
        if with_volumes:
            local = pod.resource_totals.local_volumes
            for volume in stats.volumes:
                if volume[0] in local and (used := volume[1] if in_bytes else volume[2]) is not None:
                    total, count = total + used, count + 1
        measured = bool(count) or not parts
        # Read under Standard alone: no directory has these files, and the pod's end gives them back.
        if with_rootfs and (deleted := stats.deleted_layer) is not None and (used := deleted[unit]) is not None:
            total, measured = total + used, True
        if with_volumes and (deleted := stats.deleted_local) is not None and (used := deleted[unit]) is not None:
            total, measured = total + used, True
        return (total if measured else None), count

    return measure
