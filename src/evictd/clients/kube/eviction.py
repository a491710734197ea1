"""The three calls that end a pod through the API server, and what each answer means.

Every call carries the pod's UID as a precondition, so that a pod of the same name that came meanwhile is never touched: 404 and a
UID conflict both say that ours is gone. A grace period of zero is never sent: it removes the object at once while containers
may still run.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any
from urllib.parse import quote

from evictd.clients.kube.transport import JSON, STRATEGIC_PATCH, Reply, Transport, error_of
from evictd.codec.slim_pods import FIELD_MANAGER
from evictd.core.decision import PodCondition
from evictd.core.pod import Pod

MINIMUM_GRACE_SECONDS = 1


class Answer(Enum):
    """What the API server made of it."""

    DONE = "Done"
    GONE = "Gone"
    """No such pod (any more); one of the same name may be there."""
    BLOCKED = "Blocked"
    """A disruption budget says no."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """An answer, and for a blocked one after how many seconds to ask again, if the server said so."""

    answer: Answer
    retry_after_seconds: int | None = None
    message: str = ""
    version: int = 0
    """The object's resource version after a patch; zero where there is none."""


class EvictionClient:
    """Ends pods; one request per call. Raises `ApiUnavailableError` and `ApiRefusedError`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def evict(self, pod: Pod, grace_period_seconds: int) -> Outcome:
        """Ask for an eviction, which honours disruption budgets; `DONE`: the pod is being deleted."""
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod.name, "namespace": pod.namespace},
            "deleteOptions": _options(pod, grace_period_seconds),
        }
        accept = frozenset({404, 409, 429, 500})
        reply = self._transport.request("POST", _path(pod) + "/eviction", body=body, content_type=JSON, accept=accept)
        if budget_forbids(reply):
            return _blocked(reply)
        return _outcome(reply, "evict")

    def delete(self, pod: Pod, grace_period_seconds: int) -> Outcome:
        """Delete the object; a deletion under way is only ever shortened."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", **_options(pod, grace_period_seconds)}
        reply = self._transport.request("DELETE", _path(pod), body=body, accept=frozenset({404, 409}))
        return _outcome(reply, "delete")

    def mark_disrupted(self, pod: Pod, condition: PodCondition, since: str) -> Outcome:
        """Set the DisruptionTarget condition, which tells a Job that this failure does not count."""
        return self._patch_status(pod, {"conditions": [_condition(condition, since)]})

    def mark_evicted(self, pod: Pod, message: str, condition: PodCondition | None, since: str) -> Outcome:
        """Write the status of an evicted pod: phase Failed, reason Evicted, the message and the condition."""
        status: dict[str, Any] = {"phase": "Failed", "reason": "Evicted", "message": message}
        if condition is not None:
            status["conditions"] = [_condition(condition, since)]
        return self._patch_status(pod, status)

    def _patch_status(self, pod: Pod, status: Mapping[str, Any]) -> Outcome:
        # The uid in the patch is the precondition: the server refuses to change it.
        body = {"metadata": {"uid": pod.uid}, "status": status}
        reply = self._transport.request(
            "PATCH",
            _path(pod) + "/status",
            query={"fieldManager": FIELD_MANAGER},
            body=body,
            content_type=STRATEGIC_PATCH,
            accept=frozenset({404, 409}),
        )
        return _outcome(reply, "patch status of")


def _path(pod: Pod) -> str:
    return f"/api/v1/namespaces/{quote(pod.namespace, safe='')}/pods/{quote(pod.name, safe='')}"


def _options(pod: Pod, grace_period_seconds: int) -> dict[str, Any]:
    grace = max(grace_period_seconds, MINIMUM_GRACE_SECONDS)
    return {"gracePeriodSeconds": grace, "preconditions": {"uid": pod.uid}}


def _condition(condition: PodCondition, since: str) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": since,
    }
    return fields


def budget_forbids(reply: Reply) -> bool:
    """Tell a budget's refusal from a server that is merely busy: both are 429; several budgets for one pod are a 500."""
    if reply.status == 500:
        return "more than one PodDisruptionBudget" in str(reply.problem.get("message"))
    details = reply.problem.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    return reply.status == 429 and any(
        isinstance(cause, dict) and cause.get("reason") == "DisruptionBudget"
        for cause in (causes if isinstance(causes, list) else ())
    )


def _blocked(reply: Reply) -> Outcome:
    message = str(reply.problem.get("message") or "")
    return Outcome(answer=Answer.BLOCKED, retry_after_seconds=reply.retry_after, message=message)


def _outcome(reply: Reply, what: str) -> Outcome:
    if reply.status < 300:
        metadata = reply.problem.get("metadata")
        version = str(metadata.get("resourceVersion") or "") if isinstance(metadata, dict) else ""
        return Outcome(answer=Answer.DONE, version=int(version) if version.isascii() and version.isdigit() else 0)
    if reply.status == 404:
        return Outcome(answer=Answer.GONE)
    message = str(reply.problem.get("message") or "")
    if reply.status == 409 and "UID" in message:
        return Outcome(answer=Answer.GONE, message=message)
    raise error_of(reply, what)
