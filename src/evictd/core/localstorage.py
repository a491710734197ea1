"""Which pods have broken a limit of their own on local storage?

Limits are the pod's promise, so they are enforced without any pressure, and every offender goes in the same cycle (kubelet
`localStorageEviction`): an emptyDir over its size limit, a pod over the sum of its limits, a container over its own.
"""

from collections.abc import Iterator

from evictd.core.accounts import LocalLimits
from evictd.core.config import EvictionConfig, Policy
from evictd.core.decision import Because, EvictionReason, EvictPod
from evictd.core.evict import evict_for_limit
from evictd.core.observation import Observation
from evictd.core.pod import Pod
from evictd.core.quantity import Quantity, of_bytes
from evictd.core.resources import EPHEMERAL_STORAGE
from evictd.core.stats import ContainerStats, PodStats
from evictd.core.volume import VolumeKind

EMPTY_DIR_MESSAGE = 'Usage of EmptyDir volume "{}" exceeds the limit "{}". '
POD_MESSAGE = "Pod ephemeral local storage usage exceeds the total limit of containers {}. "
CONTAINER_MESSAGE = 'Container {} exceeded its local ephemeral storage limit "{}". '


def local_storage_evictions(
    observation: Observation, config: EvictionConfig, *, dedicated_image_fs: bool
) -> Iterator[EvictPod]:
    """Yield the eviction of every pod over a limit; the first limit that it broke is the reason."""
    # The kubelet leaves the writable layer out where images have a filesystem of their own (spec 14, point 21).
    with_rootfs = config.policy is Policy.STANDARD or not dedicated_image_fs
    for pod in observation.pods:
        limits = pod.accounts.local_limits
        if limits is None:
            continue
        stats = observation.pod_stats.get(pod.uid)
        if stats is None or not _is_over(limits, stats, with_rootfs=with_rootfs):
            continue
        found = (
            _empty_dir_limit_eviction(pod, stats)
            or _pod_ephemeral_storage_limit_eviction(pod, stats)
            or _container_ephemeral_storage_limit_eviction(pod, stats, with_rootfs=with_rootfs)
        )
        if found is not None and (eviction := evict_for_limit(pod, *found, config)) is not None:
            yield eviction


def _is_over(limits: LocalLimits, stats: PodStats, *, with_rootfs: bool) -> bool:
    """Whether any limit is broken; plain integers, since nearly every pod of every cycle ends here."""
    if limits.pod is not None and stats.ephemeral_storage is not None:
        used = stats.ephemeral_storage.used_bytes
        if used is not None and used > limits.pod:
            return True
    if limits.empty_dirs:
        for name, used, _ in stats.volumes:
            if used is not None and used > limits.empty_dirs.get(name, used):
                return True
    if limits.containers:
        for container in stats.containers:
            limit = limits.containers.get(container.name)
            if limit is not None and _container_usage(container, with_rootfs=with_rootfs) > limit:
                return True
    # A limit below zero is broken by nothing at all, too.
    return limits.pod is not None and limits.pod < 0


def _empty_dir_limit_eviction(pod: Pod, stats: PodStats) -> tuple[str, Because] | None:
    used = {volume.name: volume.used_bytes for volume in stats.volumes}
    for volume in pod.volumes:
        limit = volume.size_limit
        if volume.kind is not VolumeKind.EMPTY_DIR or limit is None or limit.nano <= 0:
            continue
        usage = used.get(volume.name)
        if usage is not None and limit < of_bytes(usage):
            reason = EvictionReason.EMPTY_DIR_LIMIT
            return EMPTY_DIR_MESSAGE.format(volume.name, limit), _because(reason, limit, usage, volume.name)
    return None


def _pod_ephemeral_storage_limit_eviction(pod: Pod, stats: PodStats) -> tuple[str, Because] | None:
    limit = pod.accounts.storage_limit
    if limit is None:
        return None
    usage = (stats.ephemeral_storage.used_bytes or 0) if stats.ephemeral_storage is not None else 0
    if not limit < of_bytes(usage):
        return None
    return POD_MESSAGE.format(limit), _because(EvictionReason.POD_LIMIT, limit, usage, pod.name)


def _container_ephemeral_storage_limit_eviction(
    pod: Pod, stats: PodStats, *, with_rootfs: bool
) -> tuple[str, Because] | None:
    limits = {container.name: container.limits.get(EPHEMERAL_STORAGE) for container in pod.containers}
    for container in stats.containers:
        limit = limits.get(container.name)
        if limit is None or not limit.nano:
            continue
        usage = _container_usage(container, with_rootfs=with_rootfs)
        if limit < of_bytes(usage):
            reason = EvictionReason.CONTAINER_LIMIT
            return CONTAINER_MESSAGE.format(container.name, limit), _because(reason, limit, usage, container.name)
    return None


def _container_usage(container: ContainerStats, *, with_rootfs: bool) -> int:
    logs = (container.logs.used_bytes or 0) if container.logs is not None else 0
    rootfs = (container.rootfs.used_bytes or 0) if with_rootfs and container.rootfs is not None else 0
    return logs + rootfs


def _because(reason: EvictionReason, limit: Quantity, usage: int, subject: str) -> Because:
    return Because(reason=reason, limit=limit, usage=of_bytes(usage), subject=subject)
