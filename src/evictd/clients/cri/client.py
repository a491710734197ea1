"""One object for both services of a runtime.

The kubelet's `remoteRuntimeService` and `remoteImageService` in one, with what an eviction needs of them.
"""

from types import TracebackType
from typing import Self

from evictd.clients.cri.channel import Channel
from evictd.clients.cri.images import ImageCalls
from evictd.clients.cri.runtime import RuntimeCalls

DEFAULT_TIMEOUT_SECONDS = 120
"""The kubelet's `runtimeRequestTimeout`."""
READ_TIMEOUT_SECONDS = 10
"""Reads answer in milliseconds or not at all; numbers older than a housekeeping interval are worth nothing."""


class CriClient(RuntimeCalls, ImageCalls):
    """A runtime by its endpoint (`unix:///run/containerd/containerd.sock`); connects at the first call.

    `timeout_seconds` bounds every change (a container's grace comes on top), and the smaller of it and 10 s every read.
    Safe to use from many threads. Raises `InvalidValueError` for an endpoint that is no unix socket's.
    """

    def __init__(self, endpoint: str, *, timeout_seconds: int = DEFAULT_TIMEOUT_SECONDS) -> None:
        self.endpoint = endpoint
        super().__init__(
            Channel(endpoint),
            timeout_seconds=timeout_seconds,
            read_timeout_seconds=min(timeout_seconds, READ_TIMEOUT_SECONDS),
        )

    def close(self) -> None:
        """Drop the connection."""
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
