"""Which calls of `runtime.v1.RuntimeService` evictd makes.

Reads have a short deadline, changes the kubelet's long one (`runtimeRequestTimeout`), and stopping a container its
grace period on top. A stop or removal of what is not there has succeeded: also where a runtime lost the entry itself
(containerd 1.6 on a full xfs keeps listing a container that it no longer finds), so that nobody spins on it.
"""

from collections.abc import Callable, Iterator
from typing import TypeVar

from cri_api.v1 import api_pb2 as pb
from google.protobuf.message import Message

from evictd.clients.cri import decode, values
from evictd.clients.cri.channel import A, Channel, Method, Pending
from evictd.errors import RuntimeNotFoundError, RuntimeUnimplementedError

T = TypeVar("T")

_SERVICE = "RuntimeService"
VERSION = Method(_SERVICE, "Version", pb.VersionResponse)
RUNTIME_CONFIG = Method(_SERVICE, "RuntimeConfig", pb.RuntimeConfigResponse)
LIST_SANDBOXES = Method(_SERVICE, "ListPodSandbox", pb.ListPodSandboxResponse)
SANDBOX_STATUS = Method(_SERVICE, "PodSandboxStatus", pb.PodSandboxStatusResponse)
STOP_SANDBOX = Method(_SERVICE, "StopPodSandbox", pb.StopPodSandboxResponse)
REMOVE_SANDBOX = Method(_SERVICE, "RemovePodSandbox", pb.RemovePodSandboxResponse)
LIST_CONTAINERS = Method(_SERVICE, "ListContainers", pb.ListContainersResponse)
CONTAINER_STATUS = Method(_SERVICE, "ContainerStatus", pb.ContainerStatusResponse)
STOP_CONTAINER = Method(_SERVICE, "StopContainer", pb.StopContainerResponse)
REMOVE_CONTAINER = Method(_SERVICE, "RemoveContainer", pb.RemoveContainerResponse)
LIST_CONTAINER_STATS = Method(_SERVICE, "ListContainerStats", pb.ListContainerStatsResponse)
LIST_SANDBOX_STATS = Method(_SERVICE, "ListPodSandboxStats", pb.ListPodSandboxStatsResponse)
CONTAINER_EVENTS = Method(_SERVICE, "GetContainerEvents", pb.ContainerEventResponse)


class RuntimeCalls:
    """The calls about pods and containers; all raise the runtime errors of `evictd.errors`."""

    def __init__(self, channel: Channel, *, timeout_seconds: int, read_timeout_seconds: int) -> None:
        self._channel = channel
        self._timeout = timeout_seconds
        self._read_timeout = read_timeout_seconds

    def version(self) -> values.Version:
        """Who answers; the cheapest way to see whether anybody does."""
        return decode.version(self._read(VERSION, pb.VersionRequest(version="v1")))

    def runtime_config(self) -> values.RuntimeConfig:
        """Give the runtime's cgroup driver, where it knows the call."""
        try:
            return decode.runtime_config(self._read(RUNTIME_CONFIG, pb.RuntimeConfigRequest()))
        except RuntimeUnimplementedError:
            return values.RuntimeConfig()

    def list_sandboxes(self) -> tuple[values.Sandbox, ...]:
        """All sandboxes, stopped ones included."""
        return decode.sandboxes(self._read(LIST_SANDBOXES, pb.ListPodSandboxRequest()))

    def sandbox_status(self, sandbox_id: str, *, verbose: bool = False) -> values.SandboxStatus:
        """One sandbox; `verbose` fills `detail`."""
        request = pb.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id, verbose=verbose)
        return decode.sandbox_status(self._read(SANDBOX_STATUS, request, sandbox_id))

    def list_containers(self) -> tuple[values.Container, ...]:
        """All containers, dead ones included."""
        return decode.containers(self._read(LIST_CONTAINERS, pb.ListContainersRequest()))

    def container_status(self, container_id: str, *, verbose: bool = False) -> values.ContainerStatus:
        """One container; `verbose` fills `detail`."""
        request = pb.ContainerStatusRequest(container_id=container_id, verbose=verbose)
        return decode.container_status(self._read(CONTAINER_STATUS, request, container_id))

    def list_container_stats(self) -> tuple[values.ContainerStats, ...]:
        """Usage of every container; the primary source."""
        return decode.all_container_stats(self._read(LIST_CONTAINER_STATS, pb.ListContainerStatsRequest()))

    def list_pod_sandbox_stats(self) -> tuple[values.SandboxStats, ...]:
        """Usage of every pod; a secondary source: containerd 1.6 fails it as a whole while any sandbox is NotReady."""
        return decode.all_sandbox_stats(self._read(LIST_SANDBOX_STATS, pb.ListPodSandboxStatsRequest()))

    def container_events(self) -> Iterator[values.ContainerEvent]:
        """Yield events as they happen, without end; on containerd 1.6 the first step is `RuntimeUnimplementedError`."""
        for answer in self._channel.stream(CONTAINER_EVENTS, pb.GetEventsRequest()):
            event = decode.event(answer)
            if event is not None:
                yield event

    def stop_container(self, container_id: str, grace_seconds: int) -> None:
        """Signal the container, kill it when the grace is over, and return when it is dead; 0 kills at once."""
        absent_is_success(self.begin_stop_container(container_id, grace_seconds).result)

    def stop_sandbox(self, sandbox_id: str) -> None:
        """Kill whatever still runs in the sandbox, and the sandbox."""
        absent_is_success(self.begin_stop_sandbox(sandbox_id).result)

    def remove_container(self, container_id: str) -> None:
        """Remove a container, running or not; its space may come back up to half a second later."""
        request = pb.RemoveContainerRequest(container_id=container_id)
        absent_is_success(lambda: self._change(REMOVE_CONTAINER, request, container_id))

    def remove_sandbox(self, sandbox_id: str) -> None:
        """Remove a sandbox and its containers, running or not."""
        request = pb.RemovePodSandboxRequest(pod_sandbox_id=sandbox_id)
        absent_is_success(lambda: self._change(REMOVE_SANDBOX, request, sandbox_id))

    # --- the same without waiting, for act.terminate ------------------------------------------------------------------

    def begin_stop_container(self, container_id: str, grace_seconds: int) -> Pending[None]:
        """Begin to stop a container; the result of one that is not there is `RuntimeNotFoundError`."""
        request = pb.StopContainerRequest(container_id=container_id, timeout=grace_seconds)
        return self._begin(STOP_CONTAINER, request, _nothing, container_id, extra_seconds=grace_seconds)

    def begin_stop_sandbox(self, sandbox_id: str) -> Pending[None]:
        """Begin to stop a sandbox; the result of one that is not there is `RuntimeNotFoundError`."""
        return self._begin(STOP_SANDBOX, pb.StopPodSandboxRequest(pod_sandbox_id=sandbox_id), _nothing, sandbox_id)

    def begin_list_containers(self) -> Pending[tuple[values.Container, ...]]:
        """Begin to list the containers."""
        return self._begin(LIST_CONTAINERS, pb.ListContainersRequest(), decode.containers)

    def begin_list_sandboxes(self) -> Pending[tuple[values.Sandbox, ...]]:
        """Begin to list the sandboxes."""
        return self._begin(LIST_SANDBOXES, pb.ListPodSandboxRequest(), decode.sandboxes)

    def _read(self, method: Method[A], request: Message, target: str = "") -> A:
        return self._channel.call(method, request, timeout=self._read_timeout, target=target)

    def _change(self, method: Method[A], request: Message, target: str) -> A:
        return self._channel.call(method, request, timeout=self._timeout, target=target)

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


def absent_is_success(call: Callable[[], object]) -> None:
    """Make a call whose aim is that something be gone."""
    try:
        call()
    except RuntimeNotFoundError:
        return


def _nothing(_: object) -> None:
    return None
