"""Declares a pod's containers and volumes, adds up requests and limits, and computes the quality of service class from them.

The sums follow the kubelet's `resourcehelper.AggregateContainerRequests` and `AggregateContainerLimits`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from enum import Enum

from evictd.core.frozen import frozen
from evictd.core.units.quantity import Quantity

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


def compute_qos_class(members: Iterable[Container], level: PodLevelResources | None = None) -> QOSClass:
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
