"""Evict, delete and patch: the meaning of each response, and the UID precondition."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from evictd.clients.kube.eviction import Answer, EvictionClient, Outcome, budget_forbids
from evictd.clients.kube.transport import Reply, Transport
from evictd.codec.pods.pod import decode_pod
from evictd.core.model.decision import PodCondition
from evictd.core.model.pod import Pod
from evictd.errors import ApiRefusedError, ApiUnavailableError
from tests.kube.api import Api
from tests.kube.api_server import ApiServer
from tests.kube.objects import pod

SINCE = "2026-11-21T02:00:00Z"
TARGET = PodCondition(
    type="DisruptionTarget",
    status="True",
    reason="TerminationByKubelet",
    message="low on memory",
    observed_generation=1,
)
KEY = ("pods", "default", "a")


@pytest.fixture
def victim(api: Api) -> Pod:
    """A running pod of the API server, as the core knows it."""
    return decode_pod(api.store.create("pods", pod("a", labels={"app": "t"})))


def test_evict(api: Api, transport: Transport, victim: Pod) -> None:
    """The pod is being deleted with this grace period, and has the API's DisruptionTarget condition."""
    assert EvictionClient(transport).evict(victim, 7) == Outcome(answer=Answer.DONE)
    found = api.store.get(KEY)
    assert found is not None
    assert found["metadata"]["deletionGracePeriodSeconds"] == 7


def test_a_budget_blocks_and_names_a_time(api: Api, transport: Transport, victim: Pod) -> None:
    """429 with the budget as its cause; several budgets for one pod are a refusal as well."""
    api.budget("one", {"app": "t"}, allowed=None)
    outcome = EvictionClient(transport).evict(victim, 1)
    assert (outcome.answer, outcome.retry_after_seconds) == (Answer.BLOCKED, 10)
    assert "disruption budget" in outcome.message
    api.budget("two", {"app": "t"}, allowed=0)
    assert EvictionClient(transport).evict(victim, 1).answer is Answer.BLOCKED


def test_a_busy_server_is_not_a_budget(api: ApiServer, transport: Transport, victim: Pod) -> None:
    """429 of the server itself, and any other 500, are worth trying again."""
    for status in (429, 500):
        api.fault(verb="create", resource="pods/eviction", status=status, times=1)
        with pytest.raises(ApiUnavailableError):
            EvictionClient(transport).evict(victim, 1)


@pytest.mark.parametrize("grace", [0, -5])
def test_zero_grace_is_never_sent(api: Api, transport: Transport, victim: Pod, grace: int) -> None:
    """Zero would remove the object while its containers still run."""
    client = EvictionClient(transport)
    client.delete(victim, grace)
    client.evict(victim, grace)
    assert [line.body["gracePeriodSeconds"] for line in api.requests("delete pods")] == [1]
    assert api.requests("create pods/eviction")[0].body["deleteOptions"]["gracePeriodSeconds"] == 1


def test_status_and_condition(api: Api, transport: Transport, victim: Pod) -> None:
    """Failed, Evicted, the message, DisruptionTarget; other conditions stay."""
    client = EvictionClient(transport)
    before = {entry["type"] for entry in pod("x")["status"]["conditions"]}
    client.mark_disrupted(victim, TARGET, SINCE)
    assert api.store.get(KEY)["status"]["phase"] == "Running"  # type: ignore[index]
    client.mark_evicted(victim, "low on memory", TARGET, SINCE)
    found = api.store.get(KEY)
    assert found is not None
    status = found["status"]
    assert (status["phase"], status["reason"], status["message"]) == ("Failed", "Evicted", "low on memory")
    assert {entry["type"] for entry in status["conditions"]} == before | {"DisruptionTarget"}
    (target,) = (entry for entry in status["conditions"] if entry["type"] == "DisruptionTarget")
    assert target["observedGeneration"] == 1  # of the pod that the decision saw, as in the kubelet's


def test_an_evicted_pods_containers_are_terminated(api: Api, transport: Transport) -> None:
    """`kubectl get pods` shows `Evicted 0/1`; what has ended, and what never ran before, keeps its state."""
    made = pod("a")
    started = "2026-11-21T01:55:20Z"
    over = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": started, "finishedAt": started}}
    running, waiting = {"running": {"startedAt": started}}, {"waiting": {"reason": "PodInitializing"}}

    def shown(name: str, state: Any, **fields: Any) -> Any:
        return {"name": name, "image": "i", "imageID": "x", "ready": True, "restartCount": 2, "state": state, **fields}

    made["status"]["initContainerStatuses"] = [shown("first", over), shown("second", waiting)]
    made["status"]["containerStatuses"] = [
        shown("main", running, started=True, containerID="containerd://1", lastState=over),
        shown("late", waiting),
        shown("over", over),
    ]
    victim = decode_pod(api.store.create("pods", made))
    EvictionClient(transport).mark_evicted(victim, "m", None, SINCE)
    found = api.store.get(KEY)
    assert found is not None
    status = found["status"]
    assert [each["state"] for each in status["initContainerStatuses"]] == [over, waiting]
    main, late, last = status["containerStatuses"]
    ended = {"exitCode": 137, "reason": "Evicted", "startedAt": started, "finishedAt": SINCE}
    assert main["state"]["terminated"] == {**ended, "containerID": "containerd://1"}
    assert main["lastState"] == over
    assert (main["ready"], main["started"], main["restartCount"], main["imageID"]) == (False, False, 2, "x")
    assert late["state"]["terminated"]["reason"] == "Evicted"
    assert last["state"] == over
    ready = {each["type"]: each for each in status["conditions"] if each["type"] in {"Ready", "ContainersReady"}}
    assert {each["status"] for each in ready.values()} == {"False"}
    assert {each["reason"] for each in ready.values()} == {"PodFailed"}
    requests = len(api.requests("patch pods/status"))
    EvictionClient(transport).mark_evicted(victim, "m", None, SINCE)
    assert len(api.requests("patch pods/status")) == requests + 1


def test_a_status_that_changes_in_between_is_read_again(api: ApiServer, transport: Transport, victim: Pod) -> None:
    """The container states are written at the version that they were read at."""
    api.fault(verb="patch", resource="pods/status", times=1)  # the first write
    api.fault(verb="patch", resource="pods/status", status=409, times=1)
    assert EvictionClient(transport).mark_evicted(victim, "m", None, SINCE).answer is Answer.DONE
    found = api.store.get(KEY)
    assert found is not None
    assert "terminated" in found["status"]["containerStatuses"][0]["state"]
    assert len(api.requests("patch pods/status")) == 4


@pytest.mark.parametrize("status", [403, 422])
def test_a_pod_is_evicted_also_where_its_container_states_are_refused(
    api: ApiServer, transport: Transport, victim: Pod, status: int
) -> None:
    """As by the admission policy of an older evictd."""
    api.fault(verb="patch", resource="pods/status", times=1)  # the first write
    api.fault(verb="patch", resource="pods/status", status=status)
    outcome = EvictionClient(transport).mark_evicted(victim, "m", None, SINCE)
    assert outcome.answer is Answer.DONE
    assert outcome.version > 0
    assert str(status) in outcome.message
    found = api.store.get(KEY)
    assert found is not None
    assert (found["status"]["phase"], found["status"]["reason"]) == ("Failed", "Evicted")


def test_the_same_name_with_another_uid_is_gone(api: Api, transport: Transport, victim: Pod) -> None:
    """Every call returns GONE, and the new pod is unchanged."""
    newcomer = api.store.get(KEY)
    stranger = replace(victim, uid="11111111-1111-1111-1111-111111111111")
    client = EvictionClient(transport)
    calls = [
        client.evict(stranger, 1),
        client.delete(stranger, 1),
        client.mark_disrupted(stranger, TARGET, SINCE),
        client.mark_evicted(stranger, "m", TARGET, SINCE),
    ]
    assert {outcome.answer for outcome in calls} == {Answer.GONE}
    assert api.store.get(KEY) == newcomer


def test_no_such_pod_is_gone(api: Api, transport: Transport, victim: Pod) -> None:
    """Another client has deleted the pod already."""
    api.store.remove(KEY)
    client = EvictionClient(transport)
    outcomes = {client.evict(victim, 1).answer, client.delete(victim, 1).answer}
    assert outcomes == {Answer.GONE}


@pytest.mark.parametrize(
    "body", [b"{}", b"<html>", b'{"kind": "Status", "status": "Failure"}', b'{"kind": "Pod", "metadata": {}}']
)
@pytest.mark.parametrize("status", [200, 404])
def test_an_answer_that_is_not_the_api_servers_is_none(
    api: ApiServer, transport: Transport, victim: Pod, status: int, body: bytes
) -> None:
    """A load balancer's "404 default backend" meant that the pod was gone, and its eviction was never asked for again."""
    client = EvictionClient(transport)
    asked: list[tuple[str, str, Callable[[], Outcome]]] = [
        ("create", "pods/eviction", partial(client.evict, victim, 1)),
        ("delete", "pods", partial(client.delete, victim, 1)),
        ("patch", "pods/status", partial(client.mark_evicted, victim, "low on memory", None, SINCE)),
    ]
    for verb, resource, ask in asked:
        api.fault(verb=verb, resource=resource, status=status, body=body, times=1)
        with pytest.raises(ApiUnavailableError):
            ask()
    assert client.delete(victim, 1).answer is Answer.DONE


def test_forbidden_and_conflicts_of_other_kinds_are_refusals(api: ApiServer, transport: Transport, victim: Pod) -> None:
    """A 409 that names no UID is not taken for a pod that is gone."""
    for status in (403, 409):
        api.fault(verb="delete", status=status, times=1)
        with pytest.raises(ApiRefusedError):
            EvictionClient(transport).delete(victim, 1)


@pytest.mark.parametrize(
    "body", [b"{}", b'{"details": []}', b'{"details": {"causes": 7}}', b'{"details": {"causes": ["x", null]}}', b"[]"]
)
def test_a_429_of_another_shape_is_a_busy_server(body: bytes) -> None:
    """JSON from a proxy in front of the API server may have any form."""
    assert not budget_forbids(Reply(status=429, data=body))
