"""Makes the decision to evict a pod, with its grace period.

The message, the event's annotations and the DisruptionTarget condition are the kubelet's, word for word (`evictionMessage`,
`evictPod`).
"""

from collections.abc import Iterator

from evictd.core.eviction.page_cache import file_pages
from evictd.core.eviction.time_left import fit_grace
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.decision import EvictionCause, EvictionReason, EvictPod, PodCondition
from evictd.core.model.finding import RankedPod
from evictd.core.model.observation import SignalObservation
from evictd.core.model.pod import Pod
from evictd.core.model.resources import EPHEMERAL_STORAGE, MEMORY, has_pod_level_resources
from evictd.core.model.signal import ALL_OF_THE_TIME, RESOURCES, SIGNALS, STALLS, Resource
from evictd.core.model.state import IMMEDIATE_EVICTION_GRACE_PERIOD_SECONDS
from evictd.core.model.stats import ContainerStats, PodStats
from evictd.core.model.threshold import Threshold, limit_of
from evictd.core.units.duration import format_duration
from evictd.core.units.quantity import ZERO, Quantity, of_bytes

EVICTED = "Evicted"
SHORTEST_SOFT_GRACE_PERIOD_SECONDS = 2
"""More than any hard threshold gives; the kubelet's runtime manager replaces zero by it (`minimumGracePeriodInSeconds`)."""
DEFAULT_TERMINATION_GRACE_PERIOD_SECONDS = 30
"""The API's default for a pod without one."""

NODE_LOW_MESSAGE = "The node was low on resource: {}. "
THRESHOLD_MET_MESSAGE = "Threshold quantity: {}, available: {}. "
STALLED_MESSAGE = "Stalled: {} {:g}%, threshold {:g}% for {}. "
CONTAINER_MESSAGE = "Container {} was using {}, request is {}, has larger consumption of {}. "
POD_MESSAGE = "Pod {} was using {}, request is {}, has larger consumption of {}. "

OFFENDING_CONTAINERS = "offending_containers"
OFFENDING_CONTAINERS_USAGE = "offending_containers_usage"
OFFENDING_POD = "offending_pod"
OFFENDING_POD_USAGE = "offending_pod_usage"
STARVED_RESOURCE = "starved_resource"


def evict_for_pressure(
    row: RankedPod, threshold: Threshold, observation: SignalObservation, stats: PodStats | None, config: EvictionConfig
) -> EvictPod:
    """Make the decision to evict this pod because of this threshold."""
    resource = SIGNALS[threshold.signal].resource
    message, annotations = eviction_message(resource, row.pod, stats, threshold, observation)
    eviction = EvictPod(
        pod=row.pod,
        grace_period_seconds=eviction_grace_period_seconds(row.pod, threshold, config),
        message=message,
        annotations=annotations,
        condition=PodCondition(
            type="DisruptionTarget",
            status="True",
            reason="TerminationByKubelet",
            message=message,
            observed_generation=row.pod.generation,
        ),
        because=EvictionCause(
            reason=EvictionReason.PRESSURE,
            threshold=threshold,
            limit=limit_of(threshold, observation),
            available=observation.available,
            usage=None if row.usage is None else SIGNALS[threshold.signal].amount(row.usage),
            request=Quantity(row.request, RESOURCES[resource].format),
            file_pages=file_pages(row, resource, stats),
        ),
    )
    return fit_grace(eviction, threshold, observation, config)


def eviction_grace_period_seconds(pod: Pod, threshold: Threshold, config: EvictionConfig) -> int:
    """Return the grace period in seconds: one for a hard threshold, else the lesser of the pod's own and the configured maximum.

    A negative maximum is documented to leave the pod's own period alone; the kubelet's code takes the negative number. Policy
    Standard gives a soft victim at least two seconds, which is what the kubelet's runtime manager makes of zero.
    """
    if threshold.hard:
        return IMMEDIATE_EVICTION_GRACE_PERIOD_SECONDS
    most = config.max_pod_grace_period_seconds
    own = pod.termination_grace_period_seconds
    if config.policy is Policy.KUBELET:
        return most if own is None else min(most, own)
    if most < 0:
        most = DEFAULT_TERMINATION_GRACE_PERIOD_SECONDS if own is None else own
    return max(most if own is None else min(most, own), SHORTEST_SOFT_GRACE_PERIOD_SECONDS)


def eviction_message(
    resource: Resource, pod: Pod, stats: PodStats | None, threshold: Threshold, observation: SignalObservation
) -> tuple[str, dict[str, str]]:
    """Write the message and the event's annotations (kubelet `evictionMessage`)."""
    parts = [
        NODE_LOW_MESSAGE.format(resource.value),
        _threshold_message(threshold, observation),
    ]
    if stats is None:
        return "".join(parts), {}
    annotations: dict[str, str] = {}
    if resource is Resource.MEMORY:
        _name_offending_pod(pod, stats, parts, annotations)
    offending = list(_offending_containers(resource, pod, stats))
    parts += [CONTAINER_MESSAGE.format(*each, resource.value) for each in offending]
    annotations[OFFENDING_CONTAINERS] = ",".join(name for name, _, _ in offending)
    annotations[OFFENDING_CONTAINERS_USAGE] = ",".join(str(usage) for _, usage, _ in offending)
    annotations[STARVED_RESOURCE] = resource.value
    return "".join(parts), annotations


def _threshold_message(threshold: Threshold, observation: SignalObservation) -> str:
    limit = limit_of(threshold, observation)
    if threshold.signal not in STALLS:
        return THRESHOLD_MET_MESSAGE.format(limit, observation.available)
    stalled, above = ((ALL_OF_THE_TIME - each.value()) / 100 for each in (observation.available, limit))
    return STALLED_MESSAGE.format(threshold.signal.value, stalled, above, format_duration(threshold.grace_period))


def _name_offending_pod(pod: Pod, stats: PodStats, parts: list[str], annotations: dict[str, str]) -> None:
    """Add the pod itself if it has a memory request of its own, whether it exceeds that or not, as the kubelet does."""
    if not has_pod_level_resources(pod.resources) or pod.resources is None or MEMORY not in pod.resources.requests:
        return
    if stats.memory is None or stats.memory.working_set_bytes is None:
        return
    usage = of_bytes(stats.memory.working_set_bytes)
    parts.append(POD_MESSAGE.format(pod.name, usage, pod.resources.requests[MEMORY], MEMORY))
    annotations[OFFENDING_POD] = pod.name
    annotations[OFFENDING_POD_USAGE] = str(usage)


def _offending_containers(resource: Resource, pod: Pod, stats: PodStats) -> Iterator[tuple[str, Quantity, Quantity]]:
    """Yield name, usage and request of each container that uses more than it requests."""
    requests = {each.name: each.requests for each in (*pod.init_containers, *pod.containers)}
    for container in stats.containers:
        usage = _container_usage(resource, container)
        if usage is None or container.name not in requests:
            continue
        request = requests[container.name].get(resource.value, ZERO)
        if request < usage:
            yield container.name, usage, request


def _container_usage(resource: Resource, container: ContainerStats) -> Quantity | None:
    """Return the usage that the message names: the working set, or writable layer plus logs; nothing for inodes and PIDs."""
    if resource is Resource.MEMORY:
        return None if container.working_set_bytes is None else of_bytes(container.working_set_bytes)
    if resource.value != EPHEMERAL_STORAGE or container.rootfs is None or container.logs is None:
        return None
    if container.rootfs.used_bytes is None or container.logs.used_bytes is None:
        return None
    return of_bytes(container.rootfs.used_bytes + container.logs.used_bytes)


def policy_minimum_grace_seconds(policy: Policy) -> int:
    """Return the shortest time between SIGTERM and SIGKILL of a container: two seconds in the kubelet, whatever was decided.

    Under Standard a decided zero means SIGKILL at once.
    """
    return 2 if policy is Policy.KUBELET else 0
