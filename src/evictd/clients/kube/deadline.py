"""How long may a request take as a whole?

A read timeout counts from byte to byte: a server that drips a byte a second would hold a request for ever. So a timer ends the
connection under it. `urllib3` shows its socket only to the connection that owns it; hence the connections of our own.
"""

import contextlib
import socket
import threading
from types import TracebackType
from typing import Any, Self

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

_current = threading.local()


class Deadline:
    """Around one request, answer included: `seconds` after it was entered the connection is ended, whatever it is at."""

    def __init__(self, seconds: float) -> None:
        self.over = False
        """Whether the time was up."""
        self._sock: Any = None
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        _current.deadline = self
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _current.deadline = None
        self._timer.cancel()

    def watch(self, sock: Any) -> None:
        """Say which connection it is; called by that connection."""
        self._sock = sock
        if self.over:
            self._end()

    def _end(self) -> None:
        self.over = True
        if self._sock is not None:
            with contextlib.suppress(OSError, ValueError):
                # The plain socket's: the one of TLS would take its state from under the thread that reads.
                socket.socket.shutdown(self._sock, socket.SHUT_RDWR)


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
