"""Performs authorised requests of the API server double: the verbs on stored objects.

Follows the real server where evictd could notice a difference: UID and resourceVersion preconditions (409), graceful deletion,
eviction with budgets (429 with its cause, 500 where several match), status as a subresource, and validation by the
API's own types (422).
"""

import copy
from dataclasses import dataclass, field
from typing import Any

from tests.kube import models, patching
from tests.kube.store import Json, Key, Store, stamp

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
TERMINAL = {"Failed", "Succeeded"}
API_VERSIONS = {"events": "events.k8s.io/v1", "leases": "coordination.k8s.io/v1"}
KINDS = {"pods": "Pod", "nodes": "Node", "events": "Event", "leases": "Lease"}
UNPROCESSED_SECONDS = 10
"""The Retry-After of a budget that its controller has not processed; a spent one names no time."""


class StatusError(Exception):
    """A refusal, as the API's `Status` object."""

    def __init__(
        self, code: int, reason: str, message: str, *, details: Json | None = None, retry_after: int | None = None
    ):
        super().__init__(message)
        self.code = code
        self.retry_after = retry_after
        self.body: Json = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": reason,
            "code": code,
        }
        if details:
            self.body["details"] = details


@dataclass
class Budget:
    """A PodDisruptionBudget: its selector, and the number of disruptions left."""

    name: str
    labels: dict[str, str]
    disruptions_allowed: int
    namespace: str = "default"
    retry_after: int | None = None
    """Seconds."""

    def selects(self, pod: Json) -> bool:
        have = pod["metadata"].get("labels") or {}
        same = pod["metadata"]["namespace"] == self.namespace
        return same and all(have.get(key) == value for key, value in self.labels.items())


@dataclass
class Verbs:
    """The verbs over a store; of field management only the manager of each patch is kept."""

    store: Store
    budgets: list[Budget] = field(default_factory=list)

    def get(self, key: Key) -> Json:
        return self._existing(key)

    def create(self, resource: str, namespace: str, body: Json) -> Json:
        body = copy.deepcopy(body)
        body.setdefault("apiVersion", API_VERSIONS.get(resource, "v1"))
        body.setdefault("kind", KINDS[resource])
        meta = body.setdefault("metadata", {})
        if namespace and meta.setdefault("namespace", namespace) != namespace:
            raise StatusError(
                400, "BadRequest", "the namespace of the object does not match the namespace of the request"
            )
        if self.store.get((resource, namespace, meta.get("name", ""))) is not None:
            raise StatusError(409, "AlreadyExists", f'{resource} "{meta["name"]}" already exists')
        self._valid(body)
        return self.store.create(resource, body)

    def patch(self, key: Key, subresource: str, content_type: str, body: Json, manager: str) -> Json:
        if content_type not in {MERGE, STRATEGIC}:
            raise StatusError(
                415, "UnsupportedMediaType", f"the body of the request was in an unknown format: {content_type}"
            )
        with self.store.changed:
            old = self._existing(key)
            meta = body.get("metadata") or {}
            _precondition(key, old, uid=None, version=meta.get("resourceVersion"))
            if meta.get("uid", old["metadata"]["uid"]) != old["metadata"]["uid"]:
                raise _immutable_uid(key, meta["uid"])
            new = patching.merge(old, body) if content_type == MERGE else patching.strategic(old, body, KINDS[key[0]])
            # The status subresource takes the status only, the object itself everything but the status.
            if subresource == "status":
                new = {**old, "status": new.get("status", {}), "metadata": old["metadata"]}
            elif "status" in old:
                new["status"] = old["status"]
            new = copy.deepcopy(new)
            if new != old:
                _managed(new, manager, subresource)
            self._valid(new)
            return self.store.replace(key, new)

    def delete(self, key: Key, options: Json) -> Json:
        with self.store.changed:
            old = self._existing(key)
            self._valid({"kind": "DeleteOptions", "apiVersion": "v1", **options})
            conditions = options.get("preconditions") or {}
            _precondition(key, old, uid=conditions.get("uid"), version=conditions.get("resourceVersion"))
            if key[0] != "pods":
                return self.store.remove(key)
            return self._delete_pod(key, old, options.get("gracePeriodSeconds"))

    def evict(self, key: Key, body: Json) -> Json:
        self._valid(body)
        with self.store.changed:
            pod = self._existing(key)
            options = body.get("deleteOptions") or {}
            _precondition(key, pod, uid=(options.get("preconditions") or {}).get("uid"), version=None)
            if pod["status"].get("phase") not in TERMINAL | {"Pending"} and "deletionTimestamp" not in pod["metadata"]:
                self._spend(pod)
            text = "Eviction API: evicting"
            condition = {
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "EvictionByEvictionAPI",
                "message": text,
                "lastTransitionTime": stamp(),
            }
            others = [each for each in pod["status"].get("conditions") or [] if each["type"] != condition["type"]]
            pod["status"]["conditions"] = [*others, condition]
            self._delete_pod(key, self.store.replace(key, pod), options.get("gracePeriodSeconds"))
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}

    def _spend(self, pod: Json) -> None:
        """Take one disruption from the budget that covers the pod, as `registry/core/pod/storage/eviction.go` does."""
        found = [budget for budget in self.budgets if budget.selects(pod)]
        if len(found) > 1:
            text = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
            raise StatusError(500, "InternalError", text)
        if found and found[0].disruptions_allowed <= 0:
            cause = {
                "reason": "DisruptionBudget",
                "message": f"The disruption budget {found[0].name} needs 1 healthy pods and has 1 currently",
            }
            raise StatusError(
                429,
                "TooManyRequests",
                "Cannot evict pod as it would violate the pod's disruption budget.",
                details={"causes": [cause]},
                retry_after=found[0].retry_after,
            )
        if found:
            found[0].disruptions_allowed -= 1

    def _delete_pod(self, key: Key, pod: Json, asked: int | None) -> Json:
        spec, meta = pod["spec"], pod["metadata"]
        grace = asked if asked is not None else spec.get("terminationGracePeriodSeconds", 30)
        if not spec.get("nodeName") or pod["status"].get("phase") in TERMINAL:
            grace = 0
        if grace == 0:
            return self.store.remove(key)
        if "deletionTimestamp" in meta and grace >= meta["deletionGracePeriodSeconds"]:
            return pod
        meta["deletionTimestamp"] = stamp()
        meta["deletionGracePeriodSeconds"] = grace
        return self.store.replace(key, pod)

    def _existing(self, key: Key) -> Json:
        found = self.store.get(key)
        if found is None:
            raise StatusError(404, "NotFound", f'{key[0]} "{key[2]}" not found')
        return found

    def _valid(self, item: Json) -> None:
        found = models.faults(item)
        if found:
            raise StatusError(422, "Invalid", "; ".join(found))


def _precondition(key: Key, old: Json, *, uid: str | None, version: str | None) -> None:
    meta = old["metadata"]
    if uid is not None and uid != meta["uid"]:
        text = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {meta['uid']}"
        raise StatusError(409, "Conflict", f'Operation cannot be fulfilled on {key[0]} "{key[2]}": {text}')
    if version is not None and version != meta["resourceVersion"]:
        text = "the object has been modified; please apply your changes to the latest version and try again"
        raise StatusError(409, "Conflict", f'Operation cannot be fulfilled on {key[0]} "{key[2]}": {text}')


def _immutable_uid(key: Key, uid: str) -> StatusError:
    """A patch cannot change an object's identity; `tests/clients/kube/test_eviction.py` shows it on the real server."""
    text = f'{KINDS[key[0]]} "{key[2]}" is invalid: metadata.uid: Invalid value: "{uid}": field is immutable'
    cause = {"reason": "FieldValueInvalid", "message": text, "field": "metadata.uid"}
    return StatusError(422, "Invalid", text, details={"causes": [cause]})


def _managed(item: Json, manager: str, subresource: str) -> None:
    """Record the field manager, as server-side field management does."""
    entry: dict[str, Any] = {
        "manager": manager,
        "operation": "Update",
        "apiVersion": item["apiVersion"],
        "time": stamp(),
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": {}},
    }
    if subresource:
        entry["subresource"] = subresource
    kept = [
        old
        for old in item["metadata"].get("managedFields") or []
        if (old["manager"], old.get("subresource", "")) != (manager, subresource)
    ]
    item["metadata"]["managedFields"] = [*kept, entry]
