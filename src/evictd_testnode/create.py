"""Starts pods over CRI, for the disposable node of `evictd demo` and the tests.

The daemon's `CriClient` has none of these calls. Labels and annotations are those that a kubelet sets.
"""

from evictd.clients.cri import api_pb2 as pb
from evictd.clients.cri import values
from evictd.clients.cri.channel import Channel, Method
from evictd_testnode import pods

_SERVICE = "RuntimeService"
_FIRST_ID = _IDS = 1 << 16
"""The first id on the host of a pod's user namespace, and the number of its ids."""
_RUN_SANDBOX = Method(_SERVICE, "RunPodSandbox", pb.RunPodSandboxResponse)
_CREATE_CONTAINER = Method(_SERVICE, "CreateContainer", pb.CreateContainerResponse)
_START_CONTAINER = Method(_SERVICE, "StartContainer", pb.StartContainerResponse)


class PodStarter:
    """Starts pods on one runtime; raises the runtime errors of `evictd.errors`."""

    def __init__(self, endpoint: str, *, timeout_seconds: int = 60) -> None:
        self._channel = Channel(endpoint)
        self._timeout = timeout_seconds

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()

    def run_sandbox(self, pod: pods.RunningPod) -> str:
        """Start the sandbox of a pod; returns its id. The log directory must exist."""
        message = pb.RunPodSandboxRequest(config=_sandbox_config(pod))
        answer = self._channel.call(_RUN_SANDBOX, message, timeout=self._timeout, target=pod.name)
        return answer.pod_sandbox_id

    def run_container(self, pod: pods.RunningPod, container: pods.ContainerRecipe, attempt: int) -> str:
        """Create and start a container in the sandbox of a pod; returns its id."""
        (pod.log_directory / container.name).mkdir(exist_ok=True)
        message = pb.CreateContainerRequest(
            pod_sandbox_id=pod.sandbox_id,
            config=_container_config(pod, container, attempt),
            sandbox_config=_sandbox_config(pod),
        )
        made = self._channel.call(_CREATE_CONTAINER, message, timeout=self._timeout, target=container.name)
        start = pb.StartContainerRequest(container_id=made.container_id)
        self._channel.call(_START_CONTAINER, start, timeout=self._timeout, target=made.container_id)
        return made.container_id


def _namespaces(pod: pods.RunningPod) -> pb.NamespaceOption:
    options = pb.NamespaceOption(network=pb.NODE, pid=pb.CONTAINER, ipc=pb.POD)
    if not pod.recipe.host_users:
        ids = pb.IDMapping(host_id=_FIRST_ID, container_id=0, length=_IDS)
        options.userns_options.CopyFrom(pb.UserNamespace(mode=pb.POD, uids=[ids], gids=[ids]))
    return options


def _identity(pod: pods.RunningPod) -> dict[str, str]:
    return {
        values.POD_NAME_LABEL: pod.name,
        values.POD_NAMESPACE_LABEL: pod.namespace,
        values.POD_UID_LABEL: pod.uid,
    }


def _sandbox_config(pod: pods.RunningPod) -> pb.PodSandboxConfig:
    return pb.PodSandboxConfig(
        metadata=pb.PodSandboxMetadata(name=pod.name, uid=pod.uid, namespace=pod.namespace),
        log_directory=str(pod.log_directory),
        labels={**pod.recipe.labels, **_identity(pod)},
        annotations={pods.CONFIG_SOURCE: pod.recipe.source, **pod.recipe.annotations},
        linux=pb.LinuxPodSandboxConfig(
            cgroup_parent=pod.cgroup_parent,
            security_context=pb.LinuxSandboxSecurityContext(namespace_options=_namespaces(pod)),
        ),
    )


def _image(name: str) -> pb.ImageSpec:
    """Return an image with the name that the pod's author gave it, without which CRI-O refuses a container."""
    return pb.ImageSpec(image=name, user_specified_image=name)


def _container_config(pod: pods.RunningPod, container: pods.ContainerRecipe, attempt: int) -> pb.ContainerConfig:
    return pb.ContainerConfig(
        metadata=pb.ContainerMetadata(name=container.name, attempt=attempt),
        image=_image(container.image),
        command=("/bin/sh", "-c", container.script),
        log_path=f"{container.name}/{attempt}.log",
        mounts=[
            *(pb.Mount(container_path=f"/{name}", host_path=str(at)) for name, at in pod.volumes.items()),
            *(
                pb.Mount(container_path=path, readonly=True, image=_image(image))
                for path, image in container.image_volumes.items()
            ),
        ],
        labels={**_identity(pod), values.CONTAINER_NAME_LABEL: container.name},
        annotations={
            "io.kubernetes.container.restartCount": str(attempt),
            "io.kubernetes.pod.terminationGracePeriod": str(pod.recipe.grace_period_seconds),
        },
        linux=pb.LinuxContainerConfig(
            resources=pb.LinuxContainerResources(
                memory_limit_in_bytes=pods.memory_bytes(container),
                cpu_shares=2,
                oom_score_adj=pods.recipe_oom_score_adj(container, pods.qos_class(pod.recipe), pod.recipe.priority),
            ),
            security_context=pb.LinuxContainerSecurityContext(namespace_options=_namespaces(pod)),
        ),
    )
