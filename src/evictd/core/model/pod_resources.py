"""Computes the sums of a pod's requests and limits.

Ranking compares these sums many times, so they are computed once, when the pod is built. They follow the kubelet's
`resourcehelper.PodRequests` and `PodLimits`.
"""

from collections.abc import Iterable, Mapping

from evictd.core.frozen import frozen
from evictd.core.model.resources import (
    EPHEMERAL_STORAGE,
    IN_MEMORY,
    MEMORY,
    Container,
    PodLevelResources,
    Resources,
    Volume,
    VolumeKind,
    aggregate,
    has_pod_level_resources,
)
from evictd.core.units.quantity import NANO, ZERO, Quantity


@frozen
class LocalLimits:
    """The pod's limits on local storage in bytes, rounded down, which is exact for comparisons with byte counters."""

    empty_dirs: Mapping[str, int]
    """By volume name."""
    containers: Mapping[str, int]
    """By container name."""
    pod: int | None
    least: int
    """The least of all these."""
    all_on_disk: bool
    """Whether no limited volume is in memory."""


@frozen
class PodResources:
    """The sums over a pod's containers that ranking and limits need; plain ints are nano-units (10^-9)."""

    memory_request: int
    storage_request: int
    """ephemeral-storage: the containers' requests, pod-level resources or not (policy Standard)."""
    storage_request_as_kubelet: int
    """ephemeral-storage: zero if the pod has any pod-level resource (policy Kubelet)."""
    storage_limit: Quantity | None
    """The pod's ephemeral-storage limit, `None` where no container has one."""
    local_limits: LocalLimits | None
    """`None` if the pod has no limit on local storage, which is the usual case."""
    local_volumes: frozenset[str]
    """Names of the volumes on the node's disk that count when ranking: hostPath, gitRepo, emptyDir, configMap."""
    empty_dirs: frozenset[str]
    """Names of the emptyDir volumes on disk."""


def pod_resources(
    containers: tuple[Container, ...],
    init_containers: tuple[Container, ...] = (),
    *,
    level: PodLevelResources | None = None,
    overhead: Resources | None = None,
    volumes: Iterable[Volume] = (),
) -> PodResources:
    """Add up a pod's parts; `level` is the pod-level `spec.resources`."""
    volumes, extra = tuple(volumes), overhead or {}
    requests = aggregate(containers, init_containers, lambda container: container.requests)
    limits = aggregate(containers, init_containers, lambda container: container.limits)
    pod_level = has_pod_level_resources(level)
    own = level.requests if pod_level and level is not None else requests
    storage_request = _with_overhead(requests.get(EPHEMERAL_STORAGE, ZERO), EPHEMERAL_STORAGE, extra).nano
    storage_limit = _limit(EPHEMERAL_STORAGE, limits, level, extra)
    return PodResources(
        memory_request=_with_overhead(own.get(MEMORY, ZERO), MEMORY, extra).nano,
        storage_request=storage_request,
        storage_request_as_kubelet=0 if pod_level else storage_request,
        storage_limit=storage_limit,
        local_limits=_local_limits(containers, volumes, storage_limit),
        local_volumes=frozenset(volume.name for volume in volumes if volume.local),
        empty_dirs=frozenset(
            volume.name for volume in volumes if volume.kind is VolumeKind.EMPTY_DIR and volume.medium != IN_MEMORY
        ),
    )


def _limit(resource: str, limits: Resources, level: PodLevelResources | None, overhead: Resources) -> Quantity | None:
    """Return the pod's limit for a resource, plus overhead if the limit is not zero; `None` if there is none."""
    given = limits if level is None else {**limits, **level.limits}
    limit = given.get(resource)
    return None if limit is None else _with_overhead(limit, resource, overhead)


def _with_overhead(amount: Quantity, resource: str, overhead: Resources) -> Quantity:
    if not amount.nano or resource not in overhead:
        return amount
    return amount + overhead[resource]


def _local_limits(
    containers: Iterable[Container], volumes: Iterable[Volume], storage_limit: Quantity | None
) -> LocalLimits | None:
    empty_dirs = {
        volume.name: volume.size_limit.nano // NANO
        for volume in volumes
        if volume.kind is VolumeKind.EMPTY_DIR and volume.size_limit is not None and volume.size_limit.nano > 0
    }
    by_container = {
        container.name: container.limits[EPHEMERAL_STORAGE].nano // NANO
        for container in containers
        if container.limits.get(EPHEMERAL_STORAGE, ZERO).nano
    }
    if not empty_dirs and not by_container and storage_limit is None:
        return None
    whole = None if storage_limit is None else storage_limit.nano // NANO
    least = min((*empty_dirs.values(), *by_container.values(), *(() if whole is None else (whole,))))
    on_disk = {volume.name for volume in volumes if volume.local}
    return LocalLimits(
        empty_dirs=empty_dirs,
        containers=by_container,
        pod=whole,
        least=least,
        all_on_disk=empty_dirs.keys() <= on_disk,
    )
