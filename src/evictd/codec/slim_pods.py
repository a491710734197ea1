"""A node's pods as the API server lists and watches them: raw bytes in, core pods and what evicting one needs out.

No object model in between: a thousand pods are scanned once, and only the named fields are built. A single pod that cannot
be read is left out and named, so that one bad object never blinds the node. A mirror pod stands for its static pod and gets
that pod's uid, because sandboxes, cgroups and statistics know only that one (kubelet `pod/mirror_client.go`, annotation
`kubernetes.io/config.mirror`).
"""

from dataclasses import dataclass, replace
from enum import Enum

import msgspec

from evictd.codec.pod import CONFIG_MIRROR, pod_of
from evictd.codec.pod_wire import WireListMeta, WireMetadata, WirePod, WireStruct
from evictd.core.pod import Pod, PodSource
from evictd.errors import InputError, InvalidValueError

FIELD_MANAGER = "evictd"
"""How the API server notes our writes in `metadata.managedFields`; by it we know them again after a restart."""


class WatchType(Enum):
    """The type of a watch event."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlimPod:
    """A pod of the API server with what is known of its object."""

    pod: Pod
    resource_version: str = ""
    reason: str = ""
    """`status.reason`; `Evicted` where somebody evicted it by its status."""
    written_by_evictd: bool = False
    """Whether evictd ever wrote this pod's status."""

    @property
    def terminal(self) -> bool:
        """Whether the phase will never change again."""
        return self.pod.phase in {"Failed", "Succeeded"}

    @property
    def left_by_evictd(self) -> bool:
        """Whether this is what an eviction by evictd left behind."""
        return self.pod.phase == "Failed" and self.reason == "Evicted" and self.written_by_evictd


@dataclass(frozen=True, slots=True, kw_only=True)
class PodPage:
    """One page of a list; `unreadable` names the pods left out."""

    resource_version: str
    continue_token: str
    pods: tuple[SlimPod, ...]
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PodEvent:
    """One watch event. `pod` is there for added, modified and deleted; `status` is the code of an error."""

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


class _Pod(WirePod, frozen=True):
    metadata: _Metadata = _Metadata()


class _PodList(WireStruct, frozen=True):
    metadata: WireListMeta = WireListMeta()
    items: tuple[_Pod, ...] | None = None


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
    """Read a v1.PodList; raises `InputError` where it is none."""
    try:
        wire = _LIST.decode(data)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InputError(f"pod list: {error}") from error
    pods, unreadable = [], []
    for item in wire.items or ():
        try:
            pods.append(_slim(item))
        except (InvalidValueError, ValueError) as error:
            unreadable.append(str(error))
    return PodPage(
        resource_version=wire.metadata.resource_version,
        continue_token=wire.metadata.continue_ or "",
        pods=tuple(pods),
        unreadable=tuple(unreadable),
    )


def decode_event(line: bytes) -> PodEvent:
    """Read one line of a watch; raises `InputError` where it is none, or its pod cannot be read."""
    try:
        event = _EVENT.decode(line)
        kind = WatchType(event.type)
        if kind is WatchType.ERROR:
            status = _STATUS.decode(event.object)
            return PodEvent(type=kind, status=status.code or 0, message=status.message or "")
        wire = _POD.decode(event.object)
        version = wire.metadata.resource_version or ""
        pod = None if kind is WatchType.BOOKMARK else _slim(wire)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise InputError(f"watch event: {error}") from error
    return PodEvent(type=kind, resource_version=version, pod=pod)


def _slim(wire: _Pod) -> SlimPod:
    pod = pod_of(wire)
    if pod.source is PodSource.MIRROR:
        pod = replace(pod, uid=(wire.metadata.annotations or {})[CONFIG_MIRROR] or pod.uid)
    managers = wire.metadata.managed_fields or ()
    return SlimPod(
        pod=pod,
        resource_version=wire.metadata.resource_version or "",
        reason=wire.status.reason or "",
        written_by_evictd=any(m.manager == FIELD_MANAGER and m.subresource == "status" for m in managers),
    )
