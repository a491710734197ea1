"""Declares containers with their requests and limits, and adds these up.

The sums follow the kubelet's `resourcehelper.AggregateContainerRequests` and `AggregateContainerLimits`.
"""

from collections.abc import Callable, Mapping
from dataclasses import field

from evictd.core.frozen import frozen
from evictd.core.units.quantity import Quantity

MEMORY = "memory"
CPU = "cpu"
EPHEMERAL_STORAGE = "ephemeral-storage"

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
