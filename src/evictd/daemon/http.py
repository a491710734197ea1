"""Who may look in, and how?

`/healthz`, `/readyz`, `/metrics`, `/configz` and `/statusz` over plain HTTP on loopback. A few workers that were
started before any pressure share one listening socket; each serves one request a connection, under a time limit, so a
slow or hostile client costs a worker for seconds and the loop nothing at all.
"""

import json
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any

from evictd.errors import NodeError

WORKERS = 3
CLIENT_TIMEOUT_SECONDS = 3.0

TEXT = "text/plain; charset=utf-8"
JSON = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a path answers."""

    body: bytes
    content_type: str = TEXT
    status: HTTPStatus = HTTPStatus.OK


def json_page(document: object) -> Page:
    """Make a page of a JSON document."""
    return Page(body=json.dumps(document, indent=2).encode() + b"\n", content_type=JSON)


Pages = Mapping[str, Callable[[], Page]]
"""Path to what makes the page; called on a worker's thread."""


class HttpServer:
    """The listening socket and its workers; raises `NodeError` where the address is not to be had."""

    def __init__(self, address: str, pages: Pages, complain: Callable[[str, str], None]) -> None:
        self.pages = pages
        self.complain = complain
        try:
            self._listener = _listen(address)
        except (OSError, ValueError) as error:
            raise NodeError(f"listenAddress {address}: {error}") from error
        self._workers = [
            threading.Thread(target=self._serve, name=f"evictd-http-{number}", daemon=True) for number in range(WORKERS)
        ]
        for worker in self._workers:
            worker.start()

    @property
    def port(self) -> int:
        """The port that was bound, for address `...:0`."""
        return int(self._listener.getsockname()[1])

    def close(self) -> None:
        """Stop listening; requests under way have their time limit to end."""
        self._listener.shutdown(socket.SHUT_RDWR)  # wakes every worker out of accept
        self._listener.close()
        for worker in self._workers:
            worker.join(CLIENT_TIMEOUT_SECONDS)

    def _serve(self) -> None:
        while True:
            try:
                connection, peer = self._listener.accept()
            except ConnectionError:
                continue
            except OSError:
                return  # closed
            with connection:
                connection.settimeout(CLIENT_TIMEOUT_SECONDS)
                try:
                    _Handler(connection, peer, self)  # type: ignore[arg-type] # only its pages are used
                except (OSError, ValueError):
                    continue  # the client went away


def _listen(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ValueError("is no address with a port, such as 127.0.0.1:10258")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host.strip("[]"), int(port)), family=family, backlog=16)


class _Handler(BaseHTTPRequestHandler):
    server_version = "evictd"
    sys_version = ""
    server: Any

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Log nothing: somebody who looks is no event."""

    def _answer(self, *, with_body: bool) -> None:
        page = self._make(self.path.partition("?")[0])
        self.send_response(page.status)
        self.send_header("Content-Type", page.content_type)
        self.send_header("Content-Length", str(len(page.body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if with_body:
            self.wfile.write(page.body)

    def _make(self, path: str) -> Page:
        make = self.server.pages.get(path)
        if make is None:
            return Page(body=b"not found\n", status=HTTPStatus.NOT_FOUND)
        try:
            page: Page = make()
        except Exception as error:  # a fault in one page must not cost the worker; it is told and counted
            self.server.complain("http", f"{path}: {error!r}")
            return Page(body=b"this page could not be made\n", status=HTTPStatus.INTERNAL_SERVER_ERROR)
        return page
