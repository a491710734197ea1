"""Sends requests to the API server and maps every failure to one of two errors.

`ApiUnavailableError`: no response, or a temporary one (408, 429, 5xx, 401); may be retried. `ApiRefusedError`: any other status,
which a retry would not change. Where the request reached the server (a status other than 401, or no response in time),
`ApiUnavailableError.reached` is true. Retries are up to the callers, except that a 401 is retried once with reloaded credentials;
that of a watch only reloads them. `deadline` bounds a request as a whole.

Types of `kubernetes` and `urllib3` do not leave this module.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

import urllib3

from evictd.clients.kube.credentials import Credentials
from evictd.clients.kube.deadline import POOLS, Deadline
from evictd.codec.pods.slim_pods import FIELD_MANAGER
from evictd.core.frozen import frozen
from evictd.errors import ApiRefusedError, ApiResponseTooLargeError, ApiUnavailableError

CONNECT_SECONDS = 5.0
READ_SECONDS = 10.0
"""The greatest time between two reads from the socket."""
WHOLE_SECONDS = 60.0
"""The greatest time of a request with its response; of a watch, until it is open."""
MAX_BODY = 24 * 2**20
"""Bytes of a response, which takes twice as many of memory; a list of pods is a few MiB, and a longer one is read in pages."""
LONGEST_RETRY_AFTER = 300
"""Seconds; the bound for a Retry-After, which a proxy in front of the API server may set to any value."""
_MOST_DIGITS = 9
MAX_WATCH_LINE = 16 * 2**20
"""Bytes of one watch event: etcd takes 1.5 MiB for a pod, of which JSON may write each byte as six (`\\u0001`)."""
_MESSAGE = 300
"""Characters kept of an error message."""
_FAULTS = (urllib3.exceptions.HTTPError, OSError, ValueError, OverflowError)
"""Exceptions of urllib3 and http.client; the last two for chunk sizes that are negative or have many digits."""

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"


@frozen
class Reply:
    """A response. `retry_after` is in seconds; `date` is the text of the Date header."""

    status: int
    data: bytes
    retry_after: int | None = None
    date: str = ""

    def json(self) -> Any:
        """Parse the body; raises `ApiUnavailableError` if it is truncated or not JSON."""
        try:
            return json.loads(self.data)
        except (ValueError, RecursionError) as error:
            raise ApiUnavailableError(f"the API server sent invalid JSON: {error}") from error

    def absent(self, what: str, *, reached: bool = False) -> bool:
        """Whether the API server says that the object does not exist.

        Raises `ApiUnavailableError` for the 404 of a proxy or another server, which says nothing about it.
        """
        if self.status == 404 and self.problem.get("reason") != "NotFound":
            raise ApiUnavailableError(f"{what}: 404 without the reason NotFound", reached=reached)
        return self.status == 404

    @property
    def problem(self) -> Mapping[str, Any]:
        """The JSON object of the body, such as the `Status` of a refusal; empty if there is none."""
        try:
            found = json.loads(self.data)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


@frozen
class _Request:
    """One request, by its path on the server."""

    method: str
    path: str
    query: Mapping[str, str] | None
    body: Mapping[str, Any] | None = None
    content_type: str = JSON

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Transport:
    """Sends requests to one API server; thread-safe."""

    def __init__(
        self,
        credentials: Credentials,
        *,
        read_seconds: float = READ_SECONDS,
        whole_seconds: float = WHOLE_SECONDS,
    ) -> None:
        self._whole_seconds = whole_seconds
        self._credentials = credentials
        self._timeout = urllib3.Timeout(connect=CONNECT_SECONDS, read=read_seconds)
        self._lock = threading.Lock()
        self._generation = -1
        self._pool: Any = None
        self.rejected = False
        """Whether the server's last response was a 401, with reloaded credentials too."""

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        content_type: str = JSON,
        accept: frozenset[int] = frozenset(),
    ) -> Reply:
        """Send one request; a status below 300 or in `accept` is returned, any other raises an error."""
        request = _Request(method=method, path=path, query=query, body=body, content_type=content_type)
        reply = self._send(request)
        if reply.status == 401:
            self._credentials.reload()
            reply = self._send(request)
        self.rejected = reply.status == 401
        if reply.status < 300 or reply.status in accept:
            return reply
        raise error_of(reply, str(request))

    def stream(self, path: str, *, query: Mapping[str, str], idle_seconds: float) -> "LineStream":
        """Open a watch. Without data for `idle_seconds` the connection counts as lost."""
        timeout = urllib3.Timeout(connect=CONNECT_SECONDS, read=idle_seconds)
        request = _Request(method="GET", path=path, query=query)
        with self._bounded(request):
            response = self._open(request, timeout)
            if response.status < 300:
                return LineStream(response)
            try:
                if response.status == 401:
                    self._credentials.reload()
                raise error_of(_reply(response), str(request))
            except _FAULTS as error:
                raise ApiUnavailableError(f"{request}: {error}"[:_MESSAGE]) from error
            finally:
                response.close()

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            if self._pool is not None:
                self._pool.clear()

    @contextmanager
    def _bounded(self, request: _Request) -> Iterator[None]:
        """Bound the time of a request with its response; of a watch, the time until the server has opened or refused it."""
        late = f"{request}: no complete response within {self._whole_seconds:g} s"
        with Deadline(self._whole_seconds) as deadline:
            try:
                yield
            except ApiUnavailableError as error:
                if deadline.over:
                    raise ApiUnavailableError(late, reached=True) from error
                raise
            if deadline.over:  # a response without a Content-Length ends with its connection, and looks complete
                raise ApiUnavailableError(late, reached=True)

    def _send(self, request: _Request) -> Reply:
        with self._bounded(request):
            response = self._open(request, self._timeout)
            try:
                return _reply(response)
            except _FAULTS as error:
                response.close()
                raise ApiUnavailableError(f"{request}: {error}"[:_MESSAGE]) from error
            finally:
                response.release_conn()

    def _open(self, request: _Request, timeout: urllib3.Timeout) -> Any:
        manager, access = self._manager(), self._credentials.access
        try:
            headers = {"Accept": JSON, "User-Agent": FIELD_MANAGER, **access.headers()}
        except Exception as error:  # whatever a credential plugin of a kubeconfig raises
            text = f"{request}: the credential cannot be renewed: {error!r}"
            raise ApiUnavailableError(text[:_MESSAGE]) from error
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        url = access.host + request.path + ("?" + urlencode(request.query) if request.query else "")
        try:
            return manager.request(
                request.method,
                url,
                headers=headers,
                body=json.dumps(request.body).encode() if request.body is not None else None,
                timeout=timeout,
                retries=False,
                preload_content=False,
            )
        except _FAULTS as error:
            reached = isinstance(error, urllib3.exceptions.ReadTimeoutError)
            raise ApiUnavailableError(f"{request}: {error}"[:_MESSAGE], reached=reached) from error

    def _manager(self) -> Any:
        """Return the connection pool; a new one after the credentials have changed."""
        self._credentials.refresh()
        with self._lock:
            if self._generation != self._credentials.generation:
                old, self._pool = self._pool, self._credentials.access.make_pool()
                self._pool.pool_classes_by_scheme = POOLS
                self._generation = self._credentials.generation
                if old is not None:
                    old.clear()
            return self._pool


def error_of(reply: Reply, what: str) -> ApiUnavailableError | ApiRefusedError:
    """Map a failed response to its error (module docstring)."""
    problem = reply.problem
    text = f"{what}: {reply.status} {problem.get('message') or reply.data[:_MESSAGE].decode(errors='replace')}"[
        :_MESSAGE
    ]
    if reply.status == 401:  # it may be retried: a rotated token may appear at any moment
        return ApiUnavailableError(f"the API server rejects evictd's credentials: {text}")
    if reply.status == 429 or reply.status >= 500 or reply.status == 408:
        return ApiUnavailableError(text, retry_after_seconds=reply.retry_after, reached=True)
    return ApiRefusedError(text, status=reply.status, reason=str(problem.get("reason") or ""))


def _reply(response: Any) -> Reply:
    data = response.read(MAX_BODY)
    if len(data) >= MAX_BODY:
        response.close()
        raise ApiResponseTooLargeError(f"the API server's response is longer than {MAX_BODY} bytes")
    return Reply(
        status=response.status,
        data=data,
        retry_after=_retry_after(response.headers.get("Retry-After") or ""),
        date=response.headers.get("Date") or "",
    )


def _retry_after(text: str) -> int | None:
    """Return the seconds, at most `LONGEST_RETRY_AFTER`; `int` refuses more than some thousand digits."""
    if not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0") or "0"
    return LONGEST_RETRY_AFTER if len(digits) > _MOST_DIGITS else min(int(digits), LONGEST_RETRY_AFTER)


class LineStream:
    """Iterates over the lines of a watch until the server ends it; for one iteration."""

    def __init__(self, response: Any) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        rest = bytearray()
        try:
            for chunk in self._response.stream(64 * 1024, decode_content=False):
                rest += chunk
                if b"\n" in chunk:
                    *lines, rest = rest.split(b"\n")
                    yield from (bytes(line) for line in lines if line)
                if len(rest) > MAX_WATCH_LINE:
                    raise ApiResponseTooLargeError(f"watch: a line is longer than {MAX_WATCH_LINE} bytes")
            if rest:  # a server ends each event with a newline: this one is cut, or no event at all
                yield bytes(rest)
        except _FAULTS as error:
            raise ApiUnavailableError(f"watch: {error}"[:_MESSAGE]) from error
        finally:
            self._response.close()

    def close(self) -> None:
        """Close the connection, to stop iterating early."""
        self._response.close()

    def abort(self) -> None:
        """End the iteration from another thread."""
        try:
            self._response.shutdown()
        except (OSError, ValueError):
            return  # closed already
