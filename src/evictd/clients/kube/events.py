"""Writes events through events.k8s.io/v1: one event is created, and its repetitions are counted in its series.

The `note` is truncated to the API's limit. Annotations are those of the kubelet's `Evicted` event.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any
from urllib.parse import quote

from evictd.clients.kube.transport import MERGE_PATCH, Transport
from evictd.codec.plain import Form
from evictd.codec.pods.slim_pods import FIELD_MANAGER
from evictd.core.frozen import frozen

NOTE_BYTES = 1024
"""Bytes; the API's limit for `note`."""
ANNOTATION_BYTES = 4096
"""Bytes of one annotation; the limit of `deploy/base/admission-policy.yaml`."""
CONTROLLER = "evictd.io/evictd"


@frozen
class Regarding:
    """The object of an event. A node is referred to by name only, without a uid, as in the kubelet's events."""

    kind: str
    name: str
    namespace: str = ""
    uid: str = ""
    api_version: str = "v1"


@frozen
class KubeEvent:
    """One event, or a series of equal ones; `type` is `Normal` or `Warning`."""

    regarding: Regarding
    type: str
    reason: str
    note: str
    annotations: Mapping[str, str] = field(default_factory=dict)


class EventClient:
    """Writes events; one request per call. Raises `ApiUnavailableError` and `ApiRefusedError`."""

    def __init__(self, transport: Transport, node_name: str) -> None:
        self._transport = transport
        self._node = node_name

    def create(self, event: KubeEvent, name: str, time: str) -> None:
        """Create an event named `name`; `time` is RFC 3339 with microseconds.

        A 409 counts as success: the name is unique to evictd, so an earlier attempt has created the event.
        """
        annotations = {key: cut(value, ANNOTATION_BYTES) for key, value in event.annotations.items()}
        body = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": _namespace(event), "annotations": annotations},
            "eventTime": time,
            "reportingController": CONTROLLER,
            "reportingInstance": f"evictd-{self._node}"[:128],
            "action": _ACTIONS.get(event.reason, "Reporting"),
            "reason": event.reason,
            "regarding": _reference(event.regarding),
            "note": cut(event.note, NOTE_BYTES),
            "type": event.type,
        }
        query = {"fieldManager": FIELD_MANAGER}
        self._transport.request("POST", _path(event), query=query, body=body, accept=frozenset({409}))

    def count(self, event: KubeEvent, name: str, count: int, time: str) -> bool:
        """Set the event's series to `count` occurrences, the last at `time`; returns False if the event no longer exists."""
        body = {"series": {"count": count, "lastObservedTime": time}}
        reply = self._transport.request(
            "PATCH",
            f"{_path(event)}/{quote(name, safe='')}",
            query={"fieldManager": FIELD_MANAGER},
            body=body,
            content_type=MERGE_PATCH,
            accept=frozenset({404}),
        )
        return reply.status != 404


_ACTIONS = {"Evicted": "Evicting", "EvictionThresholdMet": "Reclaiming", "FreeDiskSpaceFailed": "Reclaiming"}


def cut(text: str, limit: int) -> str:
    """Truncate a text to `limit` bytes of UTF-8, at the end of a character."""
    raw = text.encode()
    return text if len(raw) <= limit else raw[:limit].decode(errors="ignore")


def _namespace(event: KubeEvent) -> str:
    """Return the event's namespace; events about a node are in `default`, as the kubelet's."""
    return event.regarding.namespace or "default"


def _path(event: KubeEvent) -> str:
    return f"/apis/events.k8s.io/v1/namespaces/{quote(_namespace(event), safe='')}/events"


def _reference(about: Regarding) -> dict[str, Any]:
    return {name: value for name, value in _FORM.encode(Regarding, about).items() if value}


_FORM = Form({})
