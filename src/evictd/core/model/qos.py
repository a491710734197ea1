"""Computes a pod's quality of service class (kubelet `qos.ComputePodQOS`)."""

from collections.abc import Iterable
from enum import Enum

from evictd.core.model.resources import CPU, MEMORY, Container, PodLevelResources, Resources, add
from evictd.core.units.quantity import Quantity


class QOSClass(Enum):
    """The quality of service class (`status.qosClass`)."""

    GUARANTEED = "Guaranteed"
    BURSTABLE = "Burstable"
    BEST_EFFORT = "BestEffort"


def compute_qos_class(members: Iterable[Container], level: PodLevelResources | None = None) -> QOSClass:
    """Compute the class from all containers, init containers included, or from the pod-level resources if there are any."""
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
