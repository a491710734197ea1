"""What a container runtime says, as our own values: nothing of grpc or protobuf leaves this package.

The messages of `runtime.v1` (spec section 11) cut down to what an eviction may look at. A field that the runtime left
unset is `None`; times are wall-clock nanoseconds since the epoch, as the runtime stamps them; sizes are bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

POD_NAME_LABEL = "io.kubernetes.pod.name"
POD_NAMESPACE_LABEL = "io.kubernetes.pod.namespace"
POD_UID_LABEL = "io.kubernetes.pod.uid"
CONTAINER_NAME_LABEL = "io.kubernetes.container.name"


class SandboxState(Enum):
    """The state of a pod's sandbox."""

    READY = "SANDBOX_READY"
    NOT_READY = "SANDBOX_NOTREADY"


class ContainerState(Enum):
    """The state of a container; UNKNOWN must be treated as possibly running."""

    CREATED = "CONTAINER_CREATED"
    RUNNING = "CONTAINER_RUNNING"
    EXITED = "CONTAINER_EXITED"
    UNKNOWN = "CONTAINER_UNKNOWN"

    @property
    def may_run(self) -> bool:
        """Whether a process of it may be alive."""
        return self in {ContainerState.RUNNING, ContainerState.UNKNOWN}


class CgroupDriver(Enum):
    """Who makes the pods' cgroups."""

    SYSTEMD = "systemd"
    CGROUPFS = "cgroupfs"


class ContainerEventType(Enum):
    """What happened to a container or sandbox."""

    CREATED = "CONTAINER_CREATED_EVENT"
    STARTED = "CONTAINER_STARTED_EVENT"
    STOPPED = "CONTAINER_STOPPED_EVENT"
    DELETED = "CONTAINER_DELETED_EVENT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """Who answers."""

    runtime_name: str
    runtime_version: str
    runtime_api_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeConfig:
    """What the runtime says of itself; `None`: it does not know the call, or has nothing to say for Linux."""

    cgroup_driver: CgroupDriver | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """What only the verbose form of a status tells; containerd and CRI-O agree on these names."""

    pid: int | None = None
    """The first process, in the runtime's own pid namespace."""
    cgroups_path: str | None = None
    """`linux.cgroupsPath` of the OCI spec: a path (cgroupfs) or `slice:prefix:name` (systemd)."""
    cgroup_parent: str | None = None
    """The pod's parent cgroup, as its sandbox was asked for (containerd)."""
    oom_score_adj: int | None = None
    """`process.oomScoreAdj` of the OCI spec."""
    snapshot_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """A row of ListPodSandbox."""

    id: str
    name: str
    namespace: str
    uid: str
    attempt: int
    state: SandboxState
    created_at: int
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    runtime_handler: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxStatus(Sandbox):
    """PodSandboxStatus: a row of the list with what was asked for verbosely."""

    detail: Detail = field(default_factory=Detail)


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A row of ListContainers; `image` is what the pod asked for, `image_ref` what the runtime made of it (an id)."""

    id: str
    sandbox_id: str
    name: str
    attempt: int
    image: str
    image_ref: str
    image_id: str
    state: ContainerState
    created_at: int
    labels: Mapping[str, str]
    annotations: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A host folder or file inside a container."""

    container_path: str
    host_path: str
    readonly: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LinuxResources:
    """The resources that the container runs with; 0 is the wire's "not set"."""

    memory_limit_bytes: int = 0
    cpu_shares: int = 0
    cpu_quota: int = 0
    cpu_period: int = 0
    oom_score_adj: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
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
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    mounts: tuple[Mount, ...]
    log_path: str
    resources: LinuxResources | None
    detail: Detail = field(default_factory=Detail)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUsage:
    """Memory of a container or pod."""

    time: int
    working_set_bytes: int | None
    available_bytes: int | None
    usage_bytes: int | None
    rss_bytes: int | None
    page_faults: int | None
    major_page_faults: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapUsage:
    """Swap of a container; no containerd before 2 tells it."""

    time: int
    available_bytes: int | None
    usage_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesystemUsage:
    """What is used on a filesystem, or by one writable layer; `mountpoint` is any directory on it."""

    time: int
    mountpoint: str
    used_bytes: int | None
    inodes_used: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerStats:
    """A row of ListContainerStats; an exited container has its writable layer only."""

    id: str
    name: str
    attempt: int
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    memory: MemoryUsage | None
    swap: SwapUsage | None
    writable_layer: FilesystemUsage | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxStats:
    """A row of ListPodSandboxStats; memory is that of the pod's parent cgroup."""

    id: str
    name: str
    namespace: str
    uid: str
    memory: MemoryUsage | None
    process_count: int | None
    containers: tuple[ContainerStats, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image; one without tags and digests is dangling. `size_bytes` is its compressed content."""

    id: str
    repo_tags: tuple[str, ...]
    repo_digests: tuple[str, ...]
    size_bytes: int
    pinned: bool
    username: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFsInfo:
    """Where images and writable layers live; `container_filesystems` is empty unless the runtime splits them."""

    image_filesystems: tuple[FilesystemUsage, ...]
    container_filesystems: tuple[FilesystemUsage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerEvent:
    """One event of GetContainerEvents; `pod_uid` is empty when the sandbox is gone already."""

    container_id: str
    type: ContainerEventType
    created_at: int
    pod_uid: str
