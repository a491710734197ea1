"""Stores the objects of the API server double: one counter of resource versions, one history for watches.

`compact` drops the history, as etcd does every five minutes: a watch from an earlier version gets 410.
"""

import copy
import threading
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

Json = dict[str, Any]
Key = tuple[str, str, str]
"""Resource (`pods`), namespace, name."""


@dataclass(frozen=True, slots=True)
class Change:
    """One step of the history; `before` is the object as it was, so that a watch can report that it left its selector."""

    version: int
    type: str
    key: Key
    after: Json
    before: Json | None


def stamp(micro: bool = False) -> str:
    """The current time in the API's form."""
    now = datetime.now(UTC)
    return now.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if micro else now.strftime("%Y-%m-%dT%H:%M:%SZ")


class Objects(Protocol):
    """Direct access to the server's objects, outside the request log."""

    @property
    def changed(self) -> AbstractContextManager[Any]:
        """Held while several calls belong together."""
        ...

    def get(self, key: Key) -> Json | None: ...

    def list(
        self, resource: str, namespace: str = "", where: Callable[[Json], bool] = ...
    ) -> "tuple[list[Json], int]": ...

    def create(self, resource: str, item: Json) -> Json: ...

    def update(self, key: Key, change: Callable[[Json], Any]) -> Json: ...

    def remove(self, key: Key) -> Json: ...


class Store:
    """Thread-safe; every object handed out is a copy."""

    def __init__(self, first_version: int = 100) -> None:
        self.changed = threading.Condition(threading.RLock())
        self.version = first_version
        self.oldest = first_version
        self.objects: dict[Key, Json] = {}
        self.history: list[Change] = []

    def get(self, key: Key) -> Json | None:
        with self.changed:
            found = self.objects.get(key)
            return copy.deepcopy(found) if found is not None else None

    def list(
        self, resource: str, namespace: str = "", where: Callable[[Json], bool] = lambda _: True
    ) -> tuple[list[Json], int]:
        with self.changed:
            found = [
                copy.deepcopy(item)
                for key, item in sorted(self.objects.items())
                if key[0] == resource and namespace in ("", key[1]) and where(item)
            ]
            return found, self.version

    def create(self, resource: str, item: Json) -> Json:
        item = copy.deepcopy(item)
        meta = item.setdefault("metadata", {})
        if "name" not in meta:
            meta["name"] = meta.pop("generateName") + uuid.uuid4().hex[:5]
        meta.setdefault("uid", str(uuid.uuid4()))
        meta.setdefault("creationTimestamp", stamp())
        return self._commit("ADDED", (resource, meta.get("namespace", ""), meta["name"]), item)

    def replace(self, key: Key, item: Json) -> Json:
        return self._commit("MODIFIED", key, item)

    def update(self, key: Key, change: Callable[[Json], None]) -> Json:
        """Change an object in place, under the lock."""
        with self.changed:
            item = copy.deepcopy(self.objects[key])
            change(item)
            return self._commit("MODIFIED", key, item)

    def remove(self, key: Key) -> Json:
        with self.changed:
            return self._commit("DELETED", key, copy.deepcopy(self.objects[key]))

    def compact(self) -> None:
        """Drop the history up to now."""
        with self.changed:
            self.version += 1
            self.history.clear()
            self.oldest = self.version

    def _commit(self, kind: str, key: Key, item: Json) -> Json:
        with self.changed:
            before = self.objects.get(key)
            if kind == "MODIFIED" and before == item:
                return copy.deepcopy(item)
            self.version += 1
            item["metadata"]["resourceVersion"] = str(self.version)
            if kind == "DELETED":
                del self.objects[key]
            else:
                self.objects[key] = item
            self.history.append(Change(self.version, kind, key, copy.deepcopy(item), before))
            self.changed.notify_all()
            return copy.deepcopy(item)
