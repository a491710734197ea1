"""Serves an API server double: real HTTPS on loopback over `Verbs`, with watches, identities, RBAC, faults and a request log.

    with ApiServer(tmp_path) as server:
        server.store.create("pods", pod)
        transport = ... server.kubeconfig() ...

Every request is logged with verb, resource, subresource, name and user before it is authorised, as an audit log is.
"""

import contextlib
import json
import selectors
import socket
import ssl
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from tests.kube.admin import Admin
from tests.kube.certs import Authority
from tests.kube.faults import Fault, Faults
from tests.kube.rbac import Attributes, Rbac
from tests.kube.store import Json, Store
from tests.kube.verbs import UNPROCESSED_SECONDS, Budget, StatusError, Verbs

NAMESPACED = {"pods", "events", "leases"}


@dataclass(frozen=True, slots=True)
class Logged:
    """One line of the request log."""

    at: float
    attributes: Attributes
    status: int
    content_type: str
    body: Any
    query: dict[str, str]

    @property
    def what(self) -> str:
        """`patch nodes/status`."""
        part = self.attributes
        return f"{part.verb} {part.resource}{'/' + part.subresource if part.subresource else ''}"


class ApiServer:
    """The double. `tokens` maps a bearer token to its user; a removed token has expired."""

    def __init__(self, folder: Path, *, rbac: Rbac | None = None, token: str = "token-1", user: str = "admin") -> None:
        self.store = Store()
        self.verbs = Verbs(self.store)
        self.faults = Faults()
        self.rbac = rbac
        self.tokens = {token: user}
        self.user = user
        self.authority = Authority(folder)
        self.folder = folder
        self.log: list[Logged] = []
        self.stopping = threading.Event()
        self.unexpected: list[BaseException] = []
        self._pair = self.authority.issue("evictd-test-server", server=True)
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._client: Admin | None = None
        self._http: _Server | None = None
        self._thread: threading.Thread | None = None
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._listener.setblocking(False)
        self._away = _TurnedAway(self._listener)
        self.port: int = self._listener.getsockname()[1]

    # --- life ---------------------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self.up()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._client is not None:
            self._client.close()
        self.down()
        self._away.stop()
        self._listener.close()
        if self.unexpected and error is None:
            raise self.unexpected[0]

    def up(self) -> None:
        """Serve; after `down` on the same port again."""
        self._away.stop()
        self.stopping.clear()
        self._http = _Server(self._listener, self, self._context())
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), name="api-server")
        self._thread.start()

    def down(self) -> None:
        """Serve no more and cut every connection; new ones are closed at once. The objects and the port stay."""
        if self._http is None or self._thread is None:
            return
        self.stopping.set()
        with self.store.changed:
            self.store.changed.notify_all()
        self._http.shutdown()
        self._thread.join()
        self._away.start()
        self.cut_connections()
        self._http.server_close()
        self._http = None

    def cut_connections(self) -> None:
        """Close every open connection while clients use them."""
        with self._lock:
            open_now = list(self._connections)
        for connection in open_now:
            try:
                # Not SSLSocket.shutdown, after which a thread that still reads gets the bytes of TLS as the request.
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
            except OSError:
                continue

    def remember(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.add(connection)

    def forget(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.discard(connection)

    def _context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._pair.cert, self._pair.key)
        context.load_verify_locations(self.authority.cert)
        context.verify_mode = ssl.CERT_OPTIONAL
        return context

    # --- for tests ----------------------------------------------------------------------------------------------------

    def kubeconfig(self, user: Json | None = None, name: str = "kubeconfig") -> Path:
        """Write a kubeconfig for this server; `user` is the user's entry, by default the first token."""
        path = self.folder / name
        entry = user if user is not None else {"token": next(iter(self.tokens))}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "t",
            "clusters": [
                {
                    "name": "c",
                    "cluster": {
                        "server": f"https://127.0.0.1:{self.port}",
                        "certificate-authority": str(self.authority.cert),
                    },
                }
            ],
            "contexts": [{"name": "t", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": entry}],
        }
        path.write_text(json.dumps(document))
        return path

    @property
    def client(self) -> Admin:
        """A client of the first token."""
        if self._client is None:
            self._client = Admin(f"https://127.0.0.1:{self.port}", self.authority.cert, next(iter(self.tokens)))
        return self._client

    def budget(self, name: str, labels: dict[str, str], allowed: int | None) -> None:
        """Set how many disruptions a budget allows; `None`: its controller has not processed it yet."""
        others = [each for each in self.verbs.budgets if each.name != name]
        made = Budget(name, labels, allowed or 0, retry_after=UNPROCESSED_SECONDS if allowed is None else None)
        self.verbs.budgets = [*others, made]

    def requests(self, what: str = "", *, watches: bool = True) -> list[Logged]:
        """The log, or its entries of one form, such as `patch nodes/status`."""
        with self._lock:
            found = list(self.log)
        return [line for line in found if what in ("", line.what) and (watches or line.attributes.verb != "watch")]

    def forget_requests(self) -> None:
        with self._lock:
            self.log.clear()

    def fault(self, **what: Any) -> Fault:
        return self.faults.add(Fault(**what))

    def note(self, line: Logged) -> None:
        with self._lock:
            self.log.append(line)


class _TurnedAway:
    """Accepts and closes connections while the double does not serve.

    Without a listener, or when one is closed, the kernel resets connections that are not accepted yet, and a client's `ssl`
    module (until Python 3.12) loses sight of a socket that is reset before its handshake: a ResourceWarning in some later test.
    """

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._stop.clear()
        self._thread = threading.Thread(target=self._run, name="api-server-away")
        self._thread.start()

    def stop(self) -> None:
        """End; what has connected until now is closed."""
        if self._thread is not None:
            self._stop.set()
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            while not self._stop.is_set():
                selector.select(0.02)
                with contextlib.suppress(OSError):
                    while True:
                        self._listener.accept()[0].close()


class _Server(ThreadingHTTPServer):
    daemon_threads = False

    def __init__(self, listener: socket.socket, double: ApiServer, context: ssl.SSLContext) -> None:
        self.double = double
        self.context = context
        super().__init__(listener.getsockname(), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener.dup()  # the listener outlives this server

    def get_request(self) -> tuple[socket.socket, Any]:
        raw, address = super().get_request()
        # The handshake happens at the first read, in the handler's own thread.
        return self.context.wrap_socket(raw, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, request: Any, client_address: Any) -> None:
        import sys

        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, OSError):
            self.double.unexpected.append(error)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        double = self.server.double
        double.remember(self.connection)
        if double.stopping.is_set():  # accepted just before; `cut_connections` may have been too early for it
            double.cut_connections()

    def finish(self) -> None:
        self.server.double.forget(self.connection)
        super().finish()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        pass

    def do_GET(self) -> None:
        self._serve("get")

    def do_POST(self) -> None:
        self._serve("create")

    def do_PATCH(self) -> None:
        self._serve("patch")

    def do_DELETE(self) -> None:
        self._serve("delete")

    # --- one request --------------------------------------------------------------------------------------------------

    def _serve(self, verb: str) -> None:
        double = self.server.double
        url = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length) if length else b""
        request, fault = None, None
        status = 200
        try:
            request = self._attributes(verb, url.path, query)
            resource = request.resource + ("/" + request.subresource if request.subresource else "")
            fault = double.faults.take(request.verb, resource, request.name)
            if fault is not None and fault.delay:
                double.stopping.wait(fault.delay)
            if fault is not None and (fault.status or fault.refuse or fault.drip):
                status = fault.status
                raise _Injected(fault)  # noqa: TRY301 - the way out of a request that a test spoils
            self._authorise(request)
            body = json.loads(raw) if raw else {}
            if request.verb == "watch":
                self._log(request, 200, None, query)
                self._watch(request, query)
                return
            answer = self._perform(request, body, query)
            status = 201 if verb == "create" else 200
            self._log(request, status, body, query)
            self._send(status, json.dumps(answer).encode(), cut=fault.cut if fault else -1)
        except _Injected as injected:
            self._log(request, injected.fault.status, _loads(raw), query)
            self._send_fault(injected.fault)
        except StatusError as error:
            self._log(request, error.code, _loads(raw), query)
            headers = {"Retry-After": str(error.retry_after)} if error.retry_after is not None else {}
            self._send(error.code, json.dumps(error.body).encode(), headers)

    def _log(self, request: Attributes | None, status: int, body: Any, query: dict[str, str]) -> None:
        if request is not None:
            content_type = self.headers.get("Content-Type") or ""
            self.server.double.note(Logged(time.monotonic(), request, status, content_type, body, query))

    def _attributes(self, verb: str, path: str, query: dict[str, str]) -> Attributes:
        """Parse the request's path: /api/v1/..., /apis/GROUP/VERSION/..."""
        user = self._user()
        parts = path.strip("/").split("/")
        group = "" if parts[0] == "api" else parts[1]
        rest = parts[2:] if parts[0] == "api" else parts[3:]
        namespace = ""
        if rest[0] == "namespaces" and len(rest) > 2:
            namespace, rest = rest[1], rest[2:]
        resource, name, subresource = [*rest, "", "", ""][:3]
        if verb == "get" and not name:
            verb = "watch" if query.get("watch") in ("1", "true") else "list"
        return Attributes(
            user=user,
            verb=verb,
            group=group,
            resource=resource,
            subresource=subresource,
            namespace=namespace,
            name=name,
        )

    def _user(self) -> str:
        double = self.server.double
        header = self.headers.get("Authorization") or ""
        kind, _, token = header.partition(" ")
        if kind.lower() == "bearer" and token in double.tokens:
            return double.tokens[token]
        try:
            certificate = self.connection.getpeercert() if isinstance(self.connection, ssl.SSLSocket) else None
        except ValueError as error:  # the double has cut this connection meanwhile
            raise ConnectionAbortedError from error
        if not header and certificate:
            subject: Any = certificate["subject"]
            return str(dict(entry[0] for entry in subject)["commonName"])
        raise StatusError(401, "Unauthorized", "Unauthorized")

    def _authorise(self, request: Attributes) -> None:
        double = self.server.double
        if double.rbac is None or double.rbac.allows(request):
            return
        text = f'{request.resource} "{request.name}" is forbidden: User "{request.user}" cannot {request.verb} resource'
        raise StatusError(403, "Forbidden", text)

    def _perform(self, request: Attributes, body: Json, query: dict[str, str]) -> Json:
        verbs = self.server.double.verbs
        key = (request.resource, request.namespace, request.name)
        if request.verb == "list":
            items, version = verbs.store.list(request.resource, request.namespace, _selector(query))
            return _page(items, version, query)
        if request.verb == "get":
            return verbs.get(key)
        if request.verb == "delete":
            return verbs.delete(key, body)
        if request.verb == "create" and request.subresource == "eviction":
            return verbs.evict(key, body)
        if request.verb == "create":
            return verbs.create(request.resource, request.namespace, body)
        self._restrict_node(request, body)
        content_type = self.headers.get("Content-Type") or ""
        return verbs.patch(key, request.subresource, content_type, body, query.get("fieldManager", "unknown"))

    def _restrict_node(self, request: Attributes, body: Json) -> None:
        """Admission NodeRestriction: a node may not change its own taints."""
        node = request.user.removeprefix("system:node:")
        if node != request.user and request.resource == "nodes" and "taints" in (body.get("spec") or {}):
            raise StatusError(403, "Forbidden", f'nodes "{node}" is forbidden: is not allowed to modify taints')

    # --- answers ------------------------------------------------------------------------------------------------------

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None, *, cut: int = -1) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body if cut < 0 else body[:cut])
        if cut >= 0:
            self._hang_up()

    def _send_fault(self, fault: Fault) -> None:
        if fault.refuse:
            self._hang_up()
            return
        if fault.drip:
            self._drip(fault.drip)
            return
        headers = {"Retry-After": fault.retry_after} if fault.retry_after else {}
        body = fault.body or json.dumps(StatusError(fault.status, "Injected", "injected by the test").body).encode()
        self._send(fault.status, body, headers)

    def _drip(self, what: str) -> None:
        self.close_connection = True
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n"
        with contextlib.suppress(OSError):
            self.wfile.write(head + (b"\r\n" if what == "body" else b"X-Long: "))
            while not self.server.double.stopping.wait(0.05):
                self.wfile.write(b" ")

    def _hang_up(self) -> None:
        self.close_connection = True
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)

    # --- watches ------------------------------------------------------------------------------------------------------

    def _watch(self, request: Attributes, query: dict[str, str]) -> None:
        double, store = self.server.double, self.server.double.store
        seen = int(query.get("resourceVersion") or 0) or store.version
        ends = time.monotonic() + float(query.get("timeoutSeconds") or 3600)
        bookmarks = query.get("allowWatchBookmarks") == "true"
        matches = _selector(query)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while not double.stopping.is_set():
            with store.changed:
                if seen < store.oldest:
                    gone = StatusError(410, "Expired", f"too old resource version: {seen} ({store.oldest})").body
                    self._chunk({"type": "ERROR", "object": gone})
                    break
                fresh = [change for change in store.history if change.version > seen]
                if not fresh and time.monotonic() < ends:
                    store.changed.wait(min(1.0, max(0.0, ends - time.monotonic())))
                    fresh = [change for change in store.history if change.version > seen]
            for change in fresh:
                seen = change.version
                self._watch_event(request, change, matches)
            if time.monotonic() >= ends:
                if bookmarks:
                    mark = {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": str(store.version)}}
                    self._chunk({"type": "BOOKMARK", "object": mark})
                break
        self.wfile.write(b"0\r\n\r\n")
        self.close_connection = double.stopping.is_set()

    def _watch_event(self, request: Attributes, change: Any, matches: Any) -> None:
        if change.key[0] != request.resource:
            return
        now = change.type != "DELETED" and matches(change.after)
        before = change.before is not None and matches(change.before)
        if now or before:
            kind = "DELETED" if not now else ("MODIFIED" if before else "ADDED")
            self._chunk({"type": kind, "object": change.after})

    def _chunk(self, event: Json) -> None:
        data = json.dumps(event).encode() + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


class _Injected(Exception):  # noqa: N818 - control flow of the double, not an error of its own
    def __init__(self, fault: Fault) -> None:
        super().__init__()
        self.fault = fault


def _selector(query: dict[str, str]) -> Any:
    wanted = dict(part.split("=", 1) for part in (query.get("fieldSelector") or "").split(",") if part)
    paths = {"spec.nodeName": ("spec", "nodeName"), "metadata.name": ("metadata", "name")}

    def matches(item: Json) -> bool:
        return all(item[paths[path][0]].get(paths[path][1]) == value for path, value in wanted.items())

    return matches


def _loads(raw: bytes) -> Any:
    return json.loads(raw) if raw else None


def _page(items: list[Json], version: int, query: dict[str, str]) -> Json:
    """One page of a list; the continue token is the place to go on and the version that the first page was read at."""
    start, _, first = (query.get("continue") or "").partition(":")
    begin, limit = int(start or 0), int(query.get("limit") or 0) or len(items)
    meta: Json = {"resourceVersion": first or str(version)}
    if begin + limit < len(items):
        meta["continue"] = f"{begin + limit}:{meta['resourceVersion']}"
        meta["remainingItemCount"] = len(items) - begin - limit
    return {"kind": "PodList", "apiVersion": "v1", "metadata": meta, "items": items[begin : begin + limit]}
