"""Provides `CriClient`, the calls of a runtime's two services that evictd makes.

Reads have a short deadline, changes the kubelet's long one (`runtimeRequestTimeout`), and stopping a container has its grace
period in addition. Stopping or removing something that does not exist succeeds. That includes entries that the runtime lists but
cannot find (containerd 1.6 after a full xfs), which would otherwise be retried forever. A runtime removes any image on request,
even the sandbox image or one in use; the caller decides which images may be removed.

It corresponds to the kubelet's `remoteRuntimeService` and `remoteImageService`.
"""

from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypeVar

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

from evictd.clients.cri import api_pb2 as pb
from evictd.clients.cri import decode, values
from evictd.clients.cri.channel import A, Channel, Method, Pending
from evictd.errors import RuntimeNotFoundError

DEFAULT_TIMEOUT_SECONDS = 120
"""The kubelet's `runtimeRequestTimeout`."""
READ_TIMEOUT_SECONDS = 10
"""A read takes milliseconds, or the runtime hangs; a result older than a housekeeping interval would be of no use."""

T = TypeVar("T")

_FIELD = descriptor_pb2.FieldDescriptorProto(
    name="rows",
    number=1,
    label=descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED,
    type=descriptor_pb2.FieldDescriptorProto.TYPE_BYTES,
)
_FILE = descriptor_pb2.FileDescriptorProto(
    name="evictd/rows.proto",
    package="evictd",
    syntax="proto3",
    message_type=[descriptor_pb2.DescriptorProto(name="Rows", field=[_FIELD])],
)
Rows: Any = message_factory.GetMessageClass(
    descriptor_pool.DescriptorPool().AddSerializedFile(_FILE.SerializeToString()).message_types_by_name["Rows"]
)
"""The form of `ListPodSandboxResponse` and `ListContainersResponse`, whose only field is the first; its rows stay serialized.

So one row at a time is parsed. A pod's author can give it 110,000 labels: of a listing of 16 MiB of labels the whole message
would take 100 MiB, its rows take the bytes that were received, once more.
"""

_RUNTIME = "RuntimeService"
VERSION = Method(_RUNTIME, "Version", pb.VersionResponse)
STATUS = Method(_RUNTIME, "Status", pb.StatusResponse)
LIST_SANDBOXES = Method(_RUNTIME, "ListPodSandbox", Rows)
SANDBOX_STATUS = Method(_RUNTIME, "PodSandboxStatus", pb.PodSandboxStatusResponse)
STOP_SANDBOX = Method(_RUNTIME, "StopPodSandbox", pb.StopPodSandboxResponse)
REMOVE_SANDBOX = Method(_RUNTIME, "RemovePodSandbox", pb.RemovePodSandboxResponse)
LIST_CONTAINERS = Method(_RUNTIME, "ListContainers", Rows)
CONTAINER_STATUS = Method(_RUNTIME, "ContainerStatus", pb.ContainerStatusResponse)
STOP_CONTAINER = Method(_RUNTIME, "StopContainer", pb.StopContainerResponse)
REMOVE_CONTAINER = Method(_RUNTIME, "RemoveContainer", pb.RemoveContainerResponse)
LIST_CONTAINER_STATS = Method(_RUNTIME, "ListContainerStats", pb.ListContainerStatsResponse)
_IMAGES = "ImageService"
LIST_IMAGES = Method(_IMAGES, "ListImages", pb.ListImagesResponse)
IMAGE_STATUS = Method(_IMAGES, "ImageStatus", pb.ImageStatusResponse)
REMOVE_IMAGE = Method(_IMAGES, "RemoveImage", pb.RemoveImageResponse)
IMAGE_FS_INFO = Method(_IMAGES, "ImageFsInfo", pb.ImageFsInfoResponse)


class CriClient:
    """A client of the runtime at `endpoint` (`unix:///run/containerd/containerd.sock`); connects at the first call.

    A change takes at most `timeout_seconds`, plus a container's grace period; a read at most the smaller of that and 10 s.
    Thread-safe. Raises `InvalidValueError` for an endpoint that is not a unix socket; the calls raise the runtime errors of
    `evictd.errors`.
    """

    def __init__(self, endpoint: str, *, timeout_seconds: int = DEFAULT_TIMEOUT_SECONDS) -> None:
        self._channel = Channel(endpoint)
        self._timeout = timeout_seconds
        self._read_timeout = min(timeout_seconds, READ_TIMEOUT_SECONDS)

    def close(self) -> None:
        """Close the connections."""
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- pods and containers ----------------------------------------------------------------------------------------

    def version(self) -> values.Version:
        """Return the runtime's name and version; the cheapest call, to see whether the runtime responds."""
        return decode.version(self._read(VERSION, pb.VersionRequest(version="v1")))

    def list_sandboxes(self, uid: str = "") -> tuple[values.CriSandbox, ...]:
        """List all sandboxes, including stopped ones; with `uid` those that carry the label of this pod."""
        return self.begin_list_sandboxes(uid).result()

    def sandbox_status(self, sandbox_id: str, *, verbose: bool = False) -> values.SandboxStatus:
        """Return one sandbox; `verbose` fills `cgroups_path`."""
        request = pb.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id, verbose=verbose)
        return decode.sandbox_status(self._read(SANDBOX_STATUS, request, sandbox_id))

    def list_containers(self, uid: str = "") -> tuple[values.CriContainer, ...]:
        """List all containers, including exited ones; with `uid` those that carry the label of this pod."""
        return self.begin_list_containers(uid).result()

    def container_status(self, container_id: str, *, verbose: bool = False) -> values.ContainerStatus:
        """Return one container; `verbose` fills `cgroups_path`."""
        request = pb.ContainerStatusRequest(container_id=container_id, verbose=verbose)
        return decode.container_status(self._read(CONTAINER_STATUS, request, container_id))

    def list_container_stats(self) -> tuple[values.CriContainerStats, ...]:
        """Return the statistics of every container."""
        return decode.all_container_stats(self._read(LIST_CONTAINER_STATS, pb.ListContainerStatsRequest()))

    def stop_container(self, container_id: str, grace_seconds: int) -> None:
        """Stop a container: SIGTERM, SIGKILL after `grace_seconds` (0: at once); returns when it has ended."""
        request = pb.StopContainerRequest(container_id=container_id, timeout=grace_seconds)
        self._change(STOP_CONTAINER, request, container_id, extra_seconds=grace_seconds)

    def stop_sandbox(self, sandbox_id: str) -> None:
        """Kill all containers of a sandbox, and stop the sandbox."""
        request = pb.StopPodSandboxRequest(pod_sandbox_id=sandbox_id)
        self._change(STOP_SANDBOX, request, sandbox_id)

    def remove_container(self, container_id: str) -> None:
        """Remove a container, running or not; its space may become free up to half a second later."""
        request = pb.RemoveContainerRequest(container_id=container_id)
        self._change(REMOVE_CONTAINER, request, container_id)

    def remove_sandbox(self, sandbox_id: str) -> None:
        """Remove a sandbox and its containers, running or not."""
        request = pb.RemovePodSandboxRequest(pod_sandbox_id=sandbox_id)
        self._change(REMOVE_SANDBOX, request, sandbox_id)

    # --- images in use by other than the containers created from them -----------------------------------------------
    # The runtime needs the image of its sandboxes, and a container may have images mounted as volumes. Neither is in a listing.

    def sandbox_image(self) -> str:
        """Return the name of the image of new sandboxes; empty if the runtime does not report it."""
        answer = self._read(STATUS, pb.StatusRequest(verbose=True))
        return decode.text_in(answer.info, "config", "sandboxImage")

    def image_of_sandbox(self, sandbox_id: str) -> str:
        """Return the name of a sandbox's image; empty if the runtime does not report it."""
        request = pb.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id, verbose=True)
        return decode.text_in(self._read(SANDBOX_STATUS, request, sandbox_id).info, "info", "image")

    def mounted_images(self, container_id: str) -> frozenset[str]:
        """Return the images, by name or id, that a container has mounted as volumes."""
        answer = self._read(CONTAINER_STATUS, pb.ContainerStatusRequest(container_id=container_id), container_id)
        return frozenset(mount.image.image for mount in answer.status.mounts if mount.image.image)

    # --- images -----------------------------------------------------------------------------------------------------

    def list_images(self) -> tuple[values.CriImage, ...]:
        """List all images."""
        return decode.images(self._read(LIST_IMAGES, pb.ListImagesRequest()))

    def image_status(self, reference: str) -> values.CriImage | None:
        """Return one image by id, tag or digest; `None` if the runtime does not have it."""
        request = pb.ImageStatusRequest(image=pb.ImageSpec(image=reference))
        return decode.image_status(self._read(IMAGE_STATUS, request, reference))

    def image_fs_info(self) -> values.ImageFsInfo:
        """Return the usage of the filesystems of images and writable layers, up to `stats_collect_period` old in containerd."""
        return decode.image_fs_info(self._read(IMAGE_FS_INFO, pb.ImageFsInfoRequest()))

    def remove_image(self, reference: str) -> None:
        """Remove an image with all its tags; its space is free on return. Succeeds if the image does not exist."""
        self._change(REMOVE_IMAGE, pb.RemoveImageRequest(image=pb.ImageSpec(image=reference)), reference)

    # --- concurrent calls, for act.stop ------------------------------------------------------------------------------

    def begin_stop_container(self, container_id: str, grace_seconds: int) -> Pending[None]:
        """Start to stop a container; for one that does not exist `result()` raises `RuntimeNotFoundError`."""
        request = pb.StopContainerRequest(container_id=container_id, timeout=grace_seconds)
        return self._begin(STOP_CONTAINER, request, _nothing, container_id, extra_seconds=grace_seconds)

    def begin_stop_sandbox(self, sandbox_id: str) -> Pending[None]:
        """Start to stop a sandbox; for one that does not exist `result()` raises `RuntimeNotFoundError`."""
        return self._begin(STOP_SANDBOX, pb.StopPodSandboxRequest(pod_sandbox_id=sandbox_id), _nothing, sandbox_id)

    def begin_list_containers(self, uid: str = "") -> Pending[tuple[values.CriContainer, ...]]:
        """Start to list the containers; with `uid` those that carry the label of this pod."""
        of_pod = pb.ContainerFilter(label_selector={values.POD_UID_LABEL: uid}) if uid else None
        return self._begin(LIST_CONTAINERS, pb.ListContainersRequest(filter=of_pod), _containers)

    def begin_list_sandboxes(self, uid: str = "") -> Pending[tuple[values.CriSandbox, ...]]:
        """Start to list the sandboxes; with `uid` those that carry the label of this pod."""
        of_pod = pb.PodSandboxFilter(label_selector={values.POD_UID_LABEL: uid}) if uid else None
        return self._begin(LIST_SANDBOXES, pb.ListPodSandboxRequest(filter=of_pod), _sandboxes)

    def _read(self, method: Method[A], request: Message, target: str = "") -> A:
        return self._channel.call(method, request, timeout=self._read_timeout, target=target)

    def _change(self, method: Method[A], request: Message, target: str, *, extra_seconds: int = 0) -> None:
        """Stop or remove something; what does not exist counts as stopped and removed."""
        with suppress(RuntimeNotFoundError):
            self._channel.call(method, request, timeout=self._timeout + extra_seconds, target=target)

    def _begin(
        self,
        method: Method[A],
        request: Message,
        read: Callable[[A], T],
        target: str = "",
        *,
        extra_seconds: int = 0,
    ) -> Pending[T]:
        timeout = self._timeout + extra_seconds if target else self._read_timeout
        return self._channel.begin(method, request, timeout=timeout, read=read, target=target)


def _sandboxes(answer: Any) -> tuple[values.CriSandbox, ...]:
    return decode.sandboxes(map(pb.PodSandbox.FromString, answer.rows))


def _containers(answer: Any) -> tuple[values.CriContainer, ...]:
    return decode.containers(map(pb.Container.FromString, answer.rows))


def _nothing(_: object) -> None:
    return None
