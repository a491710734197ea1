"""Disruption budgets on the real server: what blocks an eviction answers as the client reads it."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from evictd.clients.kube.eviction import Answer, EvictionClient, Outcome
from evictd.clients.kube.transport import Transport
from evictd.codec.pods.pod import decode_pod
from tests.cluster import objects
from tests.cluster.control_plane import ControlPlane
from tests.kube.admin import Admin

pytestmark = pytest.mark.cluster

LABELS = {"app": "t"}
RUNNING = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


@pytest.fixture
def victim(control_plane: ControlPlane) -> Iterator[dict[str, Any]]:
    admin = control_plane.admin
    with contextlib.ExitStack() as stack:
        stack.enter_context(objects.node(admin))
        stack.enter_context(objects.created(admin, objects.service_account("default", "default")))
        pod = objects.pod("victim", "n1")
        pod["metadata"]["labels"] = LABELS
        path = stack.enter_context(objects.created(admin, pod))
        yield admin.must("PATCH", f"{path}/status", {"status": RUNNING})


@contextlib.contextmanager
def budget(admin: Admin, name: str, *, allowed: int | None) -> Iterator[None]:
    """A budget for the victim, for a while."""
    path = objects.budget(admin, name, LABELS, allowed)
    try:
        yield
    finally:
        objects.remove(admin, path)


@pytest.mark.parametrize("allowed", [0, None], ids=["spent", "not processed yet"])
def test_a_budget_blocks(
    control_plane: ControlPlane, real_transport: Transport, victim: dict[str, Any], allowed: int | None
) -> None:
    """429 with its cause and a time to come again; the pod stays."""
    with budget(control_plane.admin, "b", allowed=allowed):
        outcome = EvictionClient(real_transport).evict(decode_pod(victim), 1)
    assert outcome.answer is Answer.BLOCKED
    assert outcome.message
    found = control_plane.admin.must("GET", f"{objects.PODS}/victim")
    assert "deletionTimestamp" not in found["metadata"]


def test_a_spent_budget_names_no_time_and_an_unprocessed_one_does(
    control_plane: ControlPlane, real_transport: Transport, victim: dict[str, Any]
) -> None:
    """The figures that the double answers with."""
    client, pod = EvictionClient(real_transport), decode_pod(victim)
    with budget(control_plane.admin, "b", allowed=0):
        spent = client.evict(pod, 1).retry_after_seconds
    with budget(control_plane.admin, "c", allowed=None):
        unprocessed = client.evict(pod, 1).retry_after_seconds
    assert (spent, unprocessed) == (None, 10)


def test_several_budgets_block(control_plane: ControlPlane, real_transport: Transport, victim: dict[str, Any]) -> None:
    """A 500 that no waiting mends."""
    with budget(control_plane.admin, "b", allowed=1), budget(control_plane.admin, "c", allowed=1):
        assert EvictionClient(real_transport).evict(decode_pod(victim), 1).answer is Answer.BLOCKED


def test_a_budget_with_room_lets_go(
    control_plane: ControlPlane, real_transport: Transport, victim: dict[str, Any]
) -> None:
    """With our grace, and one disruption fewer."""
    with budget(control_plane.admin, "b", allowed=1):
        assert EvictionClient(real_transport).evict(decode_pod(victim), 7) == Outcome(answer=Answer.DONE)
        status = control_plane.admin.must("GET", f"{objects.BUDGETS}/b")["status"]
    assert status["disruptionsAllowed"] == 0
    found = control_plane.admin.must("GET", f"{objects.PODS}/victim")
    assert found["metadata"]["deletionGracePeriodSeconds"] == 7
    targets = [each for each in found["status"]["conditions"] if each["type"] == "DisruptionTarget"]
    assert [each["reason"] for each in targets] == ["EvictionByEvictionAPI"]
