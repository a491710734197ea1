"""Provides `CriClient`, the calls of a runtime's two services that evictd makes.

It corresponds to the kubelet's `remoteRuntimeService` and `remoteImageService`.
"""

from types import TracebackType
from typing import Self

from evictd.clients.cri.channel import Channel
from evictd.clients.cri.images import ImageCalls
from evictd.clients.cri.runtime import RuntimeCalls

DEFAULT_TIMEOUT_SECONDS = 120
"""The kubelet's `runtimeRequestTimeout`."""
READ_TIMEOUT_SECONDS = 10
"""A read takes milliseconds, or the runtime hangs; a result older than a housekeeping interval would be of no use."""


class CriClient(RuntimeCalls, ImageCalls):
    """A client of the runtime at `endpoint` (`unix:///run/containerd/containerd.sock`); connects at the first call.

    A change takes at most `timeout_seconds`, plus a container's grace period; a read at most the smaller of that and 10 s.
    Thread-safe. Raises `InvalidValueError` for an endpoint that is not a unix socket.
    """

    def __init__(self, endpoint: str, *, timeout_seconds: int = DEFAULT_TIMEOUT_SECONDS) -> None:
        self.endpoint = endpoint
        super().__init__(
            Channel(endpoint),
            timeout_seconds=timeout_seconds,
            read_timeout_seconds=min(timeout_seconds, READ_TIMEOUT_SECONDS),
        )

    def close(self) -> None:
        """Close the connections."""
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
