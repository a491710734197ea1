"""Evict, delete, patch: each answer of the API server means one thing, and another pod of the same name is never touched."""

from dataclasses import replace

import pytest

from evictd.clients.kube.eviction import Answer, EvictionClient, Outcome, budget_forbids
from evictd.clients.kube.transport import Reply, Transport
from evictd.codec.pod import decode_pod
from evictd.core.decision import PodCondition
from evictd.core.pod import Pod
from evictd.errors import ApiRefusedError, ApiUnavailableError
from tests.kube.api_server import ApiServer
from tests.kube.objects import pod
from tests.kube.verbs import Budget

SINCE = "2026-11-21T02:00:00Z"
TARGET = PodCondition(type="DisruptionTarget", status="True", reason="TerminationByKubelet", message="low on memory")
KEY = ("pods", "default", "a")


@pytest.fixture
def victim(api: ApiServer) -> Pod:
    """A running pod of the API server, as the core knows it."""
    return decode_pod(api.store.create("pods", pod("a", labels={"app": "t"})))


def test_evict(api: ApiServer, transport: Transport, victim: Pod) -> None:
    """The object is on its way with our grace, and carries the API's own DisruptionTarget."""
    assert EvictionClient(transport).evict(victim, 7) == Outcome(answer=Answer.DONE)
    found = api.store.get(KEY)
    assert found is not None
    assert found["metadata"]["deletionGracePeriodSeconds"] == 7


def test_a_budget_blocks_and_names_a_time(api: ApiServer, transport: Transport, victim: Pod) -> None:
    """429 with the budget as its cause; several budgets for one pod are a refusal as well."""
    api.verbs.budgets = [Budget("one", {"app": "t"}, 0)]
    outcome = EvictionClient(transport).evict(victim, 1)
    assert (outcome.answer, outcome.retry_after_seconds) == (Answer.BLOCKED, 10)
    assert "disruption budget" in outcome.message
    api.verbs.budgets.append(Budget("two", {"app": "t"}, 0))
    assert EvictionClient(transport).evict(victim, 1).answer is Answer.BLOCKED


def test_a_busy_server_is_not_a_budget(api: ApiServer, transport: Transport, victim: Pod) -> None:
    """429 of the server itself, and any other 500, are worth trying again."""
    for status in (429, 500):
        api.fault(verb="create", resource="pods/eviction", status=status, times=1)
        with pytest.raises(ApiUnavailableError):
            EvictionClient(transport).evict(victim, 1)


@pytest.mark.parametrize("grace", [0, -5])
def test_zero_grace_is_never_sent(api: ApiServer, transport: Transport, victim: Pod, grace: int) -> None:
    """Zero would remove the object while its containers still run."""
    client = EvictionClient(transport)
    client.delete(victim, grace)
    client.evict(victim, grace)
    assert [line.body["gracePeriodSeconds"] for line in api.requests("delete pods")] == [1]
    assert api.requests("create pods/eviction")[0].body["deleteOptions"]["gracePeriodSeconds"] == 1


def test_status_and_condition(api: ApiServer, transport: Transport, victim: Pod) -> None:
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


def test_the_same_name_with_another_uid_is_gone(api: ApiServer, transport: Transport, victim: Pod) -> None:
    """Every call says so, and the newcomer is untouched."""
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


def test_no_such_pod_is_gone(api: ApiServer, transport: Transport, victim: Pod) -> None:
    """Somebody was faster."""
    api.store.remove(KEY)
    client = EvictionClient(transport)
    outcomes = {client.evict(victim, 1).answer, client.delete(victim, 1).answer}
    assert outcomes == {Answer.GONE}


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
    """Whatever stands in the API server's place, its JSON is not trusted to have our form."""
    assert not budget_forbids(Reply(status=429, data=body))
