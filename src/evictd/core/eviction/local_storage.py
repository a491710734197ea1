"""Finds the pods that exceed a limit of their own on local storage, and those that nearly do.

Limits are the pod's promise, so they are enforced without any pressure, and every offender goes in the same cycle (kubelet
`localStorageEviction`): an emptyDir over its size limit, a pod over the sum of its limits, a container over its own. Usage and
limits are compared as plain ints, since nearly every pod of every cycle exceeds none.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.decision import EvictionCause, EvictionReason, EvictPod
from evictd.core.model.observation import Observation
from evictd.core.model.pod import Pod
from evictd.core.model.resources import EPHEMERAL_STORAGE, LocalLimits
from evictd.core.model.stats import PodStats
from evictd.core.units.quantity import Quantity, of_bytes

EMPTY_DIR_MESSAGE = 'Usage of EmptyDir volume "{}" exceeds the limit "{}". '
POD_MESSAGE = "Pod ephemeral local storage usage exceeds the total limit of containers {}. "
CONTAINER_MESSAGE = 'Container {} exceeded its local ephemeral storage limit "{}". '

Excess = tuple[str, EvictionCause]
"""The message and the cause."""


def local_storage_evictions(
    observation: Observation,
    config: EvictionConfig,
    *,
    dedicated_image_fs: bool,
    on_disk: Mapping[str, int] | None = None,
) -> Iterator[EvictPod]:
    """Yield the eviction of every pod over a limit, with a second of grace; the first limit that it broke is the reason.

    `on_disk` has by uid the sum of what a pod's layers, logs and volumes use of the only disk: none of them uses more than that.
    """
    with_rootfs, known = _counts_rootfs(config, dedicated_image_fs=dedicated_image_fs), observation.pod_stats
    for pod in observation.pods:
        limits = pod.resource_totals.local_limits
        if limits is None or (stats := known.get(pod.uid)) is None:
            continue
        least, total = limits.least, stats.ephemeral_storage
        if total is None or total[0] is None or total[0] <= least:
            summed = on_disk.get(pod.uid) if on_disk else None
            if summed is not None and summed <= least and limits.all_on_disk:
                continue
            if not _has_part_over(least, stats):
                continue
        excess = _excess(pod, limits, stats, with_rootfs=with_rootfs)
        if excess is not None and not config.protects(pod):
            message, cause = excess
            yield EvictPod(pod=pod, grace_period_seconds=1, message=message, because=cause)


def nearly_over(
    observation: Observation, config: EvictionConfig, *, dedicated_image_fs: bool, tenths: int
) -> Iterator[tuple[Pod, EvictionCause]]:
    """Yield each pod that may go and uses `tenths` of a limit of its own or more, with the first such limit and its usage."""
    with_rootfs = _counts_rootfs(config, dedicated_image_fs=dedicated_image_fs)
    for pod in observation.pods:
        limits, stats = pod.resource_totals.local_limits, observation.pod_stats.get(pod.uid)
        if limits is None or stats is None or not config.local_storage_capacity_isolation or config.protects(pod):
            continue
        least, total = _nearly(limits.least, tenths), stats.ephemeral_storage
        if (total is None or (total.used_bytes or 0) <= least) and not _has_part_over(least, stats):
            continue
        lower = replace(
            limits,
            empty_dirs={name: _nearly(limit, tenths) for name, limit in limits.empty_dirs.items()},
            containers={name: _nearly(limit, tenths) for name, limit in limits.containers.items()},
            pod=None if limits.pod is None else _nearly(limits.pod, tenths),
        )
        if (near := _excess(pod, lower, stats, with_rootfs=with_rootfs)) is not None:
            yield pod, near[1]


def _nearly(limit: int, tenths: int) -> int:
    """Return the greatest amount that is below this number of tenths of a limit."""
    return max(-(-limit * tenths // 10) - 1, 0)


def _counts_rootfs(config: EvictionConfig, *, dedicated_image_fs: bool) -> bool:
    """Whether writable layers count; the kubelet leaves them out with an imagefs of its own (docs/parity.md, row 21)."""
    return config.policy is Policy.STANDARD or not dedicated_image_fs


def _has_part_over(least: int, stats: PodStats) -> bool:
    """Whether a layer with its logs, or a volume, uses more than the least of a pod's limits; else none has to be compared."""
    for volume in stats.volumes:
        if (used := volume[1]) is not None and used > least:
            return True
    for container in stats.containers:
        rootfs, logs = container[2], container[3]
        used = 0 if logs is None else logs[0] or 0
        if rootfs is not None:
            used += rootfs[0] or 0
        if used > least:
            return True
    return False


def _excess(pod: Pod, limits: LocalLimits, stats: PodStats, *, with_rootfs: bool) -> Excess | None:
    """Return the first limit that a pod exceeds, in the kubelet's order."""
    return (
        _of_empty_dir(pod, limits, stats)
        or _of_pod(pod, limits, stats)
        or _of_container(pod, limits, stats, with_rootfs=with_rootfs)
    )


def _of_empty_dir(pod: Pod, limits: LocalLimits, stats: PodStats) -> Excess | None:
    if not limits.empty_dirs:
        return None
    measured = {name: used for name, used, _ in stats.volumes if used is not None}
    for volume in pod.volumes:
        used, limit = measured.get(volume.name, 0), limits.empty_dirs.get(volume.name)
        if limit is not None and used > limit and volume.size_limit is not None:
            cause = _cause(EvictionReason.EMPTY_DIR_LIMIT, volume.size_limit, used, volume.name)
            return EMPTY_DIR_MESSAGE.format(volume.name, volume.size_limit), cause
    return None


def _of_pod(pod: Pod, limits: LocalLimits, stats: PodStats) -> Excess | None:
    limit, usage = pod.resource_totals.storage_limit, stats.ephemeral_storage
    used = 0 if usage is None else usage.used_bytes or 0
    if limit is None or limits.pod is None or used <= limits.pod:
        return None
    return POD_MESSAGE.format(limit), _cause(EvictionReason.POD_LIMIT, limit, used, pod.name)


def _of_container(pod: Pod, limits: LocalLimits, stats: PodStats, *, with_rootfs: bool) -> Excess | None:
    if not limits.containers:
        return None
    of = limits.containers
    for name, _, rootfs, logs in stats.containers:
        if name not in of:
            continue
        used = 0 if logs is None else logs[0] or 0
        if with_rootfs and rootfs is not None:
            used += rootfs[0] or 0
        if used > of[name]:
            own = (each.limits for each in pod.containers if each.name == name)
            limit = next(each[EPHEMERAL_STORAGE] for each in own if EPHEMERAL_STORAGE in each)
            cause = _cause(EvictionReason.CONTAINER_LIMIT, limit, used, name)
            return CONTAINER_MESSAGE.format(name, limit), cause
    return None


def _cause(reason: EvictionReason, limit: Quantity, used: int, subject: str) -> EvictionCause:
    return EvictionCause(reason=reason, limit=limit, usage=of_bytes(used), subject=subject)
