"""One request to the API server: bytes there, bytes back, every failure turned into one of two errors.

`ApiUnavailableError`: no answer, or "later" (429 without a budget's name, 5xx, 401); worth trying again. `ApiRefusedError`: an
answer that will not change by asking again. Retrying is the caller's business; the one exception is a 401, which is tried
once more with freshly read credentials. Types of `kubernetes` and `urllib3` end in this file.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import urllib3
from kubernetes.client.rest import RESTClientObject

from evictd.clients.kube.credentials import Credentials, unauthorized
from evictd.clients.kube.deadline import POOLS, Deadline
from evictd.codec.slim_pods import FIELD_MANAGER
from evictd.errors import ApiRefusedError, ApiUnavailableError

CONNECT_SECONDS = 5.0
READ_SECONDS = 10.0
"""From one byte to the next."""
WHOLE_SECONDS = 60.0
"""For a whole request, its answer included; a watch has no such bound."""
MAX_BODY = 64 * 2**20
"""Nothing is read beyond this; a page of pods is a few MiB."""
LONGEST_RETRY_AFTER = 300
"""Seconds; whoever answers in the API server's place does not silence evictd for a day."""
MAX_WATCH_LINE = 8 * 2**20
_MESSAGE = 300

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer. `retry_after` in seconds; `date` is the server's own clock, as the header says it."""

    status: int
    data: bytes
    retry_after: int | None = None
    date: str = ""

    def json(self) -> Any:
        """Give the body as plain values; raises `ApiUnavailableError` where it is cut short or no JSON."""
        try:
            return json.loads(self.data)
        except (ValueError, RecursionError) as error:
            raise ApiUnavailableError(f"the API server sent no JSON: {error}") from error

    @property
    def problem(self) -> Mapping[str, Any]:
        """The `Status` object of a refusal; empty where there is none."""
        try:
            found = json.loads(self.data)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


class Transport:
    """Speaks to one API server, from any thread."""

    def __init__(
        self,
        credentials: Credentials,
        *,
        connect_seconds: float = CONNECT_SECONDS,
        read_seconds: float = READ_SECONDS,
        whole_seconds: float = WHOLE_SECONDS,
    ) -> None:
        self._whole_seconds = whole_seconds
        self._credentials = credentials
        self._timeout = urllib3.Timeout(connect=connect_seconds, read=read_seconds)
        self._connect_seconds = connect_seconds
        self._lock = threading.Lock()
        self._generation = -1
        self._rest: Any = None

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
        """Send one request; statuses in `accept` come back as a reply, other failures as an error."""
        reply = self._send(method, path, query, body, content_type)
        if reply.status == 401:
            self._credentials.reload()
            reply = self._send(method, path, query, body, content_type)
        if reply.status < 300 or reply.status in accept:
            return reply
        raise error_of(reply, f"{method} {path}")

    def stream(self, path: str, *, query: Mapping[str, str], idle_seconds: float) -> "LineStream":
        """Open a watch. Silence for longer than `idle_seconds` counts as a dead connection."""
        timeout = urllib3.Timeout(connect=self._connect_seconds, read=idle_seconds)
        response = self._open("GET", path, query, None, JSON, timeout=timeout)
        if response.status < 300:
            return LineStream(response)
        try:
            if response.status == 401:
                self._credentials.reload()
            raise error_of(_reply(response), f"GET {path}")
        except urllib3.exceptions.HTTPError as error:
            raise ApiUnavailableError(f"GET {path}: {error}"[:_MESSAGE]) from error
        finally:
            response.close()

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            if self._rest is not None:
                self._rest.pool_manager.clear()

    def _send(
        self, method: str, path: str, query: Mapping[str, str] | None, body: Mapping[str, Any] | None, content_type: str
    ) -> Reply:
        with Deadline(self._whole_seconds) as deadline:
            late = f"{method} {path}: no whole answer within {self._whole_seconds:g} s"
            try:
                reply = self._answered(method, path, query, body, content_type)
            except ApiUnavailableError as error:
                if deadline.over:
                    raise ApiUnavailableError(late) from error
                raise
            if deadline.over:  # an answer of no stated length ends with its connection, and looks whole
                raise ApiUnavailableError(late)
            return reply

    def _answered(
        self, method: str, path: str, query: Mapping[str, str] | None, body: Mapping[str, Any] | None, content_type: str
    ) -> Reply:
        response = self._open(method, path, query, body, content_type, timeout=self._timeout)
        try:
            return _reply(response)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            response.close()
            raise ApiUnavailableError(f"{method} {path}: {error}"[:_MESSAGE]) from error
        finally:
            response.release_conn()

    def _open(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: Mapping[str, Any] | None,
        content_type: str,
        *,
        timeout: urllib3.Timeout,
    ) -> Any:
        manager = self._manager()
        headers = {"Accept": JSON, "User-Agent": FIELD_MANAGER, **self._credentials.headers()}
        if body is not None:
            headers["Content-Type"] = content_type
        url = self._credentials.host + path + ("?" + urlencode(query) if query else "")
        try:
            return manager.request(
                method,
                url,
                headers=headers,
                body=json.dumps(body).encode() if body is not None else None,
                timeout=timeout,
                retries=False,
                preload_content=False,
            )
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            raise ApiUnavailableError(f"{method} {path}: {error}"[:_MESSAGE]) from error

    def _manager(self) -> Any:
        """Give the connection pool; a new one when the credentials have changed."""
        self._credentials.refresh()
        with self._lock:
            if self._generation != self._credentials.generation:
                old, self._rest = self._rest, RESTClientObject(self._credentials.configuration)
                self._rest.pool_manager.pool_classes_by_scheme = POOLS
                self._generation = self._credentials.generation
                if old is not None:
                    old.pool_manager.clear()
            return self._rest.pool_manager


def error_of(reply: Reply, what: str) -> ApiUnavailableError | ApiRefusedError:
    """Turn an answer into the error it stands for."""
    problem = reply.problem
    text = f"{what}: {reply.status} {problem.get('message') or reply.data[:_MESSAGE].decode(errors='replace')}"[
        :_MESSAGE
    ]
    if reply.status == 401:
        return unauthorized(text)
    if reply.status == 429 or reply.status >= 500 or reply.status == 408:
        return ApiUnavailableError(text, retry_after_seconds=reply.retry_after)
    return ApiRefusedError(text, status=reply.status, reason=str(problem.get("reason") or ""))


def _reply(response: Any) -> Reply:
    data = response.read(MAX_BODY)
    if len(data) >= MAX_BODY:
        response.close()
        raise ApiUnavailableError(f"the API server's answer is longer than {MAX_BODY} bytes")
    after = response.headers.get("Retry-After") or ""
    return Reply(
        status=response.status,
        data=data,
        retry_after=min(int(after), LONGEST_RETRY_AFTER) if after.isascii() and after.isdigit() else None,
        date=response.headers.get("Date") or "",
    )


class LineStream:
    """The lines of a watch, until the server ends it; iterate once."""

    def __init__(self, response: Any) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        rest = b""
        try:
            for chunk in self._response.stream(64 * 1024, decode_content=False):
                *lines, rest = (rest + chunk).split(b"\n")
                yield from (line for line in lines if line)
                if len(rest) > MAX_WATCH_LINE:
                    raise ApiUnavailableError("the API server sends a line without an end")
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            raise ApiUnavailableError(f"watch: {error}"[:_MESSAGE]) from error
        finally:
            self._response.close()

    def close(self) -> None:
        """Close the connection; for whoever stops iterating early."""
        self._response.close()

    def abort(self) -> None:
        """End it from another thread."""
        try:
            self._response.shutdown()
        except (OSError, ValueError):
            return  # closed already
