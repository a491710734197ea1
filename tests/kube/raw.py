"""A transport whose server answers with bytes that a test chooses: over a socket, or for the fuzzer without one."""

import contextlib
import io
import socketserver
import threading
from collections.abc import Iterator
from typing import Any

import urllib3
from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool

from evictd.clients.kube.access import Access
from evictd.clients.kube.transport import Transport


class FixedCredentials:
    """No credential at all, for one address; what `Transport` asks of `Credentials`."""

    generation = 0

    def __init__(self, host: str) -> None:
        self.access = Access(host=host, headers=dict, files=(), make_pool=urllib3.PoolManager)

    def refresh(self) -> None:
        """Nothing changes."""

    def reload(self) -> None:
        """Nothing changes."""


@contextlib.contextmanager
def raw_server(response: bytes) -> Iterator[Transport]:
    """Serve these bytes to each request, then close the connection."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while self.rfile.readline().strip():
                pass
            self.wfile.write(response)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        credentials: Any = FixedCredentials(f"http://127.0.0.1:{server.server_address[1]}")
        transport = Transport(credentials)
        try:
            yield transport
        finally:
            transport.close()
            server.shutdown()
            thread.join()


class _Socket:
    """A connected socket that gives some bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, *_: object, **__: object) -> io.BytesIO:
        return io.BytesIO(self._data)

    def sendall(self, _: bytes) -> None:
        """Take the request."""

    def settimeout(self, _: float | None) -> None:
        """Never wait."""

    def close(self) -> None:
        """Nothing is open."""


def fed_transport(response: bytes) -> Transport:
    """Build a transport that reads these bytes from each connection."""

    class Connection(HTTPConnection):
        def connect(self) -> None:
            self.sock: Any = _Socket(response)

    class Pool(HTTPConnectionPool):
        ConnectionCls = Connection

    class Fed(Transport):
        def _manager(self) -> Any:
            manager = urllib3.PoolManager()
            manager.pool_classes_by_scheme = {"http": Pool}
            return manager

    credentials: Any = FixedCredentials("http://api")
    return Fed(credentials)
