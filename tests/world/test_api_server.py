"""Checks what the API server answers."""

from typing import Any

import pytest

from evictd.core.eviction.choice.evict import evict_for_pressure
from evictd.core.model.config import EvictionMethod
from evictd.core.model.decision import EvictPod
from evictd.core.model.finding import RankedPod, RankPlace, Standing
from evictd.core.model.observation import EvictionAnswerKind, SignalObservation
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import of_bytes
from evictd.world.api_server import SimulatedApiServer
from evictd.world.model import ApiServer, DisruptionBudget, Outage
from tests.playbook import config, pod, threshold

BUDGET = DisruptionBudget(pods=frozenset({"default/a", "default/b"}), allowed=1)


def eviction(name: str, *, grace: str = "10s") -> EvictPod:
    """An eviction for a threshold with this grace period; `0s`: a hard one."""
    of = pod(name)
    row = RankedPod(
        standing=Standing.EXCEEDS,
        preference=0,
        priority=0,
        place=RankPlace.MEASURED,
        deficit=0,
        namespace=of.namespace,
        name=of.name,
        uid=of.uid,
        usage=1,
        request=0,
        pod=of,
    )
    seen = SignalObservation(available=of_bytes(1), capacity=of_bytes(100))
    return evict_for_pressure(row, threshold("memory.available", "10", grace=grace), seen, None, config())


def test_a_budget_allows_so_many_and_refuses_the_next() -> None:
    server = SimulatedApiServer(ApiServer(budgets=(BUDGET,), retry_after=5), 60 * SECOND)
    assert server.evict(eviction("a"), "default/a", 0)
    assert not server.evict(eviction("b"), "default/b", 0)
    assert (server.answers["b"].kind, server.answers["b"].retry_after) == (EvictionAnswerKind.REFUSED, 5)


def test_a_hard_eviction_asks_no_budget() -> None:
    server = SimulatedApiServer(ApiServer(budgets=(DisruptionBudget(pods=BUDGET.pods),)), 60 * SECOND)
    assert server.evict(eviction("a", grace="0s"), "default/a", 0)


def test_what_an_outage_keeps_from_being_answered_is_asked_again() -> None:
    server = SimulatedApiServer(ApiServer(outages=(Outage(start=0, duration=10),)), 60 * SECOND)
    assert not server.evict(eviction("a"), "default/a", 5)
    assert server.ask_again({"a": "default/a"}, 9) == []
    assert [each.pod.name for each in server.ask_again({"a": "default/a"}, 10)] == ["a"]
    assert server.answers["a"].kind is EvictionAnswerKind.AGREED


@pytest.mark.parametrize(
    ("spec", "stops"),
    [
        ({"termination": EvictionMethod.STATUS}, True),
        ({"kubelet": False}, True),
        ({"termination": EvictionMethod.DELETE}, False),
    ],
)
def test_a_pod_that_evictd_stops_itself_waits_for_no_server(spec: dict[str, Any], stops: bool) -> None:
    """Its soft eviction waited until the end of the outage, though its status is written after the stop."""
    server = SimulatedApiServer(ApiServer(outages=(Outage(start=0, duration=10),), **spec), 60 * SECOND)
    assert server.evict(eviction("a"), "default/a", 0) is stops


def test_a_forbidden_request_is_a_refusal() -> None:
    server = SimulatedApiServer(ApiServer(outages=(Outage(start=0, duration=10, status=403),)), 60 * SECOND)
    assert not server.evict(eviction("a"), "default/a", 5)
    assert server.answers["a"].kind is EvictionAnswerKind.REFUSED
