"""What the clock, the runtime and the list of pods show of an eviction."""

from dataclasses import dataclass

import pytest

from evictd.act.cluster.eviction_events import EVENT_OF, POLL, ClusterNode, due_events, next_event_at, nothing_runs
from evictd.act.cluster.eviction_stages import Containers, Event, Stage
from evictd.act.cluster.pod_eviction import ASK_PATIENCE, BEFORE_KILL, VERIFY, PodEviction
from evictd.clients.kube.pods import PodSnapshot
from evictd.core.model.config import EvictionMethod
from evictd.core.model.pod import Pod
from evictd.core.units.duration import SECOND
from tests.act.cluster.test_pod_eviction import decision

NO_PODS = PodSnapshot(synced=True)


@dataclass
class Runtime:
    """A stopper that says whether the pod has stopped."""

    has_stopped: bool = False

    def stop(self, pod: Pod, grace_seconds: int, *, freeze: bool = False) -> None:
        """Do nothing."""

    def stopped(self, uid: str) -> bool:
        return self.has_stopped

    def forget(self, uid: str) -> None:
        """Do nothing."""


def node(*, pending: bool = False) -> ClusterNode:
    return ClusterNode(pods=lambda: NO_PODS, kubelet=lambda: True, conditions_pending=lambda: pending)


def eviction(*events: Event, hard: bool = True) -> PodEviction:
    made = PodEviction(decision(), 0, hard=hard)
    made.begin(0)
    for event in events:
        made.receive(event, 0)
    return made


def due(of: PodEviction, now: int, *, pending: bool = False, stopped: bool = False) -> list[Event]:
    return list(due_events(of, NO_PODS, Runtime(stopped), node(pending=pending), now))


def test_each_method_has_an_event() -> None:
    assert EVENT_OF.keys() == set(EvictionMethod) - {EvictionMethod.AUTO}


@pytest.mark.parametrize(
    ("pending", "now", "events"), [(True, 0, []), (False, 0, [Event.CLEARED]), (True, BEFORE_KILL, [Event.CLEARED])]
)
def test_containers_are_stopped_when_the_conditions_are_shown_or_were_waited_for(
    pending: bool, now: int, events: list[Event]
) -> None:
    assert due(eviction(Event.DELETE), now, pending=pending) == events


@pytest.mark.parametrize(
    ("hard", "now", "events"), [(True, ASK_PATIENCE, [Event.UNANSWERED]), (True, 0, []), (False, ASK_PATIENCE, [])]
)
def test_only_a_hard_eviction_stops_waiting_for_the_eviction_api(hard: bool, now: int, events: list[Event]) -> None:
    assert due(eviction(Event.ASK, hard=hard), now) == events


@pytest.mark.parametrize(
    ("events", "hard", "at"),
    [
        ((), True, BEFORE_KILL),
        ((), False, SECOND),
        ((Event.DELETE,), True, BEFORE_KILL),
        ((Event.DELETE, Event.CLEARED), True, POLL),
        ((Event.ASK,), True, ASK_PATIENCE),
        ((Event.ASK,), False, None),
        ((Event.ASK, Event.ACCEPTED), False, SECOND),
        ((Event.ASK, Event.REFUSED), False, None),
    ],
)
def test_the_next_look_is_when_a_time_is_over_and_only_a_stop_is_polled(
    events: tuple[Event, ...], hard: bool, at: int | None
) -> None:
    assert next_event_at(eviction(*events, hard=hard), 0) == at


def test_a_written_status_is_looked_at_when_its_time_is_over() -> None:
    """Then once more: a list that was silent for as long is old."""
    made = eviction(Event.WRITE, Event.CLEARED, Event.STOPPED)
    made.wrote(7, 0)
    assert (next_event_at(made, 0), next_event_at(made, VERIFY)) == (VERIFY, 2 * VERIFY)


def test_a_written_status_is_watched_for_a_while_after_the_containers_have_stopped() -> None:
    made = eviction(Event.WRITE, Event.CLEARED)
    assert due(made, 0, stopped=True) == [Event.STOPPED]
    made.receive(Event.STOPPED, 0)
    assert made.stage is Stage.WRITING
    made.wrote(7, 0)
    assert due(made, VERIFY) == [Event.ENDED], "the API server lists no such pod any more"


def test_a_pod_that_the_kubelet_stops_is_gone_when_the_api_server_no_longer_lists_it() -> None:
    made = eviction(Event.ASK, Event.ACCEPTED, hard=False)
    assert made.containers is Containers.KEPT
    assert due(made, 0) == [Event.ENDED]
    assert not nothing_runs(made, PodSnapshot(), Runtime()), "the pods are not listed yet"
    assert not nothing_runs(eviction(Event.ASK, Event.REFUSED, hard=False), NO_PODS, Runtime()), "it stays"
