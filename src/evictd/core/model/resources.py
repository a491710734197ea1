"""Declares a pod's containers and volumes, adds up requests and limits, and computes the quality of service class from them.

The sums follow the kubelet's `resourcehelper.PodRequests` and `PodLimits`, `AggregateContainerRequests` and
`AggregateContainerLimits`. Ranking compares them many times, so they are computed once, when the pod is built (`pod_resources`).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from enum import Enum

from evictd.core.frozen import frozen
from evictd.core.units.quantity import NANO, ZERO, Quantity

MEMORY = "memory"
CPU = "cpu"
EPHEMERAL_STORAGE = "ephemeral-storage"

IN_MEMORY = "Memory"
"""The `medium` of an emptyDir on tmpfs."""

Resources = Mapping[str, Quantity]
"""Amounts by resource name, as in `requests` and `limits`."""


@frozen
class Container:
    """A container or init container; `sidecar` is an init container with restartPolicy Always."""

    name: str
    requests: Resources = field(default_factory=dict)
    limits: Resources = field(default_factory=dict)
    sidecar: bool = False
    asked: Resources = field(default_factory=dict)
    """Requests of a resize that was not granted: nothing is decided by them."""


@frozen
class PodLevelResources:
    """`spec.resources` of the pod itself; present but empty differs from absent (`None`)."""

    requests: Resources = field(default_factory=dict)
    limits: Resources = field(default_factory=dict)


class VolumeKind(Enum):
    """The volume types that eviction tells apart, by their field name in the pod's spec."""

    EMPTY_DIR = "emptyDir"
    HOST_PATH = "hostPath"
    GIT_REPO = "gitRepo"
    CONFIG_MAP = "configMap"
    SECRET = "secret"
    PROJECTED = "projected"
    DOWNWARD_API = "downwardAPI"
    OTHER = "other"


@frozen
class Volume:
    """One volume of the pod's spec."""

    name: str
    kind: VolumeKind
    medium: str = ""
    """emptyDir only: "" is the node's disk, `Memory` and `HugePages...` are not."""
    size_limit: Quantity | None = None
    """emptyDir only."""

    @property
    def local(self) -> bool:
        """Whether it uses the node's disk and counts when ranking: hostPath, gitRepo, emptyDir, configMap."""
        if self.kind is VolumeKind.EMPTY_DIR:
            return self.medium == ""
        return self.kind in {VolumeKind.HOST_PATH, VolumeKind.GIT_REPO, VolumeKind.CONFIG_MAP}


def aggregate(
    containers: tuple[Container, ...],
    init_containers: tuple[Container, ...],
    of: Callable[[Container], Resources],
) -> dict[str, Quantity]:
    """Add up the containers; the result is at least what each init container needs while it runs (docs/kubelet.md, Ranking).

    The result holds only resources that some container names.
    """
    running: dict[str, Quantity] = {}
    for container in containers:
        add(running, of(container))
    sidecars: dict[str, Quantity] = {}
    peak: dict[str, Quantity] = {}
    for container in init_containers:
        candidate = dict(sidecars)
        add(candidate, of(container))
        if container.sidecar:
            add(running, of(container))
            sidecars = candidate
        _raise_to(peak, candidate)
    _raise_to(running, peak)
    return running


def add(total: dict[str, Quantity], more: Resources) -> None:
    """Add amounts to a total, in place."""
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _raise_to(total: dict[str, Quantity], floor: Resources) -> None:
    for name, amount in floor.items():
        if name not in total or total[name] < amount:
            total[name] = amount


def has_pod_level_resources(resources: PodLevelResources | None) -> bool:
    """Whether a pod's `spec.resources` names a resource that is supported at pod level (`IsPodLevelResourcesSet`)."""
    if resources is None:
        return False
    names = (*resources.requests, *resources.limits)
    return any(name in {CPU, MEMORY} or name.startswith("hugepages-") for name in names)


class QOSClass(Enum):
    """The quality of service class (`status.qosClass`)."""

    GUARANTEED = "Guaranteed"
    BURSTABLE = "Burstable"
    BEST_EFFORT = "BestEffort"


def compute_qos_class(members: Iterable[Container], level: PodLevelResources | None) -> QOSClass:
    """Compute the class from all containers, init containers included, or from the pod-level resources if there are any.

    Kubelet `qos.ComputePodQOS`.
    """
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    guaranteed = True
    if level is not None:
        requests, limits = _positive(level.requests), _positive(level.limits)
        guaranteed = limits.keys() == {CPU, MEMORY}
    else:
        for container in members:
            own = _positive(container.limits)
            add(requests, _positive(container.requests))
            add(limits, own)
            guaranteed = guaranteed and own.keys() == {CPU, MEMORY}
    if not requests and not limits:
        return QOSClass.BEST_EFFORT
    return QOSClass.GUARANTEED if guaranteed and requests == limits else QOSClass.BURSTABLE


def _positive(resources: Resources) -> dict[str, Quantity]:
    return {name: amount for name, amount in resources.items() if name in {CPU, MEMORY} and amount.nano > 0}


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
