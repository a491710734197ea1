"""Serves the page at `/`, `/healthz`, `/readyz`, `/metrics`, `/configz`, `/statusz` and `/explainz` over plain HTTP.

On loopback; the health pages also at an address for a kubelet's probes, which is a unix socket in the DaemonSet.
One thread, started before any pressure, with an event loop of asyncio: a client that is slow or silent costs a descriptor and
no worker, so the next request is answered at once. Each connection serves one request, within one time limit from its acceptance
to the last byte of the answer. Above `MOST_CLIENTS` connections the oldest of the source that has most of them is closed, as the
new one may be the liveness probe. `accept` bounds how many are served in a second, and what their pages cost.
"""

import asyncio
import errno
import json
import re
import socket
import stat
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field
from http import HTTPStatus
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from evictd.clock import thread_clock
from evictd.core.frozen import frozen
from evictd.core.units.duration import SECOND
from evictd.daemon.telemetry.accept import BACKLOG, Acceptor
from evictd.errors import NodeError
from evictd.worker import ErrorReporter, start_thread

MOST_CLIENTS = 32
"""Connections open at one time; far below a process's limit of descriptors."""
REQUEST_SECONDS = 5.0
_MOST_HEAD_BYTES = 16 << 10
_END_OF_HEAD = b"\r\n\r\n"
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?", re.ASCII)
UNIX = "unix:"
"""Begins an address that is a unix socket's path."""
_CLUSTER_DOMAINS = (".svc", ".cluster.local")
"""Names of Services, which no public name server has: kube-rbac-proxy passes the client's Host on."""
_TURNS = 10
"""Turns of the event loop from the acceptance of a connection to its client's task, and from there to the closed socket."""

_TAKEN = (
    "Address already in use: `evictd status --address {}` shows the state of another process, not of this one; set "
    "listenAddress to a free port"
)

_Client = TypeVar("_Client")

TEXT = "text/plain; charset=utf-8"
JSON = "application/json"


@frozen
class Page:
    """The answer of a path."""

    body: bytes
    content_type: str = TEXT
    status: HTTPStatus = HTTPStatus.OK
    headers: Mapping[str, str] = field(default_factory=dict)


def json_page(document: object) -> Page:
    """Return a page with a JSON document."""
    return Page(body=json.dumps(document, indent=2).encode() + b"\n", content_type=JSON)


PageTable = Mapping[str, Callable[[], Page]]
"""Path to the function that makes the page; called on the server's thread."""


class HttpServer:
    """The listening socket and its thread; raises `NodeError` if the address or a thread is unavailable."""

    def __init__(self, address: str, pages: PageTable, errors: ErrorReporter) -> None:
        self._pages = pages
        self._errors = errors
        try:
            listener = _listen(address)
        except (OSError, ValueError) as error:
            taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
            raise NodeError(f"listenAddress {address}: {_TAKEN.format(address) if taken else error}") from error
        self.port = 0 if listener.family == socket.AF_UNIX else int(listener.getsockname()[1])
        """The port that was bound, for address `...:0`; 0 for a unix socket."""
        self._clients: dict[asyncio.Task[None], str] = {}  # each with its source, oldest first
        try:
            self._loop = asyncio.new_event_loop()
        except OSError as error:  # without a free descriptor
            listener.close()
            raise NodeError(f"listenAddress {address}: {error}") from error
        self._loop.set_exception_handler(self._note)
        self._acceptor = Acceptor(listener, self._loop, lambda *one: self._loop.create_task(self._serve(*one)))
        self._thread = threading.Thread(target=self._loop.run_forever, name="evictd-http", daemon=True)
        try:
            start_thread(self._thread)
        except NodeError:
            self._acceptor.close()
            self._loop.close()
            raise

    def close(self) -> None:
        """Stop listening and close every connection."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(REQUEST_SECONDS)
        if not self._thread.is_alive():
            self._loop.run_until_complete(self._end())
            self._loop.close()

    async def _end(self) -> None:
        self._acceptor.close()
        for _ in range(_TURNS):
            for client in tuple(self._clients):
                client.cancel()
            await asyncio.sleep(0)

    async def _serve(self, source: str, connection: socket.socket) -> None:
        client = asyncio.current_task()
        assert client is not None  # noqa: S101 - a coroutine that runs is a task
        if len(self._clients) >= MOST_CLIENTS:
            crowded_out = oldest_of_the_most(self._clients)
            del self._clients[crowded_out]
            crowded_out.cancel()
        self._clients[client] = source
        try:
            # A slow, silent or broken client is not an error of the daemon.
            with suppress(TimeoutError, OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                async with asyncio.timeout(REQUEST_SECONDS):
                    await self._converse(connection)
        finally:
            self._clients.pop(client, None)

    async def _converse(self, connection: socket.socket) -> None:
        reader, writer = await _streams(connection)
        try:
            await self._answer(reader, writer)
        finally:
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(_END_OF_HEAD)
        writer.transport.set_write_buffer_limits(high=0)  # so that drain() waits for the last byte
        begun = thread_clock()
        writer.write(answer(head, self._pages, self._errors))
        self._acceptor.spend((thread_clock() - begun) / SECOND)
        await writer.drain()
        writer.write_eof()
        await reader.read(1)  # the client closes when it has read everything; an abort before that would discard it

    def _note(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self._errors.report_error("http", f"{context.get('message', '')}: {context.get('exception', '')!r}")


class StatusServer:
    """Serves the pages, once the address is available; an empty address serves nothing.

    The pages only show what the daemon does: without them it still evicts. So an address that is taken is an error to report, and
    is tried again at each reload.
    """

    def __init__(self, address: str, pages: PageTable, errors: ErrorReporter) -> None:
        self._address = address
        self._pages = pages
        self._errors = errors
        self._server: HttpServer | None = None

    @property
    def served_at(self) -> str:
        """The address; empty while nothing is served."""
        return self._address if self._server is not None else ""

    def listen(self) -> None:
        """Start to serve, unless that has been done."""
        if self._server is not None or not self._address:
            return
        try:
            self._server = HttpServer(self._address, self._pages, self._errors)
        except NodeError as error:
            self._errors.report_error("listen", str(error))

    def close(self) -> None:
        """Stop serving."""
        if self._server is not None:
            self._server.close()


def oldest_of_the_most(sources: Mapping[_Client, str]) -> _Client:
    """Return the first client of the source that has most of them; there is one."""
    (source, _), *_ = Counter(sources.values()).most_common(1)
    return next(client for client, each in sources.items() if each == source)


async def _streams(connection: socket.socket) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_MOST_HEAD_BYTES, loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport, _ = await loop.connect_accepted_socket(lambda: protocol, connection)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


def _listen(address: str) -> socket.socket:
    if address.startswith(UNIX):
        return _listen_unix(Path(address.removeprefix(UNIX)))
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ValueError("is not an address with a port, such as 127.0.0.1:10277")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host.strip("[]"), int(port)), family=family, backlog=BACKLOG)


def _listen_unix(path: Path) -> socket.socket:
    """Listen on a unix socket; one that an earlier process left is replaced."""
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise ValueError("is no socket")
        path.unlink()
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def is_own_host(host: str | None) -> bool:
    """Whether a request's `Host` can be this server's: an address, `localhost`, this machine, or a name of the cluster.

    A page of any web site can have its own name resolved to 127.0.0.1 and then read the answers as its own (DNS rebinding). The
    browser sends that name as `Host`. Clients that are no browsers may send none.
    """
    if host is None:
        return True
    try:
        name = urlsplit(f"//{host}").hostname if _HOST.fullmatch(host) else None
    except ValueError:  # brackets around what is no address
        return False
    if name is None:
        return False
    with suppress(ValueError):
        ip_address(name)
        return True
    name = name.rstrip(".")
    return name in {"localhost", socket.gethostname().lower()} or name.endswith(_CLUSTER_DOMAINS)


_REFUSED_HOST = Page(body=b"this Host is not served\n", status=HTTPStatus.MISDIRECTED_REQUEST)
_NOT_FOUND = Page(body=b"not found\n", status=HTTPStatus.NOT_FOUND)
_BAD_REQUEST = Page(body=b"bad request\n", status=HTTPStatus.BAD_REQUEST)
_OTHER_METHOD = Page(body=b"only GET and HEAD are served\n", status=HTTPStatus.NOT_IMPLEMENTED)
_FAILED = Page(body=b"this page could not be made\n", status=HTTPStatus.INTERNAL_SERVER_ERROR)


def answer(head: bytes, pages: PageTable, errors: ErrorReporter) -> bytes:
    """Answer the head of a request; its body, if it has one, is not read."""
    first, *lines = head.decode("latin-1").split("\r\n")
    method, _, target = first.partition(" ")
    target, _, version = target.rpartition(" ")
    if not target or not version.startswith("HTTP/"):
        return _written(_BAD_REQUEST, with_body=True)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if method not in {"GET", "HEAD"}:
        page = _OTHER_METHOD
    elif not is_own_host(headers.get("host")):
        page = _REFUSED_HOST
    else:
        page = _made(target.partition("?")[0], pages, errors)
    return _written(page, with_body=method != "HEAD")


def _made(path: str, pages: PageTable, errors: ErrorReporter) -> Page:
    make = pages.get(path)
    if make is None:
        return _NOT_FOUND
    try:
        return make()
    except Exception as error:  # a fault in one page must not cost the others; it is logged and counted
        errors.report_error("http", f"{path}: {error!r}")
        return _FAILED


def _written(page: Page, *, with_body: bool) -> bytes:
    headers = {
        "Server": "evictd",
        "Content-Type": page.content_type,
        "Content-Length": str(len(page.body)),
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        **page.headers,
    }
    lines = [
        f"HTTP/1.0 {page.status.value} {page.status.phrase}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + (page.body if with_body else b"")
