"""Events through events.k8s.io/v1: one is created, its repetitions are counted on it as a series.

The `note` is cut to what the API takes. Annotations carry what the kubelet's `Evicted` event carries (spec 6.2).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from evictd.clients.kube.transport import MERGE_PATCH, Transport
from evictd.codec.slim_pods import FIELD_MANAGER

NOTE_BYTES = 1024
"""The API's limit for `note`."""
CONTROLLER = "evictd.io/evictd"


@dataclass(frozen=True, slots=True, kw_only=True)
class Regarding:
    """What an event is about. A node is meant by name, without a uid, as the kubelet does."""

    kind: str
    name: str
    namespace: str = ""
    uid: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event, or a series of the same."""

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

    def create(self, event: Event, name: str, time: str) -> None:
        """Write a new event under this name; `time` with microseconds. A name that exists already is taken for ours."""
        body = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": _namespace(event), "annotations": dict(event.annotations)},
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

    def count(self, event: Event, name: str, count: int, time: str) -> bool:
        """Say that it happened `count` times, last at `time`; False where the event is gone."""
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
    """Cut a text to so many bytes of UTF-8, never inside a character."""
    raw = text.encode()
    return text if len(raw) <= limit else raw[:limit].decode(errors="ignore")


def _namespace(event: Event) -> str:
    """Events about a node live in `default`, as the kubelet's do."""
    return event.regarding.namespace or "default"


def _path(event: Event) -> str:
    return f"/apis/events.k8s.io/v1/namespaces/{quote(_namespace(event), safe='')}/events"


def _reference(about: Regarding) -> dict[str, Any]:
    fields = {
        "apiVersion": "v1",
        "kind": about.kind,
        "name": about.name,
        "namespace": about.namespace,
        "uid": about.uid,
    }
    return {name: value for name, value in fields.items() if value}
