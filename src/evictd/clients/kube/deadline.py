"""Bounds the total time of a request.

The read timeout of urllib3 starts anew with every byte: a server that sends one byte per second would hold a request forever.
Therefore one thread, started with the first request so that later ones need no new thread, shuts down the connections of
requests that exceed their deadline. urllib3 gives access to its socket only within the connection; hence the subclasses below.
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
"""The interval at which open requests are checked; the thread sleeps while there are none."""

_current = threading.local()


class Deadline:
    """Context manager around one request and its response: shuts the connection down about `seconds` after its start."""

    def __init__(self, seconds: float) -> None:
        self.over = False
        """Whether the deadline has passed."""
        self._ticks = math.ceil(seconds / TICK_SECONDS)
        self._sock: Any = None

    def __enter__(self) -> Self:
        _current.deadline = self
        _TIMER.add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _current.deadline = None
        _TIMER.drop(self)

    def watch(self, sock: Any) -> None:
        """Set the request's socket; called by its connection."""
        self._sock = sock
        if self.over:
            self._shut_down()

    def tick(self) -> None:
        """Count down by `TICK_SECONDS`; at zero shut down the connection."""
        self._ticks -= 1
        if self._ticks == 0:
            self.over = True
            self._shut_down()

    def _shut_down(self) -> None:
        if self._sock is not None:
            with contextlib.suppress(OSError, ValueError):
                # The plain socket's method: that of SSLSocket would drop the TLS state that another thread is reading with.
                socket.socket.shutdown(self._sock, socket.SHUT_RDWR)


class _DeadlineTimer:
    """Ticks all open deadlines in one daemon thread, which starts with the first request."""

    def __init__(self) -> None:
        self._open: set[Deadline] = set()
        self._lock = threading.Lock()
        self._any_open = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, deadline: Deadline) -> None:
        with self._lock:
            self._open.add(deadline)
            if self._thread is None:
                # Without a free PID the request is made all the same, bounded only by the read timeout.
                with contextlib.suppress(RuntimeError):
                    thread = threading.Thread(target=self._run, name="api-deadlines", daemon=True)
                    thread.start()
                    self._thread = thread
        self._any_open.set()

    def drop(self, deadline: Deadline) -> None:
        with self._lock:
            self._open.discard(deadline)

    def _run(self) -> None:
        idle = threading.Event()  # never set; used only for its timeout
        while self._any_open.wait():
            idle.wait(TICK_SECONDS)
            with self._lock:
                now_open = tuple(self._open)
                if not now_open:
                    self._any_open.clear()
            for deadline in now_open:
                deadline.tick()


_TIMER = _DeadlineTimer()


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
