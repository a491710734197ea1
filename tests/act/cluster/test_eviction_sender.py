"""Which method an eviction takes, and which request is sent for it."""

from typing import Any

import pytest

from evictd.act.cluster.eviction_sender import EvictionSender
from evictd.act.cluster.eviction_stages import Event, Request
from evictd.clients.kube.eviction import Answer, Outcome
from evictd.core.eviction.eviction_method import EvictionMethod
from tests.act.cluster.test_pod_eviction import TARGET, decision
from tests.kube.driving import Driver


class Sent:
    """An `EvictionClient` that records what it is asked to send."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        def send(*_: object) -> Outcome:
            self.calls.append(name)
            return Outcome(answer=Answer.DONE)

        return send


def sender(client: Any, method: EvictionMethod = EvictionMethod.AUTO) -> EvictionSender:
    return EvictionSender(client, Driver().clocks, method=method, timeout=1)


@pytest.mark.parametrize(
    ("request_", "condition", "call"),
    [
        (Request.EVICT, TARGET, "evict"),
        (Request.MARK, TARGET, "mark_disrupted"),
        (Request.MARK, None, "delete"),
        (Request.DELETE, TARGET, "delete"),
        (Request.WRITE, None, "mark_evicted"),
    ],
)
def test_each_request_is_one_call(request_: Request, condition: Any, call: str) -> None:
    client: Any = Sent()
    sender(client).send(request_, decision(condition))
    assert client.calls == [call]


@pytest.mark.parametrize(
    ("method", "kubelet", "hard", "event"),
    [
        (EvictionMethod.AUTO, None, True, None),
        (EvictionMethod.AUTO, True, True, Event.DELETE),
        (EvictionMethod.AUTO, True, False, Event.ASK),
        (EvictionMethod.AUTO, False, False, Event.WRITE),
        (EvictionMethod.DELETE, None, False, Event.DELETE),
    ],
)
def test_the_method_waits_under_auto_until_it_is_known_whether_a_kubelet_reports(
    method: EvictionMethod, kubelet: bool | None, hard: bool, event: Event | None
) -> None:
    assert sender(Sent(), method).event(kubelet, hard=hard) is event
