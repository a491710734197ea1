"""Which quality of service does a pod get for what it asks for? (kubelet `qos.ComputePodQOS`, spec 5.8)"""

from collections.abc import Iterable
from enum import Enum

from evictd.core.quantity import Quantity
from evictd.core.resources import CPU, MEMORY, Container, PodLevelResources, Resources, add


class QOSClass(Enum):
    """The quality of service class (`status.qosClass`)."""

    GUARANTEED = "Guaranteed"
    BURSTABLE = "Burstable"
    BEST_EFFORT = "BestEffort"


def compute_qos_class(members: Iterable[Container], level: PodLevelResources | None = None) -> QOSClass:
    """Work out the class from a pod's containers, init containers among them, and from its pod-level resources."""
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    guaranteed = True
    if level is not None:
        requests, limits = _positive(level.requests), _positive(level.limits)
        guaranteed = not limits or limits.keys() == {CPU, MEMORY}
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
