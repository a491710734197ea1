"""Events are counted and bounded, and delay nothing else."""

import re
from dataclasses import replace
from typing import ClassVar

import pytest

from evictd.act.cluster.events import FORGET, QUEUE, EventRate, EventRecorder, eviction_identity, pod_reference
from evictd.act.cluster.request_queue import RequestQueue
from evictd.clients.kube.events import CONTROLLER, EventClient, KubeEvent
from evictd.clients.kube.transport import Transport
from evictd.core.model.decision import RecordEvent
from evictd.core.model.pod import Pod
from evictd.core.model.state import Victim
from evictd.core.units.duration import SECOND
from tests.kube import models
from tests.kube.api import Api
from tests.kube.api_server import ApiServer
from tests.kube.driving import SILENT_BELL, Driver
from tests.kube.objects import sample
from tests.kube.store import Json

MET = RecordEvent(type="Warning", reason="EvictionThresholdMet", message="Attempting to reclaim memory")
VICTIM = Pod(name="memory-hog", namespace="default", uid="fd97ee93-695a-4214-987b-5435fd7df02c")


class Rig:
    on_any_server: ClassVar[bool] = True

    def __init__(self, api: Api, transport: Transport) -> None:
        self.api = api
        self.driver = Driver()
        self.recorder = EventRecorder(EventClient(transport, "n1"), "n1", self.driver.clocks, SILENT_BELL)
        self.queue = RequestQueue([self.recorder], self.driver.clocks)

    def events(self) -> list[Json]:
        """Those of evictd; a real server has some of its own."""
        return self.api.store.list("events", where=lambda each: each.get("reportingController") == CONTROLLER)[0]


class DoubleRig(Rig):
    on_any_server = False
    api: ApiServer


@pytest.fixture
def rig(api: Api, transport: Transport) -> Rig:
    """A recorder with its queue on the test's clock."""
    return (DoubleRig if isinstance(api, ApiServer) else Rig)(api, transport)


def test_the_victims_event_is_the_kubelets_to_the_letter(rig: Rig) -> None:
    """Reason, note and annotations as recorded; by the API's types valid."""
    recorded = next(event for event in sample("events")["items"] if event["reason"] == "Evicted")
    event = RecordEvent(type="Warning", reason="Evicted", message=recorded["message"])
    rig.recorder.record(
        event, rig.driver.now, about=pod_reference(VICTIM), annotations=recorded["metadata"]["annotations"]
    )
    rig.driver.settle(rig.queue)
    (found,) = rig.events()
    assert models.faults({"apiVersion": "events.k8s.io/v1", "kind": "Event", **found}) == []
    assert (found["reason"], found["note"], found["type"]) == ("Evicted", recorded["message"], "Warning")
    assert found["metadata"]["annotations"] == recorded["metadata"]["annotations"]
    assert found["regarding"]["uid"] == VICTIM.uid


@pytest.mark.parametrize("sent", [True, False], ids=["sent", "killed before"])
def test_an_eviction_has_one_event_whichever_run_writes_it(rig: Rig, transport: Transport, *, sent: bool) -> None:
    """The first run may be killed between the request that deletes the pod and that of its event."""
    event, driver = RecordEvent(type="Warning", reason="Evicted", message="low on memory"), rig.driver
    chosen_at = driver.now
    rig.recorder.record(
        event, driver.now, about=pod_reference(VICTIM), identity=eviction_identity(VICTIM.uid, chosen_at)
    )
    if sent:
        driver.settle(rig.queue)
    later = EventRecorder(EventClient(transport, "n1"), "n1", driver.clocks, SILENT_BELL)
    queue = RequestQueue([later], driver.clocks)
    victim = Victim(uid=VICTIM.uid, full_name=VICTIM.full_name, message="low on memory", chosen_at=chosen_at)
    later.record_again(victim, driver.now + SECOND)
    driver.settle(queue)
    (found,) = rig.events()
    assert (found["reason"], found["note"], found["regarding"]["uid"]) == ("Evicted", "low on memory", VICTIM.uid)
    assert models.faults({"apiVersion": "events.k8s.io/v1", "kind": "Event", **found}) == []


def test_neither_an_eviction_of_long_ago_nor_a_shortened_grace_has_an_event_of_the_next_run(rig: Rig) -> None:
    """The API server deletes events after an hour, so one would be made anew. Of the other pod a user asked for the end."""
    victim = Victim(uid=VICTIM.uid, full_name=VICTIM.full_name, chosen_at=rig.driver.now, message="low on memory")
    rig.recorder.record_again(victim, rig.driver.now + FORGET + 1)
    rig.recorder.record_again(replace(victim, message=""), rig.driver.now)
    rig.driver.settle(rig.queue)
    assert rig.events() == []


def test_the_same_again_is_a_count_once_a_minute(rig: Rig) -> None:
    """An hour of pressure, an event every ten seconds: one object, some sixty patches."""
    for _ in range(360):
        rig.recorder.record(MET, rig.driver.now)
        rig.driver.run(rig.queue, 10)
    rig.driver.run(rig.queue, 61)
    (found,) = rig.events()
    assert found["series"]["count"] == 360
    assert len(rig.api.requests("create events")) == 1
    assert len(rig.api.requests("patch events")) <= 61


def test_what_happened_before_the_first_answer_is_counted(rig: DoubleRig) -> None:
    """While the server is away repetitions pile up to a number, not to a queue."""
    rig.api.fault(status=503)
    for _ in range(50):
        rig.recorder.record(MET, rig.driver.now)
        rig.driver.run(rig.queue, 1)
    rig.api.faults.clear()
    rig.driver.run(rig.queue, 180)
    (found,) = rig.events()
    assert found["series"]["count"] == 50


def test_the_event_of_a_pod_with_a_long_name_is_valid(rig: Rig) -> None:
    """The API takes no name of an event in which a part between dots ends with a hyphen, or is empty."""
    for ending in ("-", "."):
        long = replace(VICTIM, name=f"{'a' * 60}.{'b' * 60}.{'c' * 60}.{'d' * 16}{ending}{'e' * 20}")
        rig.recorder.record(MET, rig.driver.now, about=pod_reference(long), identity=ending)
    rig.driver.settle(rig.queue)
    for each in rig.events():
        assert re.fullmatch(
            r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", each["metadata"]["name"]
        )
    assert len(rig.events()) == 2


def test_the_queue_is_bounded(rig: Rig) -> None:
    """A thousand different events without a server: the oldest go, and how many is known."""
    for number in range(1000):
        rig.recorder.record(RecordEvent(type="Normal", reason="R", message=str(number)), rig.driver.now)
    assert rig.recorder.dropped == 1000 - QUEUE
    rig.driver.run(rig.queue, 60)
    notes = {event["note"] for event in rig.events()}
    assert len(notes) == QUEUE
    assert "999" in notes


def test_never_more_than_five_a_second(rig: Rig) -> None:
    """However many there are."""
    for number in range(60):
        rig.recorder.record(RecordEvent(type="Normal", reason="R", message=str(number)), rig.driver.now)
    rig.driver.run(rig.queue, 60)
    assert len(rig.events()) == 60
    assert rig.driver.most_in_a_second() <= 5


class CountingClient(EventClient):
    """Counts what it would create."""

    def __init__(self) -> None:
        self.created = 0

    def create(self, event: KubeEvent, name: str, time: str) -> None:
        self.created += 1


def test_event_record_qps_and_burst_bound_the_requests() -> None:
    """A burst of three, then one per second; `due_at` names the time of the next one."""
    client, now = CountingClient(), 50 * SECOND
    rate = EventRate(qps=1, burst=3)
    recorder = EventRecorder(client, "n1", Driver().clocks, SILENT_BELL, rate=rate)
    for number in range(8):
        recorder.record(RecordEvent(type="Normal", reason="R", message=str(number)), now)
    sent_at = []
    while (due := recorder.due_at(now)) is not None:
        now = max(now, due)
        call = recorder.call(now)
        assert call is not None
        call()
        sent_at.append(now // SECOND - 50)
    assert sent_at == [0, 0, 0, 1, 2, 3, 4, 5]


def test_a_long_quiet_series_is_over(rig: Rig) -> None:
    """After ten minutes the next one is a new event."""
    rig.recorder.record(MET, rig.driver.now)
    rig.driver.run(rig.queue, 700)
    rig.recorder.record(MET, rig.driver.now)
    rig.driver.run(rig.queue, 1)
    assert len(rig.events()) == 2


def test_an_event_that_expired_in_the_api_is_made_anew(rig: Rig) -> None:
    """They live an hour there."""
    rig.recorder.record(MET, rig.driver.now)
    rig.driver.settle(rig.queue)
    name = rig.events()[0]["metadata"]["name"]
    rig.api.store.remove(("events", "default", name))
    rig.recorder.record(MET, rig.driver.now)
    rig.driver.run(rig.queue, 70)
    assert len(rig.events()) == 1


def test_events_that_are_forbidden_delay_nothing_else(rig: DoubleRig) -> None:
    """Refused, dropped, counted."""
    rig.api.fault(verb="create", resource="events", status=403)
    for number in range(3):
        rig.recorder.record(RecordEvent(type="Normal", reason="R", message=str(number)), rig.driver.now)
    rig.driver.run(rig.queue, 5)
    assert rig.recorder.dropped == 3
    assert rig.recorder.call(rig.driver.now) is None
