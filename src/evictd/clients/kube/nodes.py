"""The node's own object: who reports on it, its conditions and its taints.

Writes are strategic merge patches keyed by condition type and taint key, so that nobody else's entries are ever read, carried
along or overwritten, and no write can conflict.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote

from evictd.clients.kube.transport import STRATEGIC_PATCH, Reply, Transport
from evictd.codec.slim_pods import FIELD_MANAGER
from evictd.errors import ApiUnavailableError

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
LEASE_SECONDS = 40
"""The kubelet's `nodeLeaseDurationSeconds`; an older lease is nobody's."""
HEARTBEAT_SECONDS = 15 * 60
"""Three times the kubelet's `nodeStatusReportFrequency`; used where the lease may not be read."""
NO_SCHEDULE = "NoSchedule"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A node condition as the API holds it; times as the API writes them."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_heartbeat_time: str = ""
    last_transition_time: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What of a Node object matters here. `date` is the server's clock when it answered."""

    name: str
    uid: str
    conditions: Mapping[str, Condition]
    taints: frozenset[str]
    """`key:effect`."""
    date: datetime | None


class NodeClient:
    """Reads and writes one node's object; one request per call."""

    def __init__(self, transport: Transport, name: str) -> None:
        self._transport = transport
        self._name = name
        self._path = f"/api/v1/nodes/{quote(name, safe='')}"

    def get(self) -> Node:
        """Read the node; 404 is refused with `ApiRefusedError`."""
        return _node(self._transport.request("GET", self._path))

    def lease_age_seconds(self) -> float | None:
        """Tell how long ago a kubelet renewed the node's lease, by the server's own clock.

        `None`: there is no lease. Raises `ApiRefusedError` (403) where it may not be read.
        """
        path = f"{LEASES}/{quote(self._name, safe='')}"
        reply = self._transport.request("GET", path, accept=frozenset({404}))
        date = _date(reply)
        if reply.status == 404 or date is None:
            return None
        renewed = (reply.json().get("spec") or {}).get("renewTime")
        return (date - datetime.fromisoformat(renewed)).total_seconds() if renewed else None

    def patch_conditions(self, conditions: Iterable[Condition]) -> Node:
        """Write these conditions and no others; an empty transition time keeps the one that is there."""
        entries = [_present(condition) for condition in conditions]
        return self._patch(f"{self._path}/status", {"status": {"conditions": entries}})

    def patch_taints(self, *, add: Iterable[str], remove: Iterable[str]) -> Node:
        """Add and remove NoSchedule taints by key; other keys are not touched."""
        entries: list[dict[str, str]] = [{"key": key, "effect": NO_SCHEDULE} for key in add]
        entries += [{"$patch": "delete", "key": key} for key in remove]
        return self._patch(self._path, {"spec": {"taints": entries}})

    def _patch(self, path: str, body: Mapping[str, Any]) -> Node:
        query = {"fieldManager": FIELD_MANAGER}
        return _node(self._transport.request("PATCH", path, query=query, body=body, content_type=STRATEGIC_PATCH))


def kubelet_reports(node: Node, lease_age: float | None, *, lease_known: bool) -> bool:
    """Whether a kubelet manages this node now: its lease is fresh, or it has lately written the Ready condition.

    Its reasons begin with `Kubelet`, and the node controller turns the status to Unknown when it is gone. The pressure
    conditions tell nothing: they may be evictd's own work.
    """
    if lease_known:
        return lease_age is not None and lease_age < LEASE_SECONDS
    ready = node.conditions.get("Ready")
    if ready is None or not ready.reason.startswith("Kubelet") or ready.status == "Unknown":
        return False
    if node.date is None or not ready.last_heartbeat_time:
        return False
    age = node.date - datetime.fromisoformat(ready.last_heartbeat_time)
    return age.total_seconds() < HEARTBEAT_SECONDS


def _node(reply: Reply) -> Node:
    raw = reply.json()
    try:
        conditions = (raw.get("status") or {}).get("conditions") or []
        taints = (raw.get("spec") or {}).get("taints") or []
        return Node(
            name=raw["metadata"]["name"],
            uid=raw["metadata"].get("uid", ""),
            conditions={entry["type"]: _condition(entry) for entry in conditions},
            taints=frozenset(f"{taint['key']}:{taint['effect']}" for taint in taints),
            date=_date(reply),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ApiUnavailableError(f"the API server sent no node: {error!r}") from error


def _condition(entry: Mapping[str, Any]) -> Condition:
    return Condition(
        type=entry["type"],
        status=entry["status"],
        reason=entry.get("reason") or "",
        message=entry.get("message") or "",
        last_heartbeat_time=entry.get("lastHeartbeatTime") or "",
        last_transition_time=entry.get("lastTransitionTime") or "",
    )


def _present(condition: Condition) -> dict[str, str]:
    fields = {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastHeartbeatTime": condition.last_heartbeat_time,
        "lastTransitionTime": condition.last_transition_time,
    }
    return {name: value for name, value in fields.items() if value}


def _date(reply: Reply) -> datetime | None:
    try:
        return parsedate_to_datetime(reply.date)
    except ValueError:
        return None
