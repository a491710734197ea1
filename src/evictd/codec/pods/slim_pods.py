"""Decodes the API server's lists and watch events of a node's pods.

The JSON bytes are scanned once, and only the declared fields are built, which keeps a list of a thousand pods cheap. A part of a
pod that cannot be read is absent and its path is recorded; a pod without a name or uid is left out. One malformed object thus
never hides the others. Every pod has its object's own uid. `codec.pods.mirrors` decides which ones are mirrors of static pods,
because any pod's author can write the annotations.
"""

from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from itertools import islice
from typing import Any

import msgspec

from evictd.codec.pods.lenient import plain_values, readable
from evictd.codec.pods.pod import CONFIG_MIRROR, pod_of
from evictd.codec.pods.pod_wire import WireListMeta, WireMetadata, WirePod, WirePodStatus, WireStruct
from evictd.core.frozen import frozen
from evictd.core.model.pod import MOST_LABELS, Pod, PodSource
from evictd.core.model.problem import shown
from evictd.errors import InputError

POD_LIST = "PodList"
FIELD_MANAGER = "evictd"
"""evictd's name in `metadata.managedFields`, by which it recognises its own writes after a restart."""


_REJECTED = ("Pod was rejected: ", "Pod The node had condition: ")
"""Beginnings of the kubelet's message about a pod that it rejects (`rejectPod`, today and before 1.26)."""
_DISRUPTION = "DisruptionTarget"


class WatchType(Enum):
    """The type of a watch event."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    ERROR = "ERROR"


@frozen
class SlimPod:
    """A pod of the API server with the metadata that evicting it needs."""

    pod: Pod
    resource_version: str = ""
    node_name: str = ""
    """The node that it is bound to."""
    reason: str = ""
    """`status.reason`; `Evicted` if it was evicted by its status."""
    message: str = ""
    """`status.message` of a pod whose phase is Failed."""
    disrupted_at: str = ""
    """RFC 3339 time of the condition `DisruptionTarget` of a pod whose phase is Failed; empty where it has none."""
    mirror_of: str = ""
    """The static pod's uid that a mirror claims; empty for pods that are not owned by their node."""
    written_by_evictd: bool = False
    """Whether evictd ever wrote this pod's status."""
    unread: tuple[str, ...] = ()
    """Paths of the parts that cannot be read, which are absent from `pod`."""

    @property
    def terminal(self) -> bool:
        """Whether the phase is final."""
        return self.pod.terminal

    @property
    def left_by_evictd(self) -> bool:
        """Whether this is the Failed object of a pod that evictd evicted."""
        return self.pod.phase == "Failed" and self.reason == "Evicted" and self.written_by_evictd

    @property
    def evicted_by_kubelet(self) -> bool:
        """Whether a kubelet evicted it; a pod that it did not admit under pressure has the same reason and never ran."""
        evicted = self.pod.phase == "Failed" and self.reason == "Evicted" and not self.written_by_evictd
        return evicted and not self.message.startswith(_REJECTED)


@frozen
class PodPage:
    """One page of a list; `unreadable` names the pods left out."""

    resource_version: str
    continue_token: str
    pods: tuple[SlimPod, ...]
    unreadable: tuple[str, ...] = ()


@frozen
class PodEvent:
    """One watch event. `pod` is set for added, modified and deleted; `status` is the code of an error."""

    type: WatchType
    resource_version: str = ""
    pod: SlimPod | None = None
    status: int = 0
    message: str = ""


class _Manager(WireStruct, frozen=True):
    manager: str | None = None
    subresource: str | None = None


class _Metadata(WireMetadata, frozen=True):
    managed_fields: tuple[_Manager, ...] | None = None


class _Condition(WireStruct, frozen=True):
    type: str | None = None
    status: str | None = None
    last_transition_time: str | None = None


class _PodStatus(WirePodStatus, frozen=True):
    message: str | None = None
    conditions: tuple[_Condition, ...] | None = None


class _Pod(WirePod, frozen=True):
    metadata: _Metadata = _Metadata()
    status: _PodStatus = _PodStatus()


class _PodList(WireStruct, frozen=True):
    kind: str = ""
    metadata: WireListMeta = WireListMeta()
    items: tuple[msgspec.Raw, ...] | None = None


class _PlainList(_PodList, frozen=True):
    items: tuple[Any, ...] | None = None


class _Event(WireStruct, frozen=True):
    type: str
    object: msgspec.Raw


class _Status(WireStruct, frozen=True):
    code: int | None = None
    message: str | None = None


_LIST = msgspec.json.Decoder(_PodList)
_POD = msgspec.json.Decoder(_Pod)
_EVENT = msgspec.json.Decoder(_Event)
_STATUS = msgspec.json.Decoder(_Status)


def decode_page(data: bytes) -> PodPage:
    """Read a v1.PodList; raises `InputError` if it is none: any other object would say that the node has no pods."""
    try:
        wire, read = _page(data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise InputError(f"pod list: {error}") from error
    if wire.kind != POD_LIST:
        raise InputError(f"pod list: the kind is {shown(wire.kind)} instead of {POD_LIST}")
    if not wire.metadata.resource_version:
        raise InputError("pod list: it has no resource version")
    pods, unreadable = [], []
    for item in wire.items or ():
        try:
            pods.append(read(item))
        except InputError as error:
            unreadable.append(str(error))
    return PodPage(
        resource_version=wire.metadata.resource_version,
        continue_token=wire.metadata.continue_ or "",
        pods=tuple(pods),
        unreadable=tuple(unreadable),
    )


def _page(data: bytes) -> tuple[_PodList, Callable[[Any], SlimPod]]:
    """Split a list into items, and give the function that reads one; invalid UTF-8 anywhere makes all items plain values."""
    try:
        return _LIST.decode(data), _pod
    except msgspec.MsgspecError:
        return msgspec.convert(plain_values(data), _PlainList), _partly


def decode_event(line: bytes) -> PodEvent:
    """Read one line of a watch; raises `InputError` if it is none or its pod cannot be read."""
    try:
        event = _EVENT.decode(line)
        kind = WatchType(event.type)
        if kind is WatchType.ERROR:
            status = _STATUS.decode(event.object)
            return PodEvent(type=kind, status=status.code or 0, message=status.message or "")
        if kind is WatchType.BOOKMARK:
            return PodEvent(type=kind, resource_version=_POD.decode(event.object).metadata.resource_version or "")
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise InputError(f"watch event: {error}") from error
    pod = _pod(event.object)
    return PodEvent(type=kind, resource_version=pod.resource_version, pod=pod)


def _pod(data: msgspec.Raw) -> SlimPod:
    """Read one pod; unreadable parts are absent and listed. Raises `InputError` for a pod without name or uid."""
    try:
        return _slim(_POD.decode(data))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    try:
        return _partly(plain_values(bytes(data)))
    except (ValueError, RecursionError) as error:
        raise InputError(f"pod: {error}") from error


def _partly(plain: object) -> SlimPod:
    kept, dropped = readable(_Pod, plain)
    return replace(_slim(msgspec.convert(kept, _Pod)), unread=dropped)


def _slim(wire: _Pod) -> SlimPod:
    mirror_of = _mirror_of(wire)
    # A pod's author can write the source annotation; the kubelet trusts only the ones it wrote itself.
    pod = pod_of(wire, PodSource.MIRROR if mirror_of else PodSource.API)
    if len(pod.labels) > MOST_LABELS:
        pod = replace(pod, labels=dict(islice(pod.labels.items(), MOST_LABELS)))
    if not (pod.uid and pod.name):
        raise InputError(f"pod {shown(pod.full_name)}: its name or uid cannot be read")
    managers = wire.metadata.managed_fields or ()
    failed = pod.phase == "Failed"  # of others these change often, and nothing needs them
    return SlimPod(
        pod=pod,
        resource_version=wire.metadata.resource_version or "",
        node_name=wire.spec.node_name or "",
        reason=wire.status.reason or "",
        message=(wire.status.message or "") if failed else "",
        disrupted_at=_disrupted_at(wire.status) if failed else "",
        mirror_of=mirror_of,
        written_by_evictd=any(m.manager == FIELD_MANAGER and m.subresource == "status" for m in managers),
    )


def _disrupted_at(status: _PodStatus) -> str:
    found = (each for each in status.conditions or () if (each.type, each.status) == (_DISRUPTION, "True"))
    return next((each.last_transition_time or "" for each in found), "")


def _mirror_of(wire: _Pod) -> str:
    """Return the static pod's uid that the object claims, if its controlling owner is its node; else an empty text."""
    owned = any(
        owner.controller and (owner.api_version, owner.kind, owner.name) == ("v1", "Node", wire.spec.node_name)
        for owner in wire.metadata.owner_references or ()
    )
    return (wire.metadata.annotations or {}).get(CONFIG_MIRROR, "") if owned else ""
