"""Reads and writes the Node object's conditions and taints, reads the node's lease, and lists nodes.

Conditions are written by strategic merge patches keyed by condition type: the request does not hold other writers' entries, so
no write can conflict. Taints have no merge key (`x-kubernetes-list-type: atomic`): the whole list is written together with the
`resourceVersion` at which it was read, and a 409 means that another writer has changed the node since.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote

from evictd.clients.kube.transport import MERGE_PATCH, STRATEGIC_PATCH, Reply, Transport
from evictd.codec.plain import Form, View
from evictd.codec.pods.slim_pods import FIELD_MANAGER
from evictd.codec.times import parse_time
from evictd.core.frozen import frozen
from evictd.core.model.problem import shown
from evictd.core.units.duration import MINUTE, SECOND
from evictd.errors import ApiUnavailableError, InputError, InvalidValueError

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
LEASE_DURATION = 40 * SECOND
"""The default of the kubelet's `nodeLeaseDurationSeconds`, for a lease without a duration."""
HEARTBEAT = 15 * MINUTE
"""Three times the kubelet's `nodeStatusReportFrequency`; used if there is no lease, or RBAC forbids reading it."""
PAGE = 500
"""Nodes in one page of a list."""

Taint = Mapping[str, str]
"""One entry of `spec.taints` with all its fields, because the whole list is written back."""


@frozen
class Condition:
    """A node condition of the API; times are RFC 3339 texts."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_heartbeat_time: str = ""
    last_transition_time: str = ""


@frozen
class NodeObject:
    """The parts of a Node object that evictd reads. `date` is the server's time of the response, in ns since 1970."""

    name: str
    uid: str
    conditions: Mapping[str, Condition]
    taints: tuple[Taint, ...]
    resource_version: str
    date: int | None
    kubelet_version: str = ""
    """`status.nodeInfo.kubeletVersion`, as `v1.36.2`; empty where no kubelet has reported it."""


@frozen
class Lease:
    """The node's lease: when a kubelet renewed it, by its clock, the server's time of the response, and its duration; in ns."""

    renewed_at: int
    date: int
    duration: int = LEASE_DURATION

    def held(self, wall: int) -> bool:
        """Whether the lease has not expired; its duration is the kubelet's setting (`nodeLeaseDurationSeconds`)."""
        return _is_recent(self.renewed_at, self.duration, (wall, self.date))


class NodeClient:
    """Reads and writes one node's objects, with one request per method.

    All methods raise `ApiUnavailableError` and `ApiRefusedError`.
    """

    def __init__(self, transport: Transport, name: str) -> None:
        self._transport = transport
        self._name = name
        self._path = f"/api/v1/nodes/{quote(name, safe='')}"

    def get(self) -> NodeObject:
        """Read the node; `ApiRefusedError` with status 404 if it does not exist."""
        return _node(self._transport.request("GET", self._path), self._name)

    def lease(self) -> Lease | None:
        """Read the node's lease; `None` if there is none or it was never renewed.

        Raises `ApiRefusedError` with status 403 if RBAC forbids reading it.
        """
        path = f"{LEASES}/{quote(self._name, safe='')}"
        reply = self._transport.request("GET", path, accept=frozenset({404}))
        date = _date(reply)
        if reply.absent("lease") or date is None:
            return None
        return _lease(reply.json(), date)

    def patch_conditions(self, conditions: Iterable[Condition], *, remove: Iterable[str] = ()) -> NodeObject:
        """Write only these conditions, and remove those of the types in `remove`; an empty transition time keeps the old one."""
        entries = [_present(_FORM.encode(Condition, condition)) for condition in conditions]
        entries += [{"type": name, "$patch": "delete"} for name in remove]
        return self._patch(f"{self._path}/status", {"status": {"conditions": entries}}, STRATEGIC_PATCH)

    def replace_taints(self, node: NodeObject, taints: Sequence[Taint]) -> NodeObject:
        """Replace the list of taints that `node` was read with.

        Raises `ApiRefusedError` with status 409 if the node has changed since.
        """
        body = {"metadata": {"resourceVersion": node.resource_version}, "spec": {"taints": [dict(t) for t in taints]}}
        return self._patch(self._path, body, MERGE_PATCH)

    def _patch(self, path: str, body: Mapping[str, Any], content_type: str) -> NodeObject:
        query = {"fieldManager": FIELD_MANAGER}
        reply = self._transport.request("PATCH", path, query=query, body=body, content_type=content_type)
        return _node(reply, self._name)


class NodeList:
    """Lists the nodes of a cluster, page by page. Raises `ApiUnavailableError` and `ApiRefusedError`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def all(self) -> Iterator[NodeObject]:
        """Yield every node."""
        rest = ""
        while True:
            query = {"limit": str(PAGE), **({"continue": rest} if rest else {})}
            reply = self._transport.request("GET", "/api/v1/nodes", query=query)
            try:
                page = reply.json()
                yield from (_node_of(item, _date(reply)) for item in page["items"])
                rest = page["metadata"].get("continue") or ""
            except (KeyError, TypeError, AttributeError, InputError) as error:
                raise ApiUnavailableError(f"the API server sent an invalid list of nodes: {error!r}") from error
            if not rest:
                return


def kubelet_reports(node: NodeObject, lease: Lease | None, wall: int) -> bool:
    """Whether a kubelet manages this node now: its lease has not expired, or it has recently written the Ready condition.

    A kubelet writes the time of its node, which is `wall`; where that clock was set in between, the server's time tells. A time
    to come is no evidence.

    `lease` is `None` if there is none, as in the first seconds of a new node, or if RBAC forbids reading it. The reasons of a
    kubelet's Ready condition begin with `Kubelet`, and the node controller sets the status to Unknown after the kubelet stops.
    Pressure conditions are no evidence: evictd may have written them.
    """
    if lease is not None:
        return lease.held(wall)
    ready = node.conditions.get("Ready")
    if ready is None or not ready.reason.startswith("Kubelet") or ready.status == "Unknown":
        return False
    if node.date is None or not ready.last_heartbeat_time:
        return False
    try:
        return _is_recent(parse_time(ready.last_heartbeat_time), HEARTBEAT, (wall, node.date))
    except InvalidValueError:
        return False


def _is_recent(time: int, limit: int, clocks: Iterable[int]) -> bool:
    return any(abs(clock - time) < limit for clock in clocks)


def _lease(raw: Any, date: int) -> Lease | None:
    try:
        spec = raw.get("spec") or {}
        renewed = spec.get("renewTime")
        if not renewed:
            return None
        duration = int(float(spec.get("leaseDurationSeconds") or 0) * SECOND) or LEASE_DURATION
        return Lease(renewed_at=parse_time(renewed), date=date, duration=duration)
    except (AttributeError, TypeError, ValueError, OverflowError, InvalidValueError) as error:
        raise ApiUnavailableError(f"the API server sent an invalid lease: {error!r}") from error


def _node(reply: Reply, name: str) -> NodeObject:
    """Read the Node of this name; another object without taints would have those of other writers removed."""
    raw = reply.json()
    try:
        kind = raw["kind"]
        node = _node_of(raw, _date(reply))
    except (KeyError, TypeError, AttributeError, InputError) as error:
        raise ApiUnavailableError(f"the API server sent an invalid node: {error!r}") from error
    if (kind, node.name) != ("Node", name):
        raise ApiUnavailableError(
            f"the API server sent an invalid node: it is the {shown(str(kind))} {shown(node.name)}"
        )
    return node


def _node_of(raw: Mapping[str, Any], date: int | None) -> NodeObject:
    conditions = (raw.get("status") or {}).get("conditions") or []
    taints = (raw.get("spec") or {}).get("taints") or []
    plain = {
        "name": raw["metadata"]["name"],
        "uid": raw["metadata"].get("uid", ""),
        "conditions": {entry["type"]: _present(entry) for entry in conditions},
        "taints": [{"key": taint["key"], "effect": taint["effect"], **taint} for taint in taints],
        "resourceVersion": raw["metadata"]["resourceVersion"],
        "kubeletVersion": ((raw.get("status") or {}).get("nodeInfo") or {}).get("kubeletVersion") or "",
    }
    node: NodeObject = _FORM.decode(NodeObject, plain, "node", date=date)
    return node


def _present(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if value}


_FORM = Form({NodeObject: View(apart=frozenset({"date"}))})


def _date(reply: Reply) -> int | None:
    """Return the time of the response in ns since 1970, which HTTP has in whole seconds."""
    try:
        date = parsedate_to_datetime(reply.date)
        return None if date.tzinfo is None else int(date.timestamp()) * SECOND
    except (ValueError, OverflowError):
        return None
