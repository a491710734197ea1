"""Ends pods through the API server: evict, delete, and patch of the status.

Every request has the pod's UID as a precondition, so that a new pod of the same name is never affected: a 404 and a UID conflict
both mean that the pod is gone. A grace period of zero is never sent, because it removes the object at once while containers may
still run.
"""

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from typing import Any
from urllib.parse import quote

from evictd.clients.kube.transport import JSON, STRATEGIC_PATCH, Reply, Transport, error_of
from evictd.codec.pods.slim_pods import FIELD_MANAGER
from evictd.core.frozen import frozen
from evictd.core.model.decision import PodCondition
from evictd.core.model.pod import Pod
from evictd.errors import ApiRefusedError, ApiUnavailableError

MINIMUM_GRACE_SECONDS = 1
WRITES = 5
"""Attempts to write an evicted pod's status when another writer changes it in between."""
_OVER: Mapping[str, frozenset[str]] = {
    "initContainerStatuses": frozenset({"running"}),
    "containerStatuses": frozenset({"running", "waiting"}),
    "ephemeralContainerStatuses": frozenset({"running"}),
}
"""The states that an eviction ends."""
_KILLED = 137
"""The exit code that the kubelet gives a container whose end it did not see, and that of SIGKILL."""


class Answer(Enum):
    """The result of a request."""

    DONE = "Done"
    GONE = "Gone"
    """The pod does not exist (any more); another one of the same name may."""
    BLOCKED = "Blocked"
    """A PodDisruptionBudget refuses the eviction."""


@frozen
class Outcome:
    """The result of a request; for BLOCKED with the server's Retry-After, if it sent one.

    `message` is the server's; for DONE, why a part that the eviction does not depend on was refused.
    """

    answer: Answer
    retry_after_seconds: int | None = None
    message: str = ""
    version: int = 0
    """The object's resource version after a patch; zero if the response has none."""


class EvictionClient:
    """Ends pods, with one request per method. All raise `ApiUnavailableError` and `ApiRefusedError`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def evict(self, pod: Pod, grace_period_seconds: int) -> Outcome:
        """Request an eviction, which honours PodDisruptionBudgets; `DONE`: the pod is being deleted."""
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
        return _outcome(reply, pod, "evict")

    def delete(self, pod: Pod, grace_period_seconds: int) -> Outcome:
        """Delete the pod; the grace period of a deletion under way can only become shorter."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", **_options(pod, grace_period_seconds)}
        reply = self._transport.request("DELETE", _path(pod), body=body, accept=frozenset({404, 409}))
        return _outcome(reply, pod, "delete")

    def mark_disrupted(self, pod: Pod, condition: PodCondition, since: str) -> Outcome:
        """Set the DisruptionTarget condition, by which a Job's `podFailurePolicy` can ignore the failure."""
        return _outcome(self._patch_status(pod, {"conditions": [_condition(condition, since)]}), pod, "patch status of")

    def mark_evicted(self, pod: Pod, message: str, condition: PodCondition | None, since: str) -> Outcome:
        """Write the status of an evicted pod: phase Failed, reason Evicted, the message and the condition; containers ended.

        The API's lists of container states are atomic, so they are written as a whole, at the version that the first write gave.
        The pod is evicted by the first write alone: where an admission policy refuses the second one, `message` says so.
        """
        status: dict[str, Any] = {"phase": "Failed", "reason": "Evicted", "message": message}
        if condition is not None:
            status["conditions"] = [_condition(condition, since)]
        reply = self._patch_status(pod, status)
        outcome = _outcome(reply, pod, "patch status of")
        if outcome.answer is not Answer.DONE:
            return outcome
        try:
            return _outcome(self._end_containers(pod, status, reply, since), pod, "patch container states of")
        except ApiRefusedError as error:
            return replace(outcome, message=str(error))

    def _end_containers(self, pod: Pod, status: Mapping[str, Any], reply: Reply, since: str) -> Reply:
        """Write an evicted pod's containers as ended; `reply` is that of the write of `status`."""
        for _ in range(WRITES):
            version, ended = _ended(reply.problem, since)
            if reply.status >= 300 or not ended:
                break
            reply = self._patch_status(pod, ended, version)
            if reply.status == 409:
                reply = self._patch_status(pod, status)
        return reply

    def _patch_status(self, pod: Pod, status: Mapping[str, Any], version: str = "") -> Reply:
        # The uid in the patch is the precondition: it is immutable, so that another pod of the name is refused with 422.
        metadata = {"uid": pod.uid, **({"resourceVersion": version} if version else {})}
        body = {"metadata": metadata, "status": status}
        return self._transport.request(
            "PATCH",
            _path(pod) + "/status",
            query={"fieldManager": FIELD_MANAGER},
            body=body,
            content_type=STRATEGIC_PATCH,
            accept=frozenset({404, 409, 422}),
        )


def _path(pod: Pod) -> str:
    return f"/api/v1/namespaces/{quote(pod.namespace, safe='')}/pods/{quote(pod.name, safe='')}"


def _options(pod: Pod, grace_period_seconds: int) -> dict[str, Any]:
    grace = max(grace_period_seconds, MINIMUM_GRACE_SECONDS)
    return {"gracePeriodSeconds": grace, "preconditions": {"uid": pod.uid}}


def _condition(condition: PodCondition, since: str) -> dict[str, Any]:
    """Write the condition as the kubelet does; `observedGeneration` is left out where the pod has no generation."""
    generation = condition.observed_generation
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": since,
        **({"observedGeneration": generation} if generation else {}),
    }


def _ended(pod: Mapping[str, Any], since: str) -> tuple[str, dict[str, Any]]:
    """Return a pod's version, and what its status lacks when nothing of it runs: containers terminated, readiness False.

    As the kubelet's status manager (`TerminatePod`), with the reason that `kubectl get pods` shows. An init container that never
    ran keeps its state. Of an object that has not the API's form nothing is written.
    """
    try:
        status = pod["status"]
        ended = {
            name: [_terminated(each, since) if over & each["state"].keys() else each for each in status[name]]
            for name, over in _OVER.items()
            if any(over & each["state"].keys() for each in status.get(name, ()))
        }
        shown = {each["type"]: each["status"] for each in status.get("conditions", ())}
        conditions = [
            _condition(PodCondition(type=kind, status="False", reason="PodFailed", message=""), since)
            for kind in ("ContainersReady", "Ready")
            if shown.get(kind, "False") != "False"
        ]
        return pod["metadata"]["resourceVersion"], {**ended, **({"conditions": conditions} if conditions else {})}
    except (KeyError, TypeError, AttributeError):
        return "", {}


def _terminated(container: Mapping[str, Any], since: str) -> dict[str, Any]:
    state = {
        "exitCode": _KILLED,
        "reason": "Evicted",
        "startedAt": container["state"].get("running", {}).get("startedAt"),
        "finishedAt": since,
        "containerID": container.get("containerID"),
    }
    known = {name: value for name, value in state.items() if value is not None}
    return {**container, "state": {"terminated": known}, "ready": False, "started": False}


def budget_forbids(reply: Reply) -> bool:
    """Whether a response is the refusal of a PodDisruptionBudget.

    An overloaded server sends 429 as well; a budget's refusal has the cause `DisruptionBudget`. If several budgets select the
    pod, the server sends a 500 with a message.
    """
    if reply.status == 500:
        return "more than one PodDisruptionBudget" in str(reply.problem.get("message"))
    return reply.status == 429 and any(cause.get("reason") == "DisruptionBudget" for cause in _causes(reply))


def _is_another_pod(reply: Reply) -> bool:
    """Whether a 422 says that the patch's uid is not the object's."""
    return any(cause.get("field") == "metadata.uid" for cause in _causes(reply))


def _causes(reply: Reply) -> list[Mapping[str, Any]]:
    """Return the causes of a refusal, as far as they have the API's form."""
    details = reply.problem.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    return [cause for cause in causes if isinstance(cause, dict)] if isinstance(causes, list) else []


def _blocked(reply: Reply) -> Outcome:
    # The cause names the budget; a 500 of several budgets has none.
    causes = (str(cause.get("message") or "") for cause in _causes(reply) if cause.get("reason") == "DisruptionBudget")
    message = " ".join(text for text in (str(reply.problem.get("message") or ""), *causes) if text)
    return Outcome(answer=Answer.BLOCKED, retry_after_seconds=reply.retry_after, message=message)


def _outcome(reply: Reply, pod: Pod, what: str) -> Outcome:
    """Map a response; raises for one that is not the API server's: its "done" or "gone" would be believed for ever."""
    if reply.status < 300:
        return Outcome(answer=Answer.DONE, version=_version_of(reply, pod, what))
    if reply.absent(what, reached=True):
        return Outcome(answer=Answer.GONE)
    message = str(reply.problem.get("message") or "")
    if (reply.status == 409 and "UID" in message) or (reply.status == 422 and _is_another_pod(reply)):
        return Outcome(answer=Answer.GONE, message=message)
    raise error_of(reply, what)


def _version_of(reply: Reply, pod: Pod, what: str) -> int:
    """Return the version of the pod in a response, zero for a `Status`, which has none."""
    answer = reply.problem
    metadata = answer.get("metadata")
    if answer.get("kind") == "Status" and answer.get("status") == "Success":
        return 0
    if answer.get("kind") != "Pod" or not isinstance(metadata, dict) or metadata.get("uid") != pod.uid:
        raise ApiUnavailableError(f"{what}: {reply.status} without the pod and without a Status", reached=True)
    version = str(metadata.get("resourceVersion") or "")
    return int(version) if version.isascii() and version.isdigit() else 0
