"""Computes the `oom_score_adj` and the Memory QoS values that the kubelet sets for a pod.

`oom_score_adj` is the kubelet's `qos.GetContainerOOMScoreAdjust`, the Memory QoS values are its
`setMemoryQoSConfig` and `qosContainerManager`. The runtime writes both when it
creates a container; evictd compares them with those of the running processes and their cgroups. Amounts are bytes.
"""

from collections.abc import Iterable
from enum import Enum

from evictd.core.frozen import frozen
from evictd.core.model.pod import Pod
from evictd.core.model.resources import MEMORY, Container, QOSClass, Resources, aggregate
from evictd.core.units.quantity import NANO

GUARANTEED_OOM_SCORE_ADJ = -997
BEST_EFFORT_OOM_SCORE_ADJ = 1000
LEAST_BURSTABLE_OOM_SCORE_ADJ = 1000 + GUARANTEED_OOM_SCORE_ADJ
SYSTEM_NODE_CRITICAL = "system-node-critical"
SYSTEM_NODE_CRITICAL_PRIORITY = 2_000_001_000
"""The priority of that class."""


class MemoryReservationPolicy(Enum):
    """The kubelet's `memoryReservationPolicy`: whether requests become `memory.min` and `memory.low`."""

    NONE = "None"
    TIERED_RESERVATION = "TieredReservation"


@frozen
class MemoryQoS:
    """Values of one cgroup's memory files; `high` of `None` is the kernel's `max`."""

    min: int = 0
    low: int = 0
    high: int | None = None


@frozen
class MemoryQoSRules:
    """The settings on which the values depend beside the pods."""

    policy: MemoryReservationPolicy = MemoryReservationPolicy.NONE
    throttling_factor: float | None = 0.9
    """`None`: memory.high is the kernel's `max`."""
    reserved: int = 0
    """Memory that is set aside for the kubelet and the system, which pods cannot use."""


@frozen
class MemoryQoSDifference:
    """A memory file of a cgroup that holds another value than the documented one; `None` is the kernel's `max`."""

    subject: str
    """The container, the pod, or which pods the cgroup holds."""
    cgroup: str
    """Path from the root of the hierarchy."""
    file: str
    expected: int | None
    found: int | None


@frozen
class OomScoreDifference:
    """A running container whose score differs from the documented one. `pids` are its processes with the score `found`.

    A process may raise its own score, so the lowest score in a container is the one that the runtime set.
    """

    pod: Pod
    container: str
    expected: int
    found: int
    cgroup: str
    """The container's cgroup, as a path from the hierarchy's root."""
    pids: tuple[int, ...]


def node_critical(pod: Pod) -> bool:
    """Whether the pod has the priority class system-node-critical (`types.IsNodeCriticalPod`)."""
    return pod.critical and pod.priority_class_name == SYSTEM_NODE_CRITICAL


def oom_score_adj(pod: Pod, container: Container, memory_capacity: int) -> int:
    """Return the documented `oom_score_adj` of one of the pod's containers; `memory_capacity` is MemTotal, above zero."""
    if node_critical(pod) or pod.qos_class is QOSClass.GUARANTEED:
        return GUARANTEED_OOM_SCORE_ADJ
    if pod.qos_class is QOSClass.BEST_EFFORT:
        return BEST_EFFORT_OOM_SCORE_ADJ
    extra = _pod_level_share(pod)
    score = _score(_memory(container.requests) + extra, memory_capacity)
    if container.sidecar:
        # A sidecar must not be killed before the containers that it serves.
        smallest = min((_memory(main.requests) for main in pod.containers), default=0)
        score = min(score, _score(smallest + extra, memory_capacity))
    if score < LEAST_BURSTABLE_OOM_SCORE_ADJ:
        return LEAST_BURSTABLE_OOM_SCORE_ADJ
    return BEST_EFFORT_OOM_SCORE_ADJ - 1 if score == BEST_EFFORT_OOM_SCORE_ADJ else score


def greatest_memory_request(score: int, memory_capacity: int) -> int:
    """Return the greatest memory request for which the kubelet gives a Burstable container this `oom_score_adj`.

    The inverse of `oom_score_adj`, to a thousandth of the capacity. The least score stands for everything above it.
    """
    if score <= LEAST_BURSTABLE_OOM_SCORE_ADJ:
        return memory_capacity
    above = -((score - 1001) * memory_capacity // 1000)  # rounded up: the least request with the next lower score
    return max(above - 1, 0)


def container_memory_qos(
    pod: Pod, container: Container, rules: MemoryQoSRules, *, memory_capacity: int, page_size: int
) -> MemoryQoS:
    """Compute one container's values from its own request and limit; pod-level resources do not count."""
    request, limit = _memory(container.requests), _memory(container.limits)
    reserved = request if rules.policy is MemoryReservationPolicy.TIERED_RESERVATION else 0
    guaranteed = pod.qos_class is QOSClass.GUARANTEED
    high: int | None = None
    if request != limit and rules.throttling_factor is not None:
        most = limit or max(memory_capacity - rules.reserved, 0)
        throttled = int(request + (most - request) * rules.throttling_factor)
        aligned = throttled // page_size * page_size
        high = aligned if aligned > request else None
    return MemoryQoS(min=reserved if guaranteed else 0, low=0 if guaranteed else reserved, high=high)


def pod_memory_qos(pod: Pod, policy: MemoryReservationPolicy) -> MemoryQoS:
    """Compute the values of the pod's own cgroup, where the kubelet never sets memory.high."""
    request = pod.resource_totals.memory_request // NANO
    if policy is MemoryReservationPolicy.NONE:
        return MemoryQoS()
    if pod.qos_class is QOSClass.GUARANTEED:
        return MemoryQoS(min=request)
    return MemoryQoS(low=request if pod.qos_class is QOSClass.BURSTABLE else 0)


@frozen
class QOSMemory:
    """Values of the cgroups above the pods: `kubepods` and `kubepods/burstable`."""

    root_min: int = 0
    burstable_low: int = 0


def qos_memory(pods: Iterable[Pod], policy: MemoryReservationPolicy) -> QOSMemory:
    """Sum up the protected memory for the cgroups above the pods."""
    if policy is MemoryReservationPolicy.NONE:
        return QOSMemory()
    each = [pod_memory_qos(pod, policy) for pod in pods]
    return QOSMemory(root_min=sum(qos.min + qos.low for qos in each), burstable_low=sum(qos.low for qos in each))


def _score(request: int, capacity: int) -> int:
    return 1000 - _divide(1000 * request, capacity)


def _pod_level_share(pod: Pod) -> int:
    """Compute each container's share of a pod-level memory request beyond the containers' own requests."""
    if pod.resources is None or MEMORY not in pod.resources.requests:
        return 0
    own = _memory(aggregate(pod.containers, pod.init_containers, lambda container: container.requests))
    return _divide(_memory(pod.resources.requests) - own, len(pod.containers) + len(pod.init_containers))


def _memory(resources: Resources) -> int:
    return resources[MEMORY].value() if MEMORY in resources else 0


def _divide(dividend: int, divisor: int) -> int:
    """Divide as Go does, toward zero."""
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient
