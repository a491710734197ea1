"""The real control plane as an `Api`: objects through its administrator, the log of evictd's requests from the audit log."""

import copy
import json
import threading
import uuid
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.cluster import objects
from tests.cluster.control_plane import ControlPlane
from tests.kube.admin import Admin
from tests.kube.api_server import Logged
from tests.kube.rbac import Attributes
from tests.kube.store import Json, Key
from tests.kube.waiting import eventually

FOLDERS = {
    "nodes": "/api/v1/nodes",
    "pods": "/api/v1/namespaces/{}/pods",
    "events": "/apis/events.k8s.io/v1/namespaces/{}/events",
    "leases": "/apis/coordination.k8s.io/v1/namespaces/{}/leases",
}
EVERYWHERE = {"pods": "/api/v1/pods", "events": "/apis/events.k8s.io/v1/events", "nodes": "/api/v1/nodes"}
USER = "evictd"
_SERVERS_OWN = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "deletionTimestamp")


class RealObjects:
    """The server's objects; each call is a request of the administrator."""

    def __init__(self, plane: ControlPlane) -> None:
        self._admin = plane.admin
        self.changed = threading.RLock()

    def get(self, key: Key) -> Json | None:
        answer = self._admin.request("GET", _path(key))
        return answer.body if answer.status == 200 else None

    def list(
        self, resource: str, namespace: str = "", where: Callable[[Json], bool] = lambda _: True
    ) -> tuple[list[Json], int]:
        folder = FOLDERS[resource].format(namespace) if namespace else EVERYWHERE[resource]
        found = self._admin.must("GET", folder)
        return [item for item in found["items"] if where(item)], int(found["metadata"]["resourceVersion"])

    def create(self, resource: str, item: Json) -> Json:
        """Create an object with its status, as if it had been there; the server chooses its uid.

        Of `managedFields` the last manager is kept: the status is written in its name.
        """
        manager = (item["metadata"].get("managedFields") or [{"manager": "test"}])[-1]["manager"]
        item = copy.deepcopy(item)
        meta = {name: value for name, value in item["metadata"].items() if name not in _SERVERS_OWN}
        key = (resource, meta.get("namespace", ""), meta["name"])
        made = self._admin.must("POST", FOLDERS[resource].format(key[1]), {**item, "metadata": meta})
        if resource == "nodes":  # admission has put a taint there
            made = self._admin.must("PATCH", _path(key), {"spec": {"taints": item["spec"].get("taints", [])}})
        if "status" in item:
            body = {**made, "status": item["status"]}
            made = self._admin.must("PUT", f"{_path(key)}/status?fieldManager={manager}", body)
        return made

    def update(self, key: Key, change: Callable[[Json], Any]) -> Json:
        """Change an object and its status; both are written only where they changed, and again after a conflict."""
        while True:
            before = self._admin.must("GET", _path(key))
            wanted = copy.deepcopy(before)
            change(wanted)
            answers = []
            if {**wanted, "status": None} != {**before, "status": None}:
                answers.append(self._admin.request("PUT", _path(key), wanted))
            if wanted.get("status") != before.get("status"):
                body = {**(answers[-1].body if answers else before), "status": wanted["status"]}
                answers.append(self._admin.request("PUT", f"{_path(key)}/status", body))
            if all(answer.status == 200 for answer in answers):
                return answers[-1].body if answers else before
            assert any(answer.status == 409 for answer in answers), [answer.message for answer in answers]

    def remove(self, key: Key) -> Json:
        found = self._admin.must("GET", _path(key))
        objects.remove(self._admin, _path(key))
        return found


class RealApi:
    """One test's view of the session's control plane."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self.store = RealObjects(plane)
        self._client = plane.client(USER)
        self._from = plane.audit_log.stat().st_size if plane.audit_log.exists() else 0

    def kubeconfig(self) -> Path:
        """For evictd; its user is the one whose requests are in the log."""
        return self._plane.kubeconfig(USER)

    @property
    def client(self) -> Admin:
        """A client of the same user."""
        return self._client

    def budget(self, name: str, labels: dict[str, str], allowed: int | None) -> None:
        """Set how many disruptions a budget allows; `None`: its controller has not processed it yet."""
        objects.budget(self._plane.admin, name, labels, allowed)

    def forget_requests(self) -> None:
        """Count from here."""
        self._marked()
        self._from = self._plane.audit_log.stat().st_size

    def requests(self, what: str = "", *, watches: bool = True) -> list[Logged]:
        """Evictd's requests in the audit log, or those that read like `patch nodes/status`."""
        lines = (json.loads(line) for line in self._marked())
        # A watch is in the log when it opens, and again when it ends.
        found = [
            _logged(line)
            for line in lines
            if line["user"]["username"] == USER
            and line["stage"] == ("ResponseStarted" if line["verb"] == "watch" else "ResponseComplete")
        ]
        return [line for line in found if what in ("", line.what) and (watches or line.attributes.verb != "watch")]

    def _marked(self) -> list[str]:
        """Return the complete lines of the log, up to a request sent now."""
        mark = uuid.uuid4().hex
        self._plane.admin.request("GET", f"/version?mark={mark}")
        eventually(lambda: mark in self._text())
        return self._text().splitlines()

    def _text(self) -> str:
        with self._plane.audit_log.open("rb") as log:
            log.seek(self._from)
            return log.read().rpartition(b"\n")[0].decode()

    def clean(self) -> None:
        """Remove what a test may have left."""
        for resource, folder in EVERYWHERE.items():
            for item in self._plane.admin.must("GET", folder)["items"]:
                meta = item["metadata"]
                objects.remove(self._plane.admin, _path((resource, meta.get("namespace", ""), meta["name"])))
        for folder in (FOLDERS["leases"].format("kube-node-lease"), objects.BUDGETS):
            for item in self._plane.admin.must("GET", folder)["items"]:
                objects.remove(self._plane.admin, f"{folder}/{item['metadata']['name']}")

    def close(self) -> None:
        """Remove what the test made, and the client's connections."""
        self.clean()
        self._client.close()


def _path(key: Key) -> str:
    return f"{FOLDERS[key[0]].format(key[1])}/{key[2]}"


def _logged(line: Json) -> Logged:
    about = line.get("objectRef", {})
    attributes = Attributes(
        user=line["user"]["username"],
        verb=line["verb"],
        group=about.get("apiGroup", ""),
        resource=about.get("resource", ""),
        subresource=about.get("subresource", ""),
        namespace=about.get("namespace", ""),
        name=about.get("name", ""),
    )
    return Logged(
        at=datetime.fromisoformat(line["requestReceivedTimestamp"]).timestamp(),
        attributes=attributes,
        status=line.get("responseStatus", {}).get("code", 0),
        content_type="",
        body=line.get("requestObject"),
        query=dict(parse_qsl(urlsplit(line["requestURI"]).query)),
    )
