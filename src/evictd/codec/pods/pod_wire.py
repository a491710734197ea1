"""Declares the fields of v1.Pod on the wire that eviction needs.

msgspec skips every other field without building an object for it, which keeps a list of a thousand pods cheap.
"""

from typing import Annotated, Literal

import msgspec


class WireStruct(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """A part of a Kubernetes object: camelCase on the wire, unknown fields skipped."""


WireInt = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""An int64, as in Go; a larger number is refused."""
WireQuantity = str | int | float
WireResources = dict[str, WireQuantity | None]


class WireRequirements(WireStruct, frozen=True):
    """`resources` of a container or pod."""

    requests: WireResources | None = None
    limits: WireResources | None = None


class WireContainer(WireStruct, frozen=True):
    """A container or init container."""

    name: str = ""
    resources: WireRequirements | None = None
    restart_policy: str | None = None


class WireToleration(WireStruct, frozen=True):
    """A toleration."""

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class WireEmptyDir(WireStruct, frozen=True):
    """An emptyDir's own fields."""

    medium: str | None = None
    size_limit: WireQuantity | None = None


class WirePresent(WireStruct, frozen=True):
    """An object of which only the presence matters."""


class WireVolume(WireStruct, frozen=True):
    """A volume; of all kinds but emptyDir only the presence matters."""

    name: str = ""
    empty_dir: WireEmptyDir | None = None
    host_path: WirePresent | None = None
    git_repo: WirePresent | None = None
    config_map: WirePresent | None = None
    secret: WirePresent | None = None
    projected: WirePresent | None = None
    downward_api: WirePresent | None = msgspec.field(name="downwardAPI", default=None)


class WireSpec(WireStruct, frozen=True):
    """`spec`."""

    containers: tuple[WireContainer, ...] | None = None
    init_containers: tuple[WireContainer, ...] | None = None
    volumes: tuple[WireVolume, ...] | None = None
    tolerations: tuple[WireToleration, ...] | None = None
    resources: WireRequirements | None = None
    overhead: WireResources | None = None
    priority: WireInt | None = None
    priority_class_name: str | None = None
    termination_grace_period_seconds: WireInt | None = None
    node_name: str | None = None
    host_users: bool | None = None


class WireOwner(WireStruct, frozen=True):
    """An owner reference."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class WireMetadata(WireStruct, frozen=True):
    """`metadata`."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    annotations: dict[str, str] | None = None
    labels: dict[str, str] | None = None
    owner_references: tuple[WireOwner, ...] | None = None
    generation: WireInt | None = None
    deletion_grace_period_seconds: WireInt | None = None
    resource_version: str | None = None


class WireContainerStatus(WireStruct, frozen=True):
    """The status of a container: its allocated resources (in-place resize), not those that its spec requests."""

    name: str = ""
    allocated_resources: WireResources | None = None
    resources: WireRequirements | None = None


class WirePodStatus(WireStruct, frozen=True):
    """`status`."""

    container_statuses: tuple[WireContainerStatus, ...] | None = None
    init_container_statuses: tuple[WireContainerStatus, ...] | None = None
    allocated_resources: WireResources | None = None
    resources: WireRequirements | None = None
    phase: str | None = None
    qos_class: Literal["Guaranteed", "Burstable", "BestEffort", ""] | None = None
    reason: str | None = None


class WireAllocation(msgspec.Struct, frozen=True):
    """What the kubelet has allocated to a pod, as in its checkpoint."""

    containers: dict[str, WireRequirements] = msgspec.field(name="ContainerResources", default_factory=dict)
    pod: WireRequirements | None = msgspec.field(name="PodLevelResources", default=None)


class WireAllocations(WireStruct, frozen=True):
    """The `data` of the checkpoint, by pod uid."""

    entries: dict[str, WireAllocation] | None = None


class WireCheckpoint(WireStruct, frozen=True):
    """The kubelet's checkpoint `allocated_pods_state`; its data is JSON again."""

    data: str = ""


class WirePod(WireStruct, frozen=True):
    """A v1.Pod with these fields only."""

    metadata: WireMetadata = WireMetadata()
    spec: WireSpec = WireSpec()
    status: WirePodStatus = WirePodStatus()


class WireListMeta(WireStruct, frozen=True):
    """`metadata` of a list."""

    resource_version: str = ""
    continue_: str | None = msgspec.field(name="continue", default=None)
