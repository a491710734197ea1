"""What a pod is to an eviction: who it is, what it asked for, whether it may be touched.

A slim v1.Pod. What every comparison needs (requests, limits) is summed once, when the pod is built, never while ranking.
The sums follow the kubelet's `resourcehelper.PodRequests` and `PodLimits` (spec section 5.5 to 5.7).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from evictd.core.quantity import NANO, ZERO, Quantity

MEMORY = "memory"
CPU = "cpu"
EPHEMERAL_STORAGE = "ephemeral-storage"

Resources = Mapping[str, Quantity]
"""Amounts by resource name, as in `requests` and `limits`."""

NO_RESOURCES: Resources = {}

SYSTEM_CRITICAL_PRIORITY = 2_000_000_000


class QOSClass(Enum):
    """The quality of service class (`status.qosClass`)."""

    GUARANTEED = "Guaranteed"
    BURSTABLE = "Burstable"
    BEST_EFFORT = "BestEffort"


class PodSource(Enum):
    """Where the pod comes from; static pods and their mirrors are never evicted."""

    API = "api"
    STATIC = "static"
    MIRROR = "mirror"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """One volume of the pod's spec."""

    name: str
    kind: VolumeKind
    medium: str = ""
    """emptyDir only: "" is the node's disk, `Memory` and `HugePages...` are not."""
    size_limit: Quantity | None = None
    """emptyDir only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A container or init container; `sidecar` is an init container that is restarted always."""

    name: str
    requests: Resources = field(default_factory=dict)
    limits: Resources = field(default_factory=dict)
    sidecar: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PodLevelResources:
    """`spec.resources` of the pod itself; present and empty is not the same as absent."""

    requests: Resources = field(default_factory=dict)
    limits: Resources = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Toleration:
    """A toleration of the pod's spec, as written."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalLimits:
    """The pod's limits on local storage in whole bytes, rounded down: a counter above the one is above the other."""

    empty_dirs: Mapping[str, int]
    """By volume name."""
    containers: Mapping[str, int]
    """By container name."""
    pod: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PodAccounts:
    """The sums over a pod's containers that ranking and limits need; amounts in nano-units, as quantities are exact."""

    memory_request: int
    storage_request: int
    """ephemeral-storage: the containers' requests, pod-level resources or not (policy Standard)."""
    storage_request_as_kubelet: int
    """ephemeral-storage: zero as soon as the pod has any pod-level resource (policy Kubelet)."""
    storage_limit: Quantity | None
    """The pod's ephemeral-storage limit, `None` where no container has one."""
    local_limits: "LocalLimits | None"
    """`None` where the pod has no limit on local storage to exceed, as most have none."""
    local_volumes: frozenset[str]
    """Names of the volumes that live on the node's disk and count when ranking: hostPath, gitRepo, emptyDir, configMap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod that runs, or may run, on this node."""

    name: str
    namespace: str
    uid: str
    priority: int = 0
    priority_class_name: str = ""
    source: PodSource = PodSource.API
    phase: str = ""
    status_qos_class: str = ""
    generation: int = 0
    termination_grace_period_seconds: int | None = None
    deletion_grace_period_seconds: int | None = None
    """Set while the pod is being deleted."""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    resources: PodLevelResources | None = None
    overhead: Resources = field(default_factory=dict)
    volumes: tuple[Volume, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    owner: str = ""
    """`Kind/name` of the controlling owner."""
    spec_known: bool = True
    """False where only the runtime told of this pod: requests, priority and volumes are then unknown, not zero."""
    accounts: PodAccounts = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "accounts", _accounts(self))

    @property
    def full_name(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def critical(self) -> bool:
        """Never evicted, always admitted (kubelet `types.IsCriticalPod`)."""
        return self.source is not PodSource.API or self.priority >= SYSTEM_CRITICAL_PRIORITY

    @property
    def qos_class(self) -> QOSClass:
        """The class in the status if there is one, else computed from the spec."""
        return QOSClass(self.status_qos_class) if self.status_qos_class else compute_qos_class(self)


def aggregate(
    containers: tuple[Container, ...],
    init_containers: tuple[Container, ...],
    of: Callable[[Container], Resources],
) -> dict[str, Quantity]:
    """Add up containers and take the maximum with what each init container needs while it runs (spec 5.6).

    Only resources that some container mentions are in the result.
    """
    running: dict[str, Quantity] = {}
    for container in containers:
        _add(running, of(container))
    sidecars: dict[str, Quantity] = {}
    peak: dict[str, Quantity] = {}
    for container in init_containers:
        candidate = dict(sidecars)
        _add(candidate, of(container))
        if container.sidecar:
            _add(running, of(container))
            sidecars = candidate
        _raise_to(peak, candidate)
    _raise_to(running, peak)
    return running


def _add(total: dict[str, Quantity], more: Resources) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _raise_to(total: dict[str, Quantity], floor: Resources) -> None:
    for name, amount in floor.items():
        if name not in total or total[name] < amount:
            total[name] = amount


def has_pod_level_resources(pod: Pod) -> bool:
    """Whether `spec.resources` names a resource that may be given at pod level (`IsPodLevelResourcesSet`)."""
    if pod.resources is None:
        return False
    names = (*pod.resources.requests, *pod.resources.limits)
    return any(name in {CPU, MEMORY} or name.startswith("hugepages-") for name in names)


def pod_limit(pod: Pod, resource: str) -> Quantity | None:
    """Give the pod's limit for a resource, with overhead where the limit is not zero (spec 5.7); `None` if there is none."""
    limits = aggregate(pod.containers, pod.init_containers, lambda container: container.limits)
    if pod.resources is not None and resource in pod.resources.limits:
        limits[resource] = pod.resources.limits[resource]
    limit = limits.get(resource)
    if limit is None or not limit.nano or resource not in pod.overhead:
        return limit
    return limit + pod.overhead[resource]


def compute_qos_class(pod: Pod) -> QOSClass:
    """Work out the class from the spec (kubelet `qos.ComputePodQOS`)."""
    if pod.resources is not None:
        requests = _positive(pod.resources.requests)
        limits = _positive(pod.resources.limits)
        guaranteed = not limits or limits.keys() == {CPU, MEMORY}
    else:
        members = (*pod.containers, *pod.init_containers)
        requests, limits = {}, {}
        for container in members:
            _add(requests, _positive(container.requests))
            _add(limits, _positive(container.limits))
        guaranteed = all(_positive(container.limits).keys() == {CPU, MEMORY} for container in members)
    if not requests and not limits:
        return QOSClass.BEST_EFFORT
    return QOSClass.GUARANTEED if guaranteed and requests == limits else QOSClass.BURSTABLE


def _positive(resources: Resources) -> dict[str, Quantity]:
    return {name: amount for name, amount in resources.items() if name in {CPU, MEMORY} and amount.nano > 0}


def _accounts(pod: Pod) -> PodAccounts:
    requests = aggregate(pod.containers, pod.init_containers, lambda container: container.requests)
    pod_level = has_pod_level_resources(pod)
    own = pod.resources.requests if pod_level and pod.resources is not None else requests
    storage_limit = pod_limit(pod, EPHEMERAL_STORAGE)
    return PodAccounts(
        memory_request=_with_overhead(pod, own.get(MEMORY, ZERO), MEMORY),
        storage_request=_with_overhead(pod, requests.get(EPHEMERAL_STORAGE, ZERO), EPHEMERAL_STORAGE),
        storage_request_as_kubelet=0
        if pod_level
        else _with_overhead(pod, requests.get(EPHEMERAL_STORAGE, ZERO), EPHEMERAL_STORAGE),
        storage_limit=storage_limit,
        local_limits=_local_limits(pod, storage_limit),
        local_volumes=frozenset(volume.name for volume in pod.volumes if _is_local(volume)),
    )


def _local_limits(pod: Pod, storage_limit: Quantity | None) -> LocalLimits | None:
    empty_dirs = {
        volume.name: volume.size_limit.nano // NANO
        for volume in pod.volumes
        if volume.kind is VolumeKind.EMPTY_DIR and volume.size_limit is not None and volume.size_limit.nano > 0
    }
    containers = {
        container.name: container.limits[EPHEMERAL_STORAGE].nano // NANO
        for container in pod.containers
        if container.limits.get(EPHEMERAL_STORAGE, ZERO).nano
    }
    if not empty_dirs and not containers and storage_limit is None:
        return None
    whole = None if storage_limit is None else storage_limit.nano // NANO
    return LocalLimits(empty_dirs=empty_dirs, containers=containers, pod=whole)


def _with_overhead(pod: Pod, amount: Quantity, resource: str) -> int:
    if not amount.nano or resource not in pod.overhead:
        return amount.nano
    return amount.nano + pod.overhead[resource].nano


def _is_local(volume: Volume) -> bool:
    if volume.kind is VolumeKind.EMPTY_DIR:
        return volume.medium == ""
    return volume.kind in {VolumeKind.HOST_PATH, VolumeKind.GIT_REPO, VolumeKind.CONFIG_MAP}
