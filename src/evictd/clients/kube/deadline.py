"""How long may a request take as a whole?

A read timeout counts from byte to byte: a server that drips a byte a second would hold a request for ever. So one thread, which
is there before any pressure and needs none for a request, ends connections under requests that take too long. `urllib3` shows
its socket only to the connection that owns it; hence the connections of our own.
"""

import contextlib
import math
import socket
import threading
from types import TracebackType
from typing import Any, Self

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

TICK_SECONDS = 0.25
"""How often open requests are looked at; nobody wakes up while there are none."""

_current = threading.local()


class Deadline:
    """Around one request, answer included: about `seconds` after it was entered the connection is ended."""

    def __init__(self, seconds: float) -> None:
        self.over = False
        """Whether the time was up."""
        self._ticks = math.ceil(seconds / TICK_SECONDS)
        self._sock: Any = None

    def __enter__(self) -> Self:
        _current.deadline = self
        _WARDEN.add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _current.deadline = None
        _WARDEN.drop(self)

    def watch(self, sock: Any) -> None:
        """Say which connection it is; called by that connection."""
        self._sock = sock
        if self.over:
            self._end()

    def tick(self) -> None:
        """Note that `TICK_SECONDS` have passed."""
        self._ticks -= 1
        if self._ticks == 0:
            self.over = True
            self._end()

    def _end(self) -> None:
        if self._sock is not None:
            with contextlib.suppress(OSError, ValueError):
                # The plain socket's: the one of TLS would take its state from under the thread that reads.
                socket.socket.shutdown(self._sock, socket.SHUT_RDWR)


class _Warden:
    """The one thread that tells every open deadline of the time; made with the first request, and ends with the process."""

    def __init__(self) -> None:
        self._open: set[Deadline] = set()
        self._lock = threading.Lock()
        self._some = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, deadline: Deadline) -> None:
        with self._lock:
            self._open.add(deadline)
            if self._thread is None:
                # A node that has no thread left for us: the request goes out all the same, bounded from byte to byte.
                with contextlib.suppress(RuntimeError):
                    thread = threading.Thread(target=self._run, name="api-deadlines", daemon=True)
                    thread.start()
                    self._thread = thread
        self._some.set()

    def drop(self, deadline: Deadline) -> None:
        with self._lock:
            self._open.discard(deadline)

    def _run(self) -> None:
        idle = threading.Event()  # never set: what is waited for is its time
        while self._some.wait():
            idle.wait(TICK_SECONDS)
            with self._lock:
                now_open = tuple(self._open)
                if not now_open:
                    self._some.clear()
            for deadline in now_open:
                deadline.tick()


_WARDEN = _Warden()


def _watched(sock: Any) -> None:
    deadline = getattr(_current, "deadline", None)
    if deadline is not None:
        deadline.watch(sock)


class _Connection(HTTPConnection):
    def getresponse(self) -> Any:
        _watched(self.sock)
        return super().getresponse()


class _TlsConnection(HTTPSConnection):
    def getresponse(self) -> Any:
        _watched(self.sock)
        return super().getresponse()


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


POOLS: dict[str, Any] = {"http": _Pool, "https": _TlsPool}
"""For a pool manager's `pool_classes_by_scheme`."""
