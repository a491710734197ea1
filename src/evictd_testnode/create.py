"""Starts pods over CRI, for the disposable node of `evictd demo` and the tests.

The daemon's `CriClient` has none of these calls. Labels and annotations are those that a kubelet sets.
"""

from collections.abc import Mapping
from dataclasses import field

from evictd.clients.cri import api_pb2 as pb
from evictd.clients.cri import values
from evictd.clients.cri.channel import Channel, Method
from evictd.core.frozen import frozen

_SERVICE = "RuntimeService"
_FIRST_ID = _IDS = 1 << 16
RUN_SANDBOX = Method(_SERVICE, "RunPodSandbox", pb.RunPodSandboxResponse)
CREATE_CONTAINER = Method(_SERVICE, "CreateContainer", pb.CreateContainerResponse)
START_CONTAINER = Method(_SERVICE, "StartContainer", pb.StartContainerResponse)


@frozen
class SandboxRequest:
    """A sandbox on the host's network, below a parent cgroup."""

    name: str
    namespace: str
    uid: str
    cgroup_parent: str
    log_directory: str
    attempt: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    host_users: bool = True
    """False: the pod has a user namespace, whose ids begin at `_FIRST_ID` on the host."""


@frozen
class ContainerRequest:
    """A container of a sandbox; `log_path` is relative to the sandbox's log directory."""

    name: str
    image: str
    command: tuple[str, ...]
    log_path: str
    attempt: int = 0
    mounts: tuple[values.CriMount, ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)
    resources: values.LinuxResources = field(default_factory=values.LinuxResources)


class PodStarter:
    """Starts pods on one runtime; raises the runtime errors of `evictd.errors`."""

    def __init__(self, endpoint: str, *, timeout_seconds: int = 60) -> None:
        self._channel = Channel(endpoint)
        self._timeout = timeout_seconds

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()

    def run_sandbox(self, request: SandboxRequest) -> str:
        """Start a sandbox; returns its id. The log directory must exist."""
        message = pb.RunPodSandboxRequest(config=_sandbox_config(request))
        answer = self._channel.call(RUN_SANDBOX, message, timeout=self._timeout, target=request.name)
        return answer.pod_sandbox_id

    def create_container(self, sandbox_id: str, sandbox: SandboxRequest, request: ContainerRequest) -> str:
        """Create a container without starting it; returns its id."""
        message = pb.CreateContainerRequest(
            pod_sandbox_id=sandbox_id,
            config=_container_config(sandbox, request),
            sandbox_config=_sandbox_config(sandbox),
        )
        answer = self._channel.call(CREATE_CONTAINER, message, timeout=self._timeout, target=request.name)
        return answer.container_id

    def start_container(self, container_id: str) -> None:
        """Start a container that was created."""
        message = pb.StartContainerRequest(container_id=container_id)
        self._channel.call(START_CONTAINER, message, timeout=self._timeout, target=container_id)


def _namespaces(request: SandboxRequest) -> pb.NamespaceOption:
    options = pb.NamespaceOption(network=pb.NODE, pid=pb.CONTAINER, ipc=pb.POD)
    if not request.host_users:
        ids = pb.IDMapping(host_id=_FIRST_ID, container_id=0, length=_IDS)
        options.userns_options.CopyFrom(pb.UserNamespace(mode=pb.POD, uids=[ids], gids=[ids]))
    return options


def _identity(request: SandboxRequest) -> dict[str, str]:
    return {
        values.POD_NAME_LABEL: request.name,
        values.POD_NAMESPACE_LABEL: request.namespace,
        values.POD_UID_LABEL: request.uid,
    }


def _sandbox_config(request: SandboxRequest) -> pb.PodSandboxConfig:
    return pb.PodSandboxConfig(
        metadata=pb.PodSandboxMetadata(
            name=request.name, uid=request.uid, namespace=request.namespace, attempt=request.attempt
        ),
        log_directory=request.log_directory,
        labels={**request.labels, **_identity(request)},
        annotations=request.annotations,
        linux=pb.LinuxPodSandboxConfig(
            cgroup_parent=request.cgroup_parent,
            security_context=pb.LinuxSandboxSecurityContext(namespace_options=_namespaces(request)),
        ),
    )


def _image(name: str) -> pb.ImageSpec:
    """Return an image with the name that the pod's author gave it, without which CRI-O refuses a container."""
    return pb.ImageSpec(image=name, user_specified_image=name)


def _container_config(sandbox: SandboxRequest, request: ContainerRequest) -> pb.ContainerConfig:
    resources = request.resources
    return pb.ContainerConfig(
        metadata=pb.ContainerMetadata(name=request.name, attempt=request.attempt),
        image=_image(request.image),
        command=request.command,
        log_path=request.log_path,
        mounts=[
            pb.Mount(
                container_path=mount.container_path,
                host_path=mount.host_path,
                readonly=mount.readonly,
                image=_image(mount.image) if mount.image else None,
            )
            for mount in request.mounts
        ],
        labels={**_identity(sandbox), values.CONTAINER_NAME_LABEL: request.name},
        annotations={"io.kubernetes.container.restartCount": str(request.attempt), **request.annotations},
        linux=pb.LinuxContainerConfig(
            resources=pb.LinuxContainerResources(
                memory_limit_in_bytes=resources.memory_limit_bytes,
                cpu_shares=resources.cpu_shares,
                cpu_quota=resources.cpu_quota,
                cpu_period=resources.cpu_period,
                oom_score_adj=resources.oom_score_adj,
            ),
            security_context=pb.LinuxContainerSecurityContext(namespace_options=_namespaces(sandbox)),
        ),
    )
