"""How a call to the runtime is made, and what can come of it.

One lazily connected gRPC channel over a unix socket. Every call has a deadline, and every failure leaves here as one
of four errors: unavailable (try again), not found, unimplemented, refused. Nothing is retried here: the caller's next
cycle is the retry, and the channel reconnects by itself within 200 ms.
"""

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

# evictd starts no process of its own while it runs; gRPC's fork handlers would only print warnings.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

import grpc
from google.protobuf.message import Message

from evictd.errors import (
    EvictdError,
    InvalidValueError,
    RuntimeNotFoundError,
    RuntimeRefusedError,
    RuntimeUnavailableError,
    RuntimeUnimplementedError,
)

MAX_RECEIVE_BYTES = 16 << 20
"""The kubelet's limit for one answer."""
MAX_ERROR_TEXT = 300
_MAX_SOCKET_PATH = 107  # of sockaddr_un, less its closing zero

_OPTIONS = (
    ("grpc.enable_http_proxy", 0),
    ("grpc.initial_reconnect_backoff_ms", 50),
    # Despite its name this is what one attempt to connect is given, and a thrashing node needs its time.
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
}

A = TypeVar("A", bound=Message)
A_co = TypeVar("A_co", bound=Message, covariant=True)
T = TypeVar("T")

_MultiCallable: TypeAlias = "grpc.UnaryUnaryMultiCallable[Any, Any]"


class AnswerType(Protocol[A_co]):
    """A generated message class."""

    def FromString(self, serialized: bytes, /) -> A_co:  # noqa: N802 - protobuf's name
        """Read a message from the wire."""


@dataclass(frozen=True, slots=True)
class Method(Generic[A]):
    """One method of the wire contract: its service and name, and the type of its answer."""

    service: str
    name: str
    answer: AnswerType[A]

    @property
    def path(self) -> str:
        """The method's path on the wire."""
        return f"/runtime.v1.{self.service}/{self.name}"


def socket_path(endpoint: str) -> str:
    """Give the path of a `unix://` endpoint or a bare absolute path.

    Raises `InvalidValueError` for anything else: CRI is spoken over a local socket only.
    """
    path = endpoint.removeprefix("unix://")
    if not path.startswith("/"):
        raise InvalidValueError(f"containerRuntimeEndpoint {endpoint!r}: want unix:///absolute/path")
    if len(os.fsencode(path)) > _MAX_SOCKET_PATH:
        raise InvalidValueError(f"containerRuntimeEndpoint {endpoint!r}: longer than a socket's path can be")
    return path


class Pending(Generic[T]):
    """A call on its way; it never blocks unless asked for its result."""

    __slots__ = ("_call", "_name", "_read", "_target")

    def __init__(self, call: "grpc.Future[Any]", name: str, target: str, read: Callable[[object], T]) -> None:
        self._call = call
        self._name = name
        self._target = target
        self._read = read

    def done(self) -> bool:
        """Whether there is a result, an error or a cancellation."""
        return bool(self._call.done())

    def cancel(self) -> None:
        """Stop waiting; what the runtime has begun it may still finish."""
        self._call.cancel()

    def when_done(self, callback: Callable[[], None]) -> None:
        """Have `callback` called once, from a thread of gRPC; it must be quick and must not raise."""
        self._call.add_done_callback(lambda _: callback())

    def result(self) -> T:
        """Give the answer, waiting for it up to the call's deadline; raises the runtime errors of `evictd.errors`."""
        try:
            return self._read(self._call.result())
        except (grpc.RpcError, grpc.FutureCancelledError) as error:
            raise mapped(error, self._name, self._target) from error


class Channel:
    """The connection to one runtime; safe to use from many threads."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self._channel = grpc.insecure_channel(f"unix://{socket_path(endpoint)}", options=_OPTIONS)
        self._calls: dict[str, _MultiCallable] = {}

    def call(self, method: Method[A], request: Message, *, timeout: float, target: str = "") -> A:
        """Make a call and wait for its answer, at most `timeout` seconds."""
        try:
            answer: A = self._multi_callable(method)(request, timeout=timeout)
        except (grpc.RpcError, ValueError) as error:
            raise mapped(error, method.name, target) from error
        return answer

    def begin(
        self, method: Method[A], request: Message, *, timeout: float, read: Callable[[A], T], target: str = ""
    ) -> Pending[T]:
        """Make a call without waiting; `read` turns the answer into our value. Raises `RuntimeUnavailableError`."""
        _verify_that_threads_start(_subject(method.name, target))
        try:
            future = self._multi_callable(method).future(request, timeout=timeout)
        except ValueError as error:
            raise mapped(error, method.name, target) from error
        return Pending(future, method.name, target, read)  # type: ignore[arg-type]

    def stream(self, method: Method[A], request: Message) -> Iterator[A]:
        """Yield the answers of a streaming call until it fails; the one call without a deadline."""
        call = self._channel.unary_stream(
            method.path, request_serializer=_serialized, response_deserializer=method.answer.FromString
        )(request)
        try:
            yield from call
        except grpc.RpcError as error:
            raise mapped(error, method.name, "") from error
        finally:
            call.cancel()  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """Drop the connection; calls on their way end as unavailable."""
        self._channel.close()

    def _multi_callable(self, method: Method[A]) -> "_MultiCallable":
        made = self._calls.get(method.path)
        if made is None:
            made = self._channel.unary_unary(
                method.path, request_serializer=_serialized, response_deserializer=method.answer.FromString
            )
            self._calls[method.path] = made
        return made


def _verify_that_threads_start(subject: str) -> None:
    """Start a thread for nothing; raises `RuntimeUnavailableError` on a node that has none to give.

    gRPC awaits answers with a thread of its own. Where that cannot start, it believes to have it all the same: neither the
    call nor closing its connection would ever end.
    """
    try:
        threading.Thread(target=int, daemon=True).start()
    except RuntimeError as error:
        raise RuntimeUnavailableError(f"{subject}: no thread to await the answer with: {error}") from error


def _serialized(message: Message) -> bytes:
    return message.SerializeToString()


def mapped(error: Exception, call: str, target: str) -> EvictdError:
    """Turn a failed call into our error: the call, its target and the runtime's own words, in one line."""
    code = error.code() if isinstance(error, grpc.Call) else grpc.StatusCode.CANCELLED
    details = error.details() if isinstance(error, grpc.Call) else str(error)  # we closed the channel, or cancelled
    words = " ".join((details or "no details").split())
    words = "".join(each if each.isprintable() else "?" for each in words)
    if len(words) > MAX_ERROR_TEXT:  # the cause stands at the end of Go's errors
        words = f"{words[: MAX_ERROR_TEXT // 2 - 5]} ... {words[-MAX_ERROR_TEXT // 2 :]}"
    return _ERRORS.get(code, RuntimeRefusedError)(f"{_subject(call, target)}: {code.name}: {words}")


def _subject(call: str, target: str) -> str:
    return f"{call} {target}" if target else call
