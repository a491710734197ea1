"""Sends requests to an API server for tests, the double or a real one; knows nothing of evictd's own client."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import urllib3

from tests.kube.store import Json

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer of the API server."""

    status: int
    body: Json
    headers: Mapping[str, str]

    @property
    def message(self) -> str:
        """The `Status` object's words."""
        return str(self.body.get("message", ""))


class Admin:
    """One identity's requests."""

    def __init__(self, url: str, ca: Path, token: str) -> None:
        self._url = url
        self._pool = urllib3.PoolManager(ca_certs=str(ca), retries=False, timeout=urllib3.Timeout(30))
        self._headers = {"Authorization": f"Bearer {token}", "User-Agent": "test"}

    def request(self, method: str, path: str, body: Json | list[Any] | None = None, kind: str = "") -> Answer:
        """Send one request; an answer of any status is given back."""
        headers = {**self._headers, "Content-Type": kind or (MERGE_PATCH if method == "PATCH" else "application/json")}
        reply = self._pool.request(
            method, self._url + path, headers=headers, body=None if body is None else json.dumps(body)
        )
        try:
            parsed = json.loads(reply.data)
        except ValueError:
            parsed = {"message": reply.data.decode(errors="replace")}
        return Answer(reply.status, parsed, reply.headers)

    def must(self, method: str, path: str, body: Json | None = None, kind: str = "") -> Json:
        """Send one request that has to succeed, and give its answer's body."""
        answer = self.request(method, path, body, kind)
        assert answer.status < 300, f"{method} {path}: {answer.status} {answer.message}"
        return answer.body

    def printed(self, path: str) -> Json:
        """Return the columns of `kubectl get` for one object, which the server fills."""
        table = "application/json;as=Table;v=v1;g=meta.k8s.io"
        reply = self._pool.request("GET", self._url + path, headers={**self._headers, "Accept": table})
        found = json.loads(reply.data)
        names = [each["name"] for each in found["columnDefinitions"]]
        return dict(zip(names, found["rows"][0]["cells"], strict=True))

    def close(self) -> None:
        """Close the idle connections."""
        self._pool.clear()
