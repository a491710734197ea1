"""Decodes and encodes the fields of v1.Pod that eviction needs.

Quantities are read by the core's parser; a malformed one is an error. Encoding loses nothing: journals and scenario files hold
pods in this form. Requests and limits are the allocated ones, where the pod's status names them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from evictd.codec.pods.pod_wire import (
    WireAllocations,
    WireCheckpoint,
    WireContainer,
    WireContainerStatus,
    WireOwner,
    WirePod,
    WirePodStatus,
    WireQuantity,
    WireRequirements,
    WireResources,
    WireToleration,
    WireVolume,
)
from evictd.core.frozen import frozen
from evictd.core.model.pod import Pod, PodSource, Toleration
from evictd.core.model.resources import CPU, MEMORY, Container, PodLevelResources, Resources, Volume, VolumeKind
from evictd.core.units.quantity import Quantity, parse_quantity
from evictd.errors import InputError, InvalidValueError

CONFIG_SOURCE = "kubernetes.io/config.source"
CONFIG_MIRROR = "kubernetes.io/config.mirror"
SPEC_KNOWN = "evictd.io/spec-known"
"""Annotation that is `false` on pods known from the runtime only."""
VOLUMES_KNOWN = "evictd.io/volumes-known"
"""Annotation that is `false` on pods whose volumes could not be found out."""
LONGEST_GRACE_PERIOD_SECONDS = 2**31 - 1
"""A longer grace period counts as this one, of 68 years. The API takes 64 bits of seconds; times are that many nanoseconds, and a
deadline beyond them could neither be waited for nor be read from the state file again."""
RESIZABLE = frozenset({CPU, MEMORY})
"""Resources that a resize in place can change."""

_POD = msgspec.json.Decoder(WirePod)
_CHECKPOINT = msgspec.json.Decoder(WireCheckpoint)
_ENTRIES = msgspec.json.Decoder(WireAllocations)


@frozen
class Allocation:
    """The resources that the kubelet has allocated to one pod."""

    containers: Mapping[str, Container]
    """Containers and init containers by name."""
    pod: PodLevelResources | None = None


def decode_pod(data: bytes | str | Mapping[str, Any]) -> Pod:
    """Decode one v1.Pod from JSON or plain values; raises `InputError` with the path of the fault."""
    try:
        wire = _POD.decode(data) if isinstance(data, bytes | str) else msgspec.convert(data, WirePod)
        return pod_of(wire)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise InputError(f"pod: {error}") from error


def pod_of(wire: WirePod, source: PodSource | None = None) -> Pod:
    """Convert a decoded pod to the core's; raises `InvalidValueError` for a malformed quantity, naming the pod.

    Without a `source` the annotations decide. Only files and journals may do so, because a pod's author writes them.
    """
    metadata, spec, status = wire.metadata, wire.spec, wire.status
    annotations = (metadata.annotations or {}) if source is None else {}
    owner = _owner(metadata.owner_references or ())
    try:
        return Pod(
            name=metadata.name,
            namespace=metadata.namespace,
            uid=metadata.uid,
            priority=spec.priority or 0,
            priority_class_name=spec.priority_class_name or "",
            source=source or _source(annotations),
            phase=status.phase or "",
            status_qos_class=status.qos_class or "",
            generation=metadata.generation or 0,
            termination_grace_period_seconds=_grace_period(spec.termination_grace_period_seconds),
            deletion_grace_period_seconds=_grace_period(metadata.deletion_grace_period_seconds),
            containers=with_allocated(map(_container, spec.containers or ()), status.container_statuses),
            init_containers=with_allocated(
                map(_init_container, spec.init_containers or ()), status.init_container_statuses
            ),
            resources=None if spec.resources is None else _allocated_to_pod(_pod_level(spec.resources), status),
            overhead=resources_of(spec.overhead),
            volumes=tuple(_volume(v) for v in spec.volumes or ()),
            tolerations=tuple(_toleration(t) for t in spec.tolerations or ()),
            host_users=spec.host_users is not False,
            labels=metadata.labels or {},
            owner=f"{owner.kind}/{owner.name}" if owner.controller else "",
            owner_uid=owner.uid,
            spec_known=annotations.get(SPEC_KNOWN) != "false",
            volumes_known=annotations.get(VOLUMES_KNOWN) != "false",
        )
    except InvalidValueError as error:
        raise InvalidValueError(f"{metadata.namespace}/{metadata.name}: {error}") from error


def _grace_period(seconds: int | None) -> int | None:
    return None if seconds is None else min(seconds, LONGEST_GRACE_PERIOD_SECONDS)


def _source(annotations: Mapping[str, str]) -> PodSource:
    if CONFIG_MIRROR in annotations:
        return PodSource.MIRROR
    return PodSource.API if annotations.get(CONFIG_SOURCE, "api") == "api" else PodSource.STATIC


def _owner(owners: tuple[WireOwner, ...]) -> WireOwner:
    """Return the controlling owner; an empty reference where there is none."""
    return next((owner for owner in owners if owner.controller), WireOwner())


def decode_allocations(data: bytes) -> dict[str, Allocation]:
    """Decode the kubelet's checkpoint `allocated_pods_state` by pod uid (kubelet `pkg/kubelet/allocation/state`).

    Raises `InputError` for a file of another form.
    """
    try:
        entries = _ENTRIES.decode(_CHECKPOINT.decode(data).data).entries
        return {
            uid: Allocation(
                containers={
                    name: _container(WireContainer(name=name, resources=w)) for name, w in row.containers.items()
                },
                pod=None if row.pod is None else _pod_level(row.pod),
            )
            for uid, row in (entries or {}).items()
        }
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise InputError(f"checkpoint of allocated resources: {error}") from error


def _container(wire: WireContainer) -> Container:
    wanted = wire.resources or WireRequirements()
    return Container(name=wire.name, requests=resources_of(wanted.requests), limits=resources_of(wanted.limits))


def _init_container(wire: WireContainer) -> Container:
    """Read an init container; restartPolicy Always makes it a sidecar, which it does not on a regular container."""
    return replace(_container(wire), sidecar=wire.restart_policy == "Always")


def _pod_level(wire: WireRequirements) -> PodLevelResources:
    return PodLevelResources(requests=resources_of(wire.requests), limits=resources_of(wire.limits))


def _volume(wire: WireVolume) -> Volume:
    if wire.empty_dir is not None:
        limit = wire.empty_dir.size_limit
        return Volume(
            name=wire.name,
            kind=VolumeKind.EMPTY_DIR,
            medium=wire.empty_dir.medium or "",
            size_limit=None if limit is None else quantity_of(limit),
        )
    present = (
        (wire.host_path, VolumeKind.HOST_PATH),
        (wire.git_repo, VolumeKind.GIT_REPO),
        (wire.config_map, VolumeKind.CONFIG_MAP),
        (wire.secret, VolumeKind.SECRET),
        (wire.projected, VolumeKind.PROJECTED),
        (wire.downward_api, VolumeKind.DOWNWARD_API),
    )
    return Volume(name=wire.name, kind=next((kind for raw, kind in present if raw is not None), VolumeKind.OTHER))


def _toleration(wire: WireToleration) -> Toleration:
    return Toleration(
        key=wire.key or "", operator=wire.operator or "", value=wire.value or "", effect=wire.effect or ""
    )


def quantity_of(value: WireQuantity | None) -> Quantity:
    """Read a quantity as the API does: a string or a bare number, blanks around it trimmed, null for zero.

    Raises `InvalidValueError` for a malformed one.
    """
    if value is None:
        return parse_quantity("0")
    return parse_quantity(value.strip(" ") if isinstance(value, str) else str(value))


def resources_of(wire: WireResources | None) -> Resources:
    """Read the amounts by resource name; none where there are none."""
    return {name: quantity_of(value) for name, value in (wire or {}).items()}


# --- what is allocated ------------------------------------------------------------------------------------------------
#
# A resize in place (`pods/resize`) changes the spec at once, and the kubelet grants it later or never. Until then the kubelet
# ranks pods by what it has allocated (`getAllocatedPods`, `updatePodFromAllocation`), so a request that was not granted shields
# no pod. Only cpu and memory can be resized; all other resources are those of the spec.


def with_allocated(
    containers: Iterable[Container], statuses: Sequence[WireContainerStatus] | None
) -> tuple[Container, ...]:
    """Return the containers with what was allocated to them; one without a status, or of an older kubelet, as it is."""
    reported = {each.name: each for each in statuses or ()}
    return tuple(_with_status(each, reported.get(each.name, WireContainerStatus())) for each in containers)


def _allocated_to_pod(level: PodLevelResources, status: WirePodStatus) -> PodLevelResources:
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
    requests = _replaced(container.requests, allocated)
    resized = {name: each for name, each in container.requests.items() if name in RESIZABLE}
    asked = {name: each for name, each in resized.items() if requests.get(name) != each}
    return replace(container, requests=requests, limits=limits, asked=asked)


def _named(spec: Resources, found: WireResources) -> WireResources:
    return {name: amount for name, amount in found.items() if name in spec}


def _replaced(spec: Resources, allocated: WireResources | None) -> Resources:
    """Return the amounts of the spec, with those that can be resized as they were allocated."""
    kept = {name: amount for name, amount in spec.items() if name not in RESIZABLE}
    return kept | {name: amount for name, amount in resources_of(allocated).items() if name in RESIZABLE}


# --- encoding ---------------------------------------------------------------------------------------------------------


def encode_pod(pod: Pod) -> dict[str, Any]:
    """Encode the pod as a v1.Pod with these fields; `decode_pod` gives an equal pod."""
    annotations = {
        **({CONFIG_SOURCE: "file"} if pod.source is PodSource.STATIC else {}),
        **({CONFIG_MIRROR: "mirror"} if pod.source is PodSource.MIRROR else {}),
        **({} if pod.spec_known else {SPEC_KNOWN: "false"}),
        **({} if pod.volumes_known else {VOLUMES_KNOWN: "false"}),
    }
    kind, _, owner = pod.owner.partition("/")
    metadata = {
        "name": pod.name,
        "namespace": pod.namespace,
        "uid": pod.uid,
        "labels": dict(pod.labels) or None,
        "annotations": annotations,
        "ownerReferences": [_present({"kind": kind, "name": owner, "controller": True, "uid": pod.owner_uid or None})]
        if pod.owner
        else [],
        "generation": pod.generation,
        "deletionGracePeriodSeconds": pod.deletion_grace_period_seconds,
    }
    spec = {
        "containers": [_encode_container(container) for container in pod.containers],
        "initContainers": [_encode_container(container) for container in pod.init_containers],
        "volumes": [_encode_volume(volume) for volume in pod.volumes],
        "tolerations": [
            _present({"key": t.key, "operator": t.operator, "value": t.value, "effect": t.effect})
            for t in pod.tolerations
        ],
        "resources": None if pod.resources is None else _encode_requirements(pod.resources),
        "overhead": _encode_resources(pod.overhead),
        "priority": pod.priority,
        "priorityClassName": pod.priority_class_name,
        "terminationGracePeriodSeconds": pod.termination_grace_period_seconds,
        "hostUsers": None if pod.host_users else False,
    }
    status = {
        "phase": pod.phase,
        "qosClass": pod.status_qos_class,
        "containerStatuses": _encode_allocated(pod.containers),
        "initContainerStatuses": _encode_allocated(pod.init_containers),
    }
    return {"metadata": _present(metadata), "spec": _present(spec), "status": _present(status)}


def _present(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, "", [])}


def _encode_resources(resources: Resources) -> dict[str, str]:
    return {name: quantity.exact_text for name, quantity in resources.items()}


def _encode_requirements(wire: Container | PodLevelResources) -> dict[str, Any]:
    return {"requests": _encode_resources(wire.requests), "limits": _encode_resources(wire.limits)}


def _encode_container(container: Container) -> dict[str, Any]:
    fields = {
        "name": container.name,
        "resources": {
            **_encode_requirements(container),
            "requests": _encode_resources({**container.requests, **container.asked}),
        },
        "restartPolicy": "Always" if container.sidecar else None,
    }
    return _present(fields)


def _encode_allocated(containers: Iterable[Container]) -> list[dict[str, Any]]:
    """Return the statuses of the containers that were not granted what they ask for."""
    resized = (each for each in containers if each.asked)
    return [
        {
            "name": each.name,
            "allocatedResources": _encode_resources(
                {name: each.requests[name] for name in RESIZABLE & each.requests.keys()}
            ),
        }
        for each in resized
    ]


def _encode_volume(volume: Volume) -> dict[str, Any]:
    source: dict[str, Any] = {}
    if volume.kind is VolumeKind.EMPTY_DIR:
        limit = None if volume.size_limit is None else volume.size_limit.exact_text
        source = _present({"medium": volume.medium, "sizeLimit": limit})
    return (
        {"name": volume.name} if volume.kind is VolumeKind.OTHER else {"name": volume.name, volume.kind.value: source}
    )
