"""Runs an asyncio loop in one thread, for calls that other threads begin and wait for.

A node without a free PID grants no thread. Therefore the thread is started when the loop is made, and a call needs no other.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from evictd.errors import RuntimeUnavailableError

T = TypeVar("T")


class EventLoopThread:
    """One loop in one thread; thread-safe. Raises `RuntimeUnavailableError` if the node does not grant the thread."""

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
