"""Events that are counted, bounded, and never in the way."""

import pytest

from evictd.act.cluster.events import QUEUE, EventRecorder
from evictd.act.cluster.outbox import Outbox
from evictd.clients.kube.events import EventClient
from evictd.clients.kube.transport import Transport
from evictd.core.decision import RecordEvent
from evictd.core.pod import Pod
from tests.kube import models
from tests.kube.api_server import ApiServer
from tests.kube.driving import Driver
from tests.kube.objects import sample
from tests.kube.store import Json

MET = RecordEvent(type="Warning", reason="EvictionThresholdMet", message="Attempting to reclaim memory")
VICTIM = Pod(name="memory-hog", namespace="default", uid="fd97ee93-695a-4214-987b-5435fd7df02c")


class Rig:
    def __init__(self, api: ApiServer, transport: Transport) -> None:
        self.api = api
        self.driver = Driver()
        self.recorder = EventRecorder(EventClient(transport, "n1"), "n1", wall=self.driver.wall, stir=lambda: None)
        self.outbox = Outbox([self.recorder], clock=self.driver.clock, random=lambda: 0.5)

    def events(self) -> list[Json]:
        return self.api.store.list("events")[0]


@pytest.fixture
def rig(api: ApiServer, transport: Transport) -> Rig:
    """A recorder with its outbox on the test's clock."""
    return Rig(api, transport)


def test_the_victims_event_is_the_kubelets_to_the_letter(rig: Rig) -> None:
    """Reason, note and annotations as recorded; by the API's types valid."""
    recorded = next(event for event in sample("events")["items"] if event["reason"] == "Evicted")
    event = RecordEvent(type="Warning", reason="Evicted", message=recorded["message"])
    rig.recorder.record(event, rig.driver.now, pod=VICTIM, annotations=recorded["metadata"]["annotations"])
    rig.driver.settle(rig.outbox)
    (found,) = rig.events()
    assert models.faults(found) == []
    assert (found["reason"], found["note"], found["type"]) == ("Evicted", recorded["message"], "Warning")
    assert found["metadata"]["annotations"] == recorded["metadata"]["annotations"]
    assert found["regarding"]["uid"] == VICTIM.uid


def test_the_same_again_is_a_count_once_a_minute(rig: Rig) -> None:
    """An hour of pressure, an event every ten seconds: one object, some sixty patches."""
    for _ in range(360):
        rig.recorder.record(MET, rig.driver.now)
        rig.driver.run(rig.outbox, 10)
    rig.driver.run(rig.outbox, 61)
    (found,) = rig.events()
    assert found["series"]["count"] == 360
    assert len(rig.api.requests("create events")) == 1
    assert len(rig.api.requests("patch events")) <= 61


def test_what_happened_before_the_first_answer_is_counted(rig: Rig) -> None:
    """While the server is away repetitions pile up to a number, not to a queue."""
    rig.api.fault(status=503)
    for _ in range(50):
        rig.recorder.record(MET, rig.driver.now)
        rig.driver.run(rig.outbox, 1)
    rig.api.faults.clear()
    rig.driver.run(rig.outbox, 180)
    (found,) = rig.events()
    assert found["series"]["count"] == 50


def test_the_queue_is_bounded(rig: Rig) -> None:
    """A thousand different events without a server: the oldest go, and how many is known."""
    for number in range(1000):
        rig.recorder.record(RecordEvent(type="Normal", reason="R", message=str(number)), rig.driver.now)
    assert rig.recorder.dropped == 1000 - QUEUE
    rig.driver.run(rig.outbox, 60)
    notes = {event["note"] for event in rig.events()}
    assert len(notes) == QUEUE
    assert "999" in notes


def test_never_more_than_five_a_second(rig: Rig) -> None:
    """However many there are."""
    for number in range(60):
        rig.recorder.record(RecordEvent(type="Normal", reason="R", message=str(number)), rig.driver.now)
    rig.driver.run(rig.outbox, 60)
    assert len(rig.events()) == 60
    assert rig.driver.most_in_a_second() <= 5


def test_a_long_quiet_series_is_over(rig: Rig) -> None:
    """After ten minutes the next one is a new event."""
    rig.recorder.record(MET, rig.driver.now)
    rig.driver.run(rig.outbox, 700)
    rig.recorder.record(MET, rig.driver.now)
    rig.driver.run(rig.outbox, 1)
    assert len(rig.events()) == 2


def test_an_event_that_expired_in_the_api_is_made_anew(rig: Rig) -> None:
    """They live an hour there."""
    rig.recorder.record(MET, rig.driver.now)
    rig.driver.settle(rig.outbox)
    name = rig.events()[0]["metadata"]["name"]
    rig.api.store.remove(("events", "default", name))
    rig.recorder.record(MET, rig.driver.now)
    rig.driver.run(rig.outbox, 70)
    assert len(rig.events()) == 1


def test_events_that_are_forbidden_hold_nobody_up(rig: Rig) -> None:
    """Refused, dropped, counted."""
    rig.api.fault(verb="create", resource="events", status=403)
    for number in range(3):
        rig.recorder.record(RecordEvent(type="Normal", reason="R", message=str(number)), rig.driver.now)
    rig.driver.run(rig.outbox, 5)
    assert rig.recorder.dropped == 3
    assert rig.recorder.call(rig.driver.now) is None
