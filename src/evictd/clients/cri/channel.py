"""Makes gRPC calls to the runtime and maps their failures to the errors of `evictd.errors`.

There are two lazily connected channels over one unix socket: one for blocking calls, one for concurrent calls (`begin`). Every
call has a deadline. Every failure becomes one of five errors: unavailable (may be retried), not found,
unimplemented, too large, refused.
Nothing is retried here: the caller's next cycle is the retry, and a channel reconnects by itself within 200 ms.
"""

import os
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

# evictd does not fork while it runs, so gRPC's fork handlers would only print warnings.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

import grpc
from google.protobuf.message import Message

from evictd.clients.cri.concurrent_calls import ConcurrentCalls
from evictd.errors import (
    EvictdError,
    InvalidValueError,
    RuntimeNotFoundError,
    RuntimeRefusedError,
    RuntimeResponseTooLargeError,
    RuntimeUnavailableError,
    RuntimeUnimplementedError,
)

MAX_RECEIVE_BYTES = 16 << 20
"""The kubelet's limit for one response (`maxMsgSize`)."""
MAX_ERROR_TEXT = 300
"""Characters kept of the runtime's error message."""
_MAX_SOCKET_PATH = 107  # bytes of sockaddr_un.sun_path without the terminating NUL

_OPTIONS = (
    ("grpc.enable_http_proxy", 0),
    ("grpc.initial_reconnect_backoff_ms", 50),
    # Despite its name this is the timeout of one attempt to connect, which may take seconds on a thrashing node.
    ("grpc.min_reconnect_backoff_ms", 5_000),
    ("grpc.max_reconnect_backoff_ms", 200),
    ("grpc.max_receive_message_length", MAX_RECEIVE_BYTES),
)
_ERRORS: dict[grpc.StatusCode, type[EvictdError]] = {
    grpc.StatusCode.UNAVAILABLE: RuntimeUnavailableError,
    grpc.StatusCode.DEADLINE_EXCEEDED: RuntimeUnavailableError,
    grpc.StatusCode.CANCELLED: RuntimeUnavailableError,
    grpc.StatusCode.NOT_FOUND: RuntimeNotFoundError,
    grpc.StatusCode.UNIMPLEMENTED: RuntimeUnimplementedError,
    grpc.StatusCode.RESOURCE_EXHAUSTED: RuntimeResponseTooLargeError,  # also where the runtime's own limit was exceeded
}

A = TypeVar("A", bound=Message)
A_co = TypeVar("A_co", bound=Message, covariant=True)
T = TypeVar("T")

_MultiCallable: TypeAlias = "grpc.UnaryUnaryMultiCallable[Any, Any]"


class AnswerType(Protocol[A_co]):
    """A generated message class."""

    def FromString(self, serialized: bytes, /) -> A_co:  # noqa: N802 - protobuf's name
        """Parse a serialized message."""


@dataclass(frozen=True, slots=True)
class Method(Generic[A]):
    """One method of `runtime.v1`: its service, its name and the type of its response."""

    service: str
    name: str
    answer: AnswerType[A]

    @property
    def path(self) -> str:
        """The gRPC path: `/runtime.v1.SERVICE/NAME`."""
        return f"/runtime.v1.{self.service}/{self.name}"


def socket_path(endpoint: str) -> str:
    """Return the path of a `unix://` endpoint or of a plain absolute path.

    Raises `InvalidValueError` for anything else: evictd calls CRI over local sockets only.
    """
    path = endpoint.removeprefix("unix://")
    if not path.startswith("/"):
        raise InvalidValueError(f"containerRuntimeEndpoint {endpoint!r}: expected unix:///absolute/path")
    if len(os.fsencode(path)) > _MAX_SOCKET_PATH:
        raise InvalidValueError(f"containerRuntimeEndpoint {endpoint!r}: longer than a socket's path can be")
    return path


class Pending(Generic[T]):
    """A concurrent call; only `result` blocks."""

    __slots__ = ("_call", "_name", "_read", "_target")

    def __init__(self, call: "Future[Any]", name: str, target: str, read: Callable[[object], T]) -> None:
        self._call = call
        self._name = name
        self._target = target
        self._read = read

    def done(self) -> bool:
        """Whether the call has ended, with a result, an error or a cancellation."""
        return bool(self._call.done())

    def cancel(self) -> None:
        """Cancel the call; the runtime may still complete what it has begun."""
        self._call.cancel()

    def when_done(self, callback: Callable[[], None]) -> None:
        """Register `callback`, to be called once from any thread; it must not block and must not raise."""
        self._call.add_done_callback(lambda _: callback())

    def result(self) -> T:
        """Return the response, waiting at most until the call's deadline; raises the runtime errors of `evictd.errors`."""
        try:
            answer = self._call.result()
        except (grpc.RpcError, CancelledError) as error:
            raise mapped(error, self._name, self._target) from error
        if answer is None:  # what `grpc.aio` returns for bytes that the deserializer refuses, without an error
            raise RuntimeRefusedError(f"{_subject(self._name, self._target)}: the runtime's answer cannot be decoded")
        return self._read(answer)


class Channel:
    """The connections to one runtime; thread-safe. Raises `InvalidValueError` for an invalid endpoint."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        target = f"unix://{socket_path(endpoint)}"
        self._channel = grpc.insecure_channel(target, options=_OPTIONS)
        self._concurrent = ConcurrentCalls(target, _OPTIONS)
        self._calls: dict[str, _MultiCallable] = {}

    def call(self, method: Method[A], request: Message, *, timeout: float, target: str = "") -> A:
        """Make a call and wait for its response, at most `timeout` seconds; raises the runtime errors of `evictd.errors`.

        `target` is the id that an error message names.
        """
        try:
            answer: A = self._multi_callable(method)(request, timeout=timeout)
        except (grpc.RpcError, ValueError) as error:
            raise mapped(error, method.name, target) from error
        return answer

    def reserve_threads(self) -> None:
        """Start the threads that `begin` needs, while PIDs are available; raises `RuntimeUnavailableError`."""
        self._concurrent.start()

    def begin(
        self, method: Method[A], request: Message, *, timeout: float, read: Callable[[A], T], target: str = ""
    ) -> Pending[T]:
        """Start a call without waiting; `read` converts the response. Raises `RuntimeUnavailableError`."""
        try:
            future = self._concurrent.begin(method.path, request, method.answer, timeout=timeout)
        except RuntimeUnavailableError as error:
            raise RuntimeUnavailableError(f"{_subject(method.name, target)}: {error}") from error
        return Pending(future, method.name, target, read)  # type: ignore[arg-type]

    def close(self) -> None:
        """Close the connections; pending calls end with `RuntimeUnavailableError`."""
        self._concurrent.close()
        self._channel.close()

    def _multi_callable(self, method: Method[A]) -> "_MultiCallable":
        made = self._calls.get(method.path)
        if made is None:
            made = self._channel.unary_unary(
                method.path, request_serializer=_serialized, response_deserializer=method.answer.FromString
            )
            self._calls[method.path] = made
        return made


def _serialized(message: Message) -> bytes:
    return message.SerializeToString()


def mapped(error: Exception, call: str, target: str) -> EvictdError:
    """Map a failed call to an error of `evictd.errors` with the call, its target and the runtime's message in one line."""
    code: grpc.StatusCode = grpc.StatusCode.CANCELLED
    details: str | None = str(error)  # the channel was closed, or the call cancelled, by evictd
    if isinstance(error, grpc.Call | grpc.aio.AioRpcError):
        code, details = error.code(), error.details()
    text = " ".join((details or "no details").split())
    text = "".join(each if each.isprintable() else "?" for each in text)
    if len(text) > MAX_ERROR_TEXT:  # both ends are kept: Go's wrapped errors have the cause at the end
        text = f"{text[: MAX_ERROR_TEXT // 2 - 5]} ... {text[-MAX_ERROR_TEXT // 2 :]}"
    return _ERRORS.get(code, RuntimeRefusedError)(f"{_subject(call, target)}: {code.name}: {text}")


def _subject(call: str, target: str) -> str:
    return f"{call} {target}" if target else call
