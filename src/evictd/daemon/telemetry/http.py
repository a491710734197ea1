"""Serves the page at `/`, `/healthz`, `/readyz`, `/metrics`, `/configz`, `/statusz` and `/explainz` over plain HTTP on loopback.

One thread, started before any pressure, with an event loop of asyncio: a client that is slow or silent costs a descriptor and
no worker, so the next request is answered at once. Each connection serves one request, within one time limit from its acceptance
to the last byte of the answer. Above `MOST_CLIENTS` connections the oldest is closed, as the new one may be the liveness probe.
The standard library parses the request and formats the answer (`http.server`), in memory.
"""

import asyncio
import io
import json
import re
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from evictd.errors import NodeError
from evictd.worker import ErrorReporter

MOST_CLIENTS = 32
"""Connections open at one time; far below a process's limit of descriptors."""
REQUEST_SECONDS = 5.0
_MOST_HEAD_BYTES = 16 << 10
_END_OF_HEAD = b"\r\n\r\n"
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?", re.ASCII)
_CLUSTER_DOMAINS = (".svc", ".cluster.local")
"""Names of Services, which no public name server has: kube-rbac-proxy passes the client's Host on."""
_TURNS = 10
"""Turns of the event loop from the acceptance of a connection to its client's task, and from there to the closed socket."""

TEXT = "text/plain; charset=utf-8"
JSON = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
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
    """The listening socket and its thread; raises `NodeError` if the address is unavailable."""

    def __init__(self, address: str, pages: PageTable, errors: ErrorReporter) -> None:
        self.pages = pages
        self.errors = errors
        try:
            listener = _listen(address)
        except (OSError, ValueError) as error:
            raise NodeError(f"listenAddress {address}: {error}") from error
        self.port = int(listener.getsockname()[1])
        """The port that was bound, for address `...:0`."""
        self._clients: dict[asyncio.Task[None], None] = {}  # oldest first
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(self._note)
        starting = asyncio.start_server(self._serve, sock=listener, limit=_MOST_HEAD_BYTES)
        self._server = self._loop.run_until_complete(starting)
        self._thread = threading.Thread(target=self._loop.run_forever, name="evictd-http", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening and close every connection."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(REQUEST_SECONDS)
        if not self._thread.is_alive():
            self._loop.run_until_complete(self._end())
            self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        for _ in range(_TURNS):
            for client in tuple(self._clients):
                client.cancel()
            await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = asyncio.current_task()
        assert client is not None  # noqa: S101 - a coroutine that runs is a task
        if len(self._clients) >= MOST_CLIENTS:
            next(iter(self._clients)).cancel()
        self._clients[client] = None
        try:
            # A slow, silent or broken client is not an error of the daemon.
            with suppress(TimeoutError, OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                async with asyncio.timeout(REQUEST_SECONDS):
                    await self._answer(reader, writer)
        finally:
            self._clients.pop(client, None)
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(_END_OF_HEAD)
        writer.transport.set_write_buffer_limits(high=0)  # so that drain() waits for the last byte
        handler = _Handler(head, writer.get_extra_info("peername"), self)  # type: ignore[arg-type] # no socket, only pages
        writer.write(handler.answer)
        await writer.drain()
        writer.write_eof()
        await reader.read(1)  # the client closes when it has read everything; an abort before that would discard it

    def _note(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.errors.report_error("http", f"{context.get('message', '')}: {context.get('exception', '')!r}")


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


def _listen(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ValueError("is not an address with a port, such as 127.0.0.1:10277")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host.strip("[]"), int(port)), family=family, backlog=16)


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


class _Handler(BaseHTTPRequestHandler):
    """One request, read from its head and answered into memory."""

    server_version = "evictd"
    sys_version = ""
    server: Any
    request: Any

    def setup(self) -> None:
        self.rfile = io.BytesIO(self.request)
        self.wfile = io.BytesIO()

    def finish(self) -> None:
        self.answer = self.wfile.getvalue()  # type: ignore[attr-defined] # it is the BytesIO above

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Log nothing: a request is no event."""

    def _answer(self, *, with_body: bool) -> None:
        if is_own_host(self.headers.get("Host")):
            page = self._make(self.path.partition("?")[0])
        else:
            page = Page(body=b"this Host is not served\n", status=HTTPStatus.MISDIRECTED_REQUEST)
        self.send_response(page.status)
        self.send_header("Content-Type", page.content_type)
        self.send_header("Content-Length", str(len(page.body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        for name, value in page.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(page.body)

    def _make(self, path: str) -> Page:
        make = self.server.pages.get(path)
        if make is None:
            return Page(body=b"not found\n", status=HTTPStatus.NOT_FOUND)
        try:
            page: Page = make()
        except Exception as error:  # a fault in one page must not cost the others; it is logged and counted
            self.server.errors.report_error("http", f"{path}: {error!r}")
            return Page(body=b"this page could not be made\n", status=HTTPStatus.INTERNAL_SERVER_ERROR)
        return page
