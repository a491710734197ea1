"""Replaces the requests and limits of a pod's spec by the allocated ones, where its status names them.

A resize in place (`pods/resize`) changes the spec at once, and the kubelet grants it later or never. Until then the kubelet ranks
pods by what it has allocated (`getAllocatedPods`, `updatePodFromAllocation`), so a request that was not granted shields no pod.
Only cpu and memory can be resized; all other resources are those of the spec.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from evictd.codec.pod_wire import WireContainerStatus, WirePodStatus, WireRequirements, WireResources
from evictd.codec.quantities import resources_of
from evictd.core.model.resources import CPU, MEMORY, Container, PodLevelResources, Resources

RESIZABLE = frozenset({CPU, MEMORY})
"""Resources that a resize in place can change."""


def with_allocated(
    containers: Iterable[Container], statuses: Sequence[WireContainerStatus] | None
) -> Iterator[Container]:
    """Yield the containers with what was allocated to them; one without a status, or of an older kubelet, as it is."""
    reported = {each.name: each for each in statuses or ()}
    for container in containers:
        status = reported.get(container.name)
        yield container if status is None else _with_status(container, status)


def allocated_to_pod(level: PodLevelResources, status: WirePodStatus) -> PodLevelResources:
    """Return the pod-level resources with what was allocated.

    The status of a pod also sums up its containers, so only what the spec names at pod level is taken from it.
    """
    actual = status.resources or WireRequirements()
    requests = actual.requests if status.allocated_resources is None else status.allocated_resources
    return PodLevelResources(
        requests=level.requests if requests is None else _replaced(level.requests, _named(level.requests, requests)),
        limits=level.limits if actual.limits is None else _replaced(level.limits, _named(level.limits, actual.limits)),
    )


def _with_status(container: Container, status: WireContainerStatus) -> Container:
    """Replace what one container's status names. The kubelet leaves a field out where nothing is allocated."""
    actual, allocated = status.resources, status.allocated_resources
    if actual is None and allocated is None:
        return container
    if allocated is None and actual is not None:
        allocated = actual.requests
    limits = container.limits if actual is None else _replaced(container.limits, actual.limits)
    return replace(container, requests=_replaced(container.requests, allocated), limits=limits)


def _named(spec: Resources, found: WireResources) -> WireResources:
    return {name: amount for name, amount in found.items() if name in spec}


def _replaced(spec: Resources, allocated: WireResources | None) -> Resources:
    """Return the amounts of the spec, with those that can be resized as they were allocated."""
    kept = {name: amount for name, amount in spec.items() if name not in RESIZABLE}
    return kept | {name: amount for name, amount in resources_of(allocated).items() if name in RESIZABLE}
