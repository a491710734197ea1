"""Makes concurrent calls to the runtime, completed by threads that were started beforehand.

gRPC's blocking interface needs no extra thread for a call that its caller waits for, but starts one for futures. A node without
a free PID does not grant that thread, and gRPC then never completes the call (docs/laws.md, faults 6 and 31). Its asyncio
interface needs two threads for any number of calls: the event loop's and gRPC's poller. `start` starts both while PIDs are
available; they run until `close`.
"""

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import grpc

from evictd.errors import RuntimeUnavailableError

_START_SECONDS = 30
"""The time the two threads may take to start; a thrashing node is slow."""


class _Loop(asyncio.SelectorEventLoop):
    """A loop that drops what comes after its end.

    gRPC's poller serves all loops of the process. The event of a call that `close` cancelled may come when its loop is closed,
    and the poller would raise in the loop of another connection.
    """

    def call_soon_threadsafe(  # type: ignore[override] # asyncio's, without its variadic types
        self, callback: Any, *args: Any, context: Any = None
    ) -> asyncio.Handle:
        try:
            return super().call_soon_threadsafe(callback, *args, context=context)
        except RuntimeError:
            if not self.is_closed():
                raise
            return asyncio.Handle(callback, args, self)


class ConcurrentCalls:
    """A second connection to a runtime, for concurrent calls. Thread-safe."""

    def __init__(self, target: str, options: Sequence[tuple[str, int]]) -> None:
        self._target = target
        self._options = tuple(options)
        self._lock = threading.Lock()
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._channel: Any = None

    def start(self) -> None:
        """Start the threads if they do not run; raises `RuntimeUnavailableError` if the node does not grant them."""
        with self._lock:
            if self._closed:
                raise RuntimeUnavailableError("the connection to the runtime is closed")
            if self._loop is None:
                self._start()

    def begin(self, path: str, request: Any, answer: Any, *, timeout: float) -> "Future[Any]":
        """Start a call without waiting; `answer` is the class of the response. Raises `RuntimeUnavailableError`."""
        self.start()
        with self._lock:
            if self._loop is None or self._closed:  # another thread has closed it since
                raise RuntimeUnavailableError("the connection to the runtime is closed")
            return asyncio.run_coroutine_threadsafe(self._call(path, request, answer, timeout), self._loop)

    def close(self) -> None:
        """Cancel the pending calls and end the threads."""
        with self._lock:
            self._closed = True
            loop, thread = self._loop, self._thread
            if loop is None or thread is None or loop.is_closed():
                return
            asyncio.run_coroutine_threadsafe(self._close_channel(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def _start(self) -> None:
        # The loop's thread starts gRPC's poller. If that fails, gRPC stays unusable for the whole process; therefore two threads
        # are started at the same time first, to see that the kernel grants them.
        loop = _Loop()
        thread = threading.Thread(target=loop.run_forever, name="cri-calls", daemon=True)
        try:
            thread.start()
            _verify_that_another_thread_starts()
        except RuntimeError as error:
            _stop(loop, thread)
            raise RuntimeUnavailableError(f"no threads to wait for the runtime's responses: {error}") from error
        self._channel = asyncio.run_coroutine_threadsafe(self._open(), loop).result(_START_SECONDS)
        self._loop, self._thread = loop, thread

    async def _open(self) -> Any:
        return grpc.aio.insecure_channel(self._target, options=self._options)

    async def _call(self, path: str, request: Any, answer: Any, timeout: float) -> Any:
        method = self._channel.unary_unary(
            path, request_serializer=_serialized, response_deserializer=answer.FromString
        )
        return await method(request, timeout=timeout)

    async def _close_channel(self) -> None:
        calls = asyncio.all_tasks() - {asyncio.current_task()}
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await self._channel.close()


def _verify_that_another_thread_starts() -> None:
    probe = threading.Thread(target=int, daemon=True)
    probe.start()
    probe.join()


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    if thread.ident is not None:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
    loop.close()


def _serialized(message: Any) -> bytes:
    serialized: bytes = message.SerializeToString()
    return serialized
