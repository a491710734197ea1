"""Defines the values that the CRI client returns; types of grpclib and protobuf do not leave this package.

They are the messages of `runtime.v1` with the fields that evictd reads, and of the annotations only those named here: a pod's
author writes up to 256 KiB of them, and a node may have 10,000 containers. A field that the runtime left unset is `None`; times
are wall-clock nanoseconds since the epoch, as the runtime sets them; sizes are bytes.
"""

from collections.abc import Mapping
from enum import Enum

from evictd.codec.pods.manifest import CONFIG_HASH
from evictd.codec.pods.pod import CONFIG_SOURCE
from evictd.core.frozen import frozen
from evictd.core.gc.container_gc import ContainerState

POD_NAME_LABEL = "io.kubernetes.pod.name"
POD_NAMESPACE_LABEL = "io.kubernetes.pod.namespace"
POD_UID_LABEL = "io.kubernetes.pod.uid"
CONTAINER_NAME_LABEL = "io.kubernetes.container.name"
GRACE_PERIOD_ANNOTATION = "io.kubernetes.pod.terminationGracePeriod"
DELETION_GRACE_PERIOD_ANNOTATION = "io.kubernetes.pod.deletionGracePeriod"
SANDBOX_ANNOTATIONS = (CONFIG_SOURCE, CONFIG_HASH)
CONTAINER_ANNOTATIONS = (GRACE_PERIOD_ANNOTATION, DELETION_GRACE_PERIOD_ANNOTATION)


class SandboxState(Enum):
    """The state of a pod's sandbox."""

    READY = "SANDBOX_READY"
    NOT_READY = "SANDBOX_NOTREADY"


@frozen
class Version:
    """The name and version of a runtime."""

    runtime_name: str
    runtime_version: str
    runtime_api_version: str


@frozen
class CriSandbox:
    """An entry of ListPodSandbox."""

    id: str
    name: str
    namespace: str
    uid: str
    attempt: int
    state: SandboxState
    created_at: int
    labels: Mapping[str, str]
    annotations: Mapping[str, str]


@frozen
class SandboxStatus(CriSandbox):
    """PodSandboxStatus: an entry of the list, with `cgroups_path` if the verbose form was requested."""

    cgroups_path: str | None = None
    """`linux.cgroupsPath` of the OCI spec: a path (cgroupfs) or `slice:prefix:name` (systemd)."""


@frozen
class CriContainer:
    """An entry of ListContainers; `image` is the image of the pod's spec, `image_ref` the id that the runtime resolved it to.

    `pod_uid` and `container_name` are those of the kubelet's labels, empty where a container has none.
    """

    id: str
    sandbox_id: str
    name: str
    attempt: int
    image: str
    image_ref: str
    image_id: str
    state: ContainerState
    created_at: int
    annotations: Mapping[str, str]
    pod_uid: str = ""
    container_name: str = ""


@frozen
class CriMount:
    """A host directory or file mounted in a container, or an image (`host_path` is empty)."""

    container_path: str
    host_path: str
    readonly: bool = False
    image: str = ""


@frozen
class LinuxResources:
    """The resources of a container; 0 means not set, as in the message."""

    memory_limit_bytes: int = 0
    cpu_shares: int = 0
    cpu_quota: int = 0
    cpu_period: int = 0
    oom_score_adj: int = 0


@frozen
class ContainerStatus:
    """ContainerStatus; `reason` is `Completed`, `Error` or `OOMKilled` for an exited container."""

    id: str
    name: str
    attempt: int
    state: ContainerState
    created_at: int
    started_at: int
    finished_at: int
    exit_code: int
    image: str
    image_ref: str
    image_id: str
    reason: str
    message: str
    mounts: tuple[CriMount, ...]
    log_path: str
    resources: LinuxResources | None
    cgroups_path: str | None = None
    """As `SandboxStatus.cgroups_path`."""


@frozen
class MemoryUsage:
    """The memory of a container at `time`."""

    time: int
    working_set_bytes: int | None


@frozen
class FilesystemUsage:
    """The usage of a filesystem or of one writable layer at `time`; `mountpoint` is any directory on the filesystem."""

    time: int
    mountpoint: str
    used_bytes: int | None
    inodes_used: int | None


@frozen
class CriContainerStats:
    """An entry of ListContainerStats; an exited container has only its writable layer."""

    id: str
    name: str
    attempt: int
    memory: MemoryUsage | None
    writable_layer: FilesystemUsage | None


@frozen
class CriImage:
    """An image; without tags and digests it is dangling. `size_bytes` is the size of its compressed content."""

    id: str
    repo_tags: tuple[str, ...]
    repo_digests: tuple[str, ...]
    size_bytes: int
    pinned: bool


@frozen
class ImageFsInfo:
    """The filesystems of images and writable layers; `container_filesystems` is empty unless the runtime separates them."""

    image_filesystems: tuple[FilesystemUsage, ...]
    container_filesystems: tuple[FilesystemUsage, ...]
