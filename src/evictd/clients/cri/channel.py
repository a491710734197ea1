"""Makes gRPC calls to the runtime and maps their failures to the errors of `evictd.errors`.

A channel is one connection over a unix socket, in an event loop with a thread of its own, for any number of concurrent calls.
Every call has a deadline. Every failure becomes one of five errors: unavailable (may be retried), not found, unimplemented, too
large, refused.
Nothing is retried here: the caller's next cycle is the retry, and a call on a connection that was lost opens a new one.
"""

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import grpclib.client
from google.protobuf.message import DecodeError, Message
from grpclib.const import Cardinality, Status
from grpclib.encoding.base import CodecBase
from grpclib.exceptions import GRPCError, StreamTerminatedError

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
LONGEST_TIMEOUT_SECONDS = 99_999_999
"""A longer deadline would be a `grpc-timeout` of more than eight digits, for which a runtime refuses the call."""
_MAX_SOCKET_PATH = 107  # bytes of sockaddr_un.sun_path without the terminating NUL
_LATE_SECONDS = 5
"""The time after a call's deadline by which its thread must have reported that; on a thrashing node this takes seconds."""

_ERRORS: dict[Status, type[EvictdError]] = {
    Status.UNAVAILABLE: RuntimeUnavailableError,
    Status.DEADLINE_EXCEEDED: RuntimeUnavailableError,
    Status.CANCELLED: RuntimeUnavailableError,
    Status.NOT_FOUND: RuntimeNotFoundError,
    Status.UNIMPLEMENTED: RuntimeUnimplementedError,
    Status.RESOURCE_EXHAUSTED: RuntimeResponseTooLargeError,  # also where the runtime's own limit was exceeded
}

A = TypeVar("A", bound=Message)
A_co = TypeVar("A_co", bound=Message, covariant=True)
T = TypeVar("T")


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

    __slots__ = ("_call", "_read", "_subject", "_timeout")

    def __init__(self, call: "Future[Any]", subject: str, read: Callable[[Any], T], timeout: float) -> None:
        self._call = call
        self._subject = subject
        self._read = read
        self._timeout = timeout

    def done(self) -> bool:
        """Whether the call has ended, with a result, an error or a cancellation."""
        return self._call.done()

    def cancel(self) -> None:
        """Cancel the call; the runtime may still complete what it has begun."""
        self._call.cancel()

    def when_done(self, callback: Callable[[], None]) -> None:
        """Register `callback`, to be called once from any thread; it must not block and must not raise."""
        self._call.add_done_callback(lambda _: callback())

    def result(self) -> T:
        """Return the response, waiting at most until the call's deadline; raises the runtime errors of `evictd.errors`."""
        try:
            answer = self._call.result(self._timeout + _LATE_SECONDS)
        except Exception as error:
            raise mapped(error, self._subject) from error
        try:
            return self._read(answer)
        except DecodeError as error:
            raise RuntimeRefusedError(f"{self._subject}: the runtime's answer cannot be decoded") from error


class EventLoopThread:
    """One asyncio loop in one thread, for calls that other threads begin and wait for; thread-safe.

    A node without a free PID grants no thread. Therefore the thread is started when the loop is made, and a call needs no other.
    Raises `RuntimeUnavailableError` if the node does not grant it.
    """

    def __init__(self, name: str) -> None:
        self._lock = threading.Lock()
        self._closed = False
        self._loop = asyncio.SelectorEventLoop()
        # A fault of a connection is the error of its calls, which report it.
        self._loop.set_exception_handler(lambda _, __: None)
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:
            self._loop.close()
            raise RuntimeUnavailableError(f"no thread to wait for the runtime's responses: {error}") from error

    def begin(self, call: Callable[[], Coroutine[Any, Any, T]]) -> "Future[T]":
        """Start a call without waiting and return its future; raises `RuntimeUnavailableError` after `close`."""
        with self._lock:
            if self._closed:
                raise RuntimeUnavailableError("the connection to the runtime is closed")
            return asyncio.run_coroutine_threadsafe(call(), self._loop)

    def close(self, finish: Callable[[], Awaitable[None]]) -> None:
        """Cancel the calls under way, run `finish` in the loop and end the thread; does nothing the second time."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        asyncio.run_coroutine_threadsafe(_end(finish), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _end(finish: Callable[[], Awaitable[None]]) -> None:
    calls = asyncio.all_tasks() - {asyncio.current_task()}
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    await finish()


class Channel:
    """The connection to one runtime, opened by the first call; thread-safe.

    Raises `InvalidValueError` for an invalid endpoint, `RuntimeUnavailableError` if the node does not grant a thread.
    """

    def __init__(self, endpoint: str) -> None:
        self._path = socket_path(endpoint)
        self._loop = EventLoopThread("cri-calls")
        self._connection: grpclib.client.Channel | None = None  # belongs to the loop's thread

    def call(self, method: Method[A], request: Message, *, timeout: float, target: str = "") -> A:
        """Make a call and wait for its response, at most `timeout` seconds; raises the runtime errors of `evictd.errors`.

        `target` is the id that an error message names.
        """
        return self.begin(method, request, timeout=timeout, read=lambda answer: answer, target=target).result()

    def begin(
        self, method: Method[A], request: Message, *, timeout: float, read: Callable[[A], T], target: str = ""
    ) -> Pending[T]:
        """Start a call without waiting; `read` converts the response. Raises `RuntimeUnavailableError`."""
        subject = f"{method.name} {target}" if target else method.name
        serialized, timeout = request.SerializeToString(), min(timeout, LONGEST_TIMEOUT_SECONDS)
        try:
            call = self._loop.begin(lambda: self._call(method.path, serialized, timeout))
        except RuntimeUnavailableError as error:
            raise RuntimeUnavailableError(f"{subject}: {error}") from error
        # Parsed by the thread that waits: the loop's is the only one for all calls.
        return Pending(call, subject, lambda answer: read(method.answer.FromString(answer)), timeout)

    def close(self) -> None:
        """Close the connection; pending calls end with `RuntimeUnavailableError`."""
        self._loop.close(self._disconnect)

    async def _call(self, path: str, request: bytes, timeout: float) -> bytes:
        if self._connection is None:
            self._connection = grpclib.client.Channel(path=self._path, codec=_Bytes())
        try:
            async with self._connection.request(path, Cardinality.UNARY_UNARY, bytes, bytes, timeout=timeout) as stream:
                await stream.send_request()
                _limit(stream)
                await stream.send_message(request, end=True)
                answer = await stream.recv_message()
        except TimeoutError:  # an OSError as well
            raise
        except OSError as error:
            raise OSError(error.errno, error.strerror or str(error), self._path) from error
        if answer is None:
            raise GRPCError(Status.UNKNOWN, "no message in the runtime's answer")
        return answer

    async def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()


class _Bytes(CodecBase):
    """Leaves messages serialized."""

    __content_subtype__ = "proto"

    def encode(self, message: bytes, message_type: Any) -> bytes:  # noqa: ARG002 - grpclib's interface
        return message

    def decode(self, data: bytes, message_type: Any) -> bytes:  # noqa: ARG002 - grpclib's interface
        return data


def _limit(stream: "grpclib.client.Stream[bytes, bytes]") -> None:
    """Refuse a message above the limit when its length is known, before its bytes are kept; grpclib has no setting for this."""
    transport = stream._stream
    read = transport.recv_data

    async def limited(size: int) -> bytes:
        if size > MAX_RECEIVE_BYTES:
            text = f"Received message larger than max ({size} vs. {MAX_RECEIVE_BYTES})"
            raise GRPCError(Status.RESOURCE_EXHAUSTED, text)
        return await read(size)

    transport.recv_data = limited  # type: ignore[method-assign]


def mapped(error: Exception, subject: str) -> EvictdError:
    """Map a failed call to an error of `evictd.errors` with the call, its target and the runtime's message in one line."""
    status, details = _status(error)
    text = " ".join((details or "no details").split())
    text = "".join(each if each.isprintable() else "?" for each in text)
    if len(text) > MAX_ERROR_TEXT:  # both ends are kept: Go's wrapped errors have the cause at the end
        text = f"{text[: MAX_ERROR_TEXT // 2 - 5]} ... {text[-MAX_ERROR_TEXT // 2 :]}"
    return _ERRORS.get(status, RuntimeRefusedError)(f"{subject}: {status.name}: {text}")


def _status(error: Exception) -> tuple[Status, str | None]:
    match error:
        case GRPCError():
            return error.status, error.message
        case CancelledError():  # by evictd, or with its connection
            return Status.CANCELLED, "the call was cancelled"
        case TimeoutError():
            return Status.DEADLINE_EXCEEDED, "no response within the call's time"
        case StreamTerminatedError() | OSError():
            return Status.UNAVAILABLE, str(error)
    return Status.INTERNAL, f"the runtime's answer is not gRPC: {error!r}"  # what grpclib and h2 raise for it
