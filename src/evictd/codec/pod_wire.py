"""v1.Pod on the wire: the fields that eviction looks at, and no others.

msgspec skips every field that is not named here without building an object for it, which is what makes a list of a thousand
pods cheap.
"""

import msgspec


class WireStruct(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """A part of a Kubernetes object: camelCase on the wire, unknown fields skipped."""


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
    """An object of which only its presence counts."""


class WireVolume(WireStruct, frozen=True):
    """A volume; for all kinds but emptyDir only their presence counts."""

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
    priority: int | None = None
    priority_class_name: str | None = None
    termination_grace_period_seconds: int | None = None
    node_name: str | None = None


class WireOwner(WireStruct, frozen=True):
    """An owner reference."""

    kind: str = ""
    name: str = ""
    controller: bool | None = None


class WireMetadata(WireStruct, frozen=True):
    """`metadata`."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    annotations: dict[str, str] | None = None
    labels: dict[str, str] | None = None
    owner_references: tuple[WireOwner, ...] | None = None
    generation: int | None = None
    deletion_grace_period_seconds: int | None = None
    resource_version: str | None = None


class WirePodStatus(WireStruct, frozen=True):
    """`status`."""

    phase: str | None = None
    qos_class: str | None = None
    reason: str | None = None


class WirePod(WireStruct, frozen=True):
    """The slim v1.Pod."""

    metadata: WireMetadata = WireMetadata()
    spec: WireSpec = WireSpec()
    status: WirePodStatus = WirePodStatus()


class WireListMeta(WireStruct, frozen=True):
    """`metadata` of a list."""

    resource_version: str = ""
    continue_: str | None = msgspec.field(name="continue", default=None)
