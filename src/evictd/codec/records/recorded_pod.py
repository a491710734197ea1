"""Has what is read of a pod in a journal line: its name and owner, the memory that it requests, its hostPath volumes."""

from typing import Any

import msgspec

from evictd.core.model.resources import MEMORY
from evictd.core.units.quantity import parse_quantity
from evictd.errors import InvalidValueError


class _Part(msgspec.Struct, frozen=True, rename="camel"):
    """A part of a line; fields that are not declared are skipped."""


class RecordedOwner(_Part, frozen=True):
    """An owner reference."""

    kind: str = ""
    name: str = ""
    controller: bool = False


class RecordedMetadata(_Part, frozen=True):
    """Name, namespace, uid and owner of a pod."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    owner_references: tuple[RecordedOwner, ...] = ()

    @property
    def owner(self) -> str:
        """`Kind/name` of the controlling owner; empty without one."""
        owners = (f"{each.kind}/{each.name}" for each in self.owner_references if each.controller)
        return next(owners, "")


class RecordedVolume(_Part, frozen=True):
    """A volume of a pod; of other kinds than hostPath nothing is read."""

    host_path: dict[str, Any] | None = None


class RecordedResources(_Part, frozen=True):
    """What a container or a pod requests."""

    requests: dict[str, Any] | None = None


class RecordedContainer(_Part, frozen=True):
    """A container of a pod."""

    resources: RecordedResources | None = None
    restart_policy: str | None = None


class RecordedSpec(_Part, frozen=True):
    """The spec of a pod."""

    volumes: tuple[RecordedVolume, ...] = ()
    containers: tuple[RecordedContainer, ...] = ()
    init_containers: tuple[RecordedContainer, ...] = ()
    resources: RecordedResources | None = None
    overhead: dict[str, Any] | None = None

    @property
    def memory_request(self) -> int:
        """The bytes of memory that the pod requests, a sidecar and its overhead included; 0 without a request."""
        sidecars = (each for each in self.init_containers if each.restart_policy == "Always")
        own = sum(_memory_of(each.resources) for each in (*self.containers, *sidecars))
        return (_memory_of(self.resources) or own) + _memory_in(self.overhead)


class RecordedPod(_Part, frozen=True):
    """An active pod."""

    metadata: RecordedMetadata = RecordedMetadata()
    spec: RecordedSpec = RecordedSpec()

    @property
    def has_host_path(self) -> bool:
        """Whether it has a hostPath volume, whose use is not measured."""
        return any(each.host_path is not None for each in self.spec.volumes)

    @property
    def full_name(self) -> str:
        """`namespace/name`."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def owner(self) -> str:
        """`Kind/name` of the controlling owner; empty without one."""
        return self.metadata.owner


def _memory_of(resources: RecordedResources | None) -> int:
    return 0 if resources is None else _memory_in(resources.requests)


def _memory_in(amounts: dict[str, Any] | None) -> int:
    """Return the bytes of memory; 0 where none are named, or the amount is damaged."""
    try:
        return parse_quantity(str((amounts or {}).get(MEMORY, 0))).value()
    except InvalidValueError:
        return 0
