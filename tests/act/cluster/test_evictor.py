"""Each method of eviction, beside a kubelet that behaves as observed and without one."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from typing import ClassVar

import pytest

from evictd.act.cluster.eviction_events import POLL
from evictd.act.cluster.pod_eviction import BEFORE_KILL
from evictd.act.cluster.request_queue import PER_SECOND
from evictd.act.cluster.wiring import Cluster
from evictd.codec.pods.pod import decode_pod
from evictd.config.settings import ClusterSettings
from evictd.core.model.config import EvictionMethod
from evictd.core.model.decision import EvictionCause, EvictionReason, EvictPod, PodCondition
from evictd.core.model.observation import EvictionAnswerKind
from evictd.core.model.pod import Pod
from evictd.core.model.signal import NodeCondition, Signal
from evictd.core.model.threshold import Threshold, ThresholdValue
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import parse_quantity
from evictd.errors import ApiRefusedError
from tests.kube.api import Api
from tests.kube.api_server import ApiServer
from tests.kube.driving import Driver, FakeStopper, cluster_of
from tests.kube.kubelet import Kubelet
from tests.kube.objects import pod
from tests.kube.store import Json
from tests.kube.waiting import eventually

MEMORY = NodeCondition.MEMORY_PRESSURE
MESSAGE = "The node was low on resource: memory. "


class Rig:
    """A cluster's face on n1 with its watch running, a kubelet double, and the test's clock."""

    on_any_server: ClassVar[bool] = True

    def __init__(self, api: Api) -> None:
        self.api = api
        self.driver = Driver()
        self.kubelet = Kubelet(api.store, "n1")
        self.stopper = FakeStopper(self.kubelet.containers)
        self._cluster: Cluster | None = None

    def begin(self, termination: EvictionMethod = EvictionMethod.AUTO, *, beside_kubelet: bool = True) -> Cluster:
        if beside_kubelet:
            self.kubelet.sync()
        settings = ClusterSettings(kubeconfig=str(self.api.kubeconfig()), pod_termination=termination)
        self._cluster = cluster_of(self.api, self.driver, self.stopper, settings)
        self._cluster.watch.start()
        eventually(lambda: self.cluster.watch.snapshot.synced)
        return self._cluster

    def start(self, termination: EvictionMethod = EvictionMethod.AUTO, *, beside_kubelet: bool = True) -> Cluster:
        """Begin, and have the first report sent."""
        self.begin(termination, beside_kubelet=beside_kubelet)
        self.cluster.reporter.report([], self.driver.now)
        self.driver.settle(self.cluster.queue)
        self.api.forget_requests()
        return self.cluster

    @property
    def cluster(self) -> Cluster:
        assert self._cluster is not None
        return self._cluster

    def pod(self, name: str = "a", **how: object) -> Pod:
        made = self.api.store.create("pods", pod(name, **how))  # type: ignore[arg-type]
        self.kubelet.containers.start(made["metadata"]["uid"], "c")
        victim = decode_pod(made)
        if self._cluster is not None:
            eventually(lambda: victim.uid in self.cluster.watch.snapshot.pods)
        return victim

    def until(self, condition: object, seconds: float = 120) -> None:
        self.driver.until(self.cluster.queue, condition, seconds)  # type: ignore[arg-type]

    def object(self, name: str = "a") -> Json | None:
        return self.api.store.get(("pods", "default", name))

    def gone(self, victim: Pod) -> bool:
        """Advance as the loop does; whether nothing of it runs any more."""
        self.cluster.evictor.advance(self.driver.now)
        return victim.uid in self.cluster.evictor.cleaned_up()

    def verbs(self) -> list[str]:
        return [line.what for line in self.api.requests(watches=False)]

    def close(self) -> None:
        if self._cluster is not None:
            self._cluster.watch.close()
            self._cluster.transport.close()


class DoubleRig(Rig):
    """A rig on the API server double, with what only that can do."""

    on_any_server = False
    api: ApiServer

    def waits(self) -> tuple[int | None, ...]:
        """Return for how long the thread of the stops and that of the requests sleep if nothing wakes them, in nanoseconds."""
        return tuple(each.step(self.driver.now) for each in self.cluster.queue.queues[1:])


@pytest.fixture
def rig(api: Api) -> Iterator[Rig]:
    """Closed afterwards."""
    made = (DoubleRig if isinstance(api, ApiServer) else Rig)(api)
    yield made
    made.close()


def decision(victim: Pod, *, hard: bool, grace: int = 1, shortens: bool = False) -> EvictPod:
    value = ThresholdValue(quantity=parse_quantity("1Gi"))
    threshold = Threshold(signal=Signal.MEMORY_AVAILABLE, value=value, grace_period=0 if hard else 30 * SECOND)
    condition = PodCondition(
        type="DisruptionTarget", status="True", reason="TerminationByKubelet", message=MESSAGE, observed_generation=1
    )
    return EvictPod(
        pod=victim,
        grace_period_seconds=grace,
        message=MESSAGE,
        because=EvictionCause(reason=EvictionReason.PRESSURE, threshold=threshold),
        annotations={"starved_resource": "memory"},
        condition=condition,
        shortens=shortens,
    )


def test_hard_stops_at_once_marks_and_deletes(rig: Rig) -> None:
    """Condition first, containers beside the API; the object goes; nothing was restarted."""
    cluster = rig.start()
    victim = rig.pod()
    rig.api.forget_requests()
    with rig.kubelet.running():
        cluster.reporter.report([MEMORY], rig.driver.now)
        cluster.evictor.begin(decision(victim, hard=True), rig.driver.now)
        assert rig.stopper.stops == []  # the conditions are not shown yet
        rig.until(lambda: rig.gone(victim) and rig.object() is None and "create events" in rig.verbs())
    asked = (each for each in rig.verbs() if each != "create events")  # which wait for nothing
    order = [each for each, _ in groupby(asked)]  # one that meets a write of the kubelet is repeated
    assert order[:4] == ["patch nodes/status", "patch nodes", "patch pods/status", "delete pods"]
    assert rig.stopper.stops == [(victim.uid, 1)]
    mark = rig.api.requests("patch pods/status")[0].body
    assert mark["status"]["conditions"][0]["type"] == "DisruptionTarget"
    assert rig.api.requests("delete pods")[0].body["preconditions"] == {"uid": victim.uid}


def test_what_does_not_last_for_the_grace_does_not_wait_for_the_conditions(rig: Rig) -> None:
    """At 500 MiB/s the half second would be 250 MiB."""
    cluster = rig.start()
    victim = rig.pod()
    made = decision(victim, hard=True, grace=0)
    with rig.kubelet.running():
        cluster.reporter.report([MEMORY], rig.driver.now)
        cluster.evictor.begin(replace(made, because=replace(made.because, fitted=True)), rig.driver.now)
        assert rig.stopper.stops == [(victim.uid, 0)]
        rig.until(lambda: rig.gone(victim) and rig.object() is None)


def test_a_pod_to_be_frozen_does_not_wait_for_the_conditions(rig: Rig) -> None:
    cluster = rig.start()
    victim = rig.pod()
    with rig.kubelet.running():
        cluster.reporter.report([MEMORY], rig.driver.now)
        cluster.evictor.begin(replace(decision(victim, hard=True, grace=1), freeze=True), rig.driver.now)
        assert rig.stopper.frozen == [victim.uid]
        rig.until(lambda: rig.gone(victim) and rig.object() is None)


def test_hard_does_not_wait_long_for_the_conditions(rig: DoubleRig) -> None:
    """With the API server away the containers are stopped half a second later at most, and nothing is deleted twice."""
    cluster = rig.start()
    victim = rig.pod()
    rig.api.fault(status=503)
    cluster.reporter.report([MEMORY], rig.driver.now)
    begun = rig.driver.now
    cluster.evictor.begin(decision(victim, hard=True), begun)
    rig.until(lambda: rig.stopper.stops)
    assert rig.driver.now - begun < SECOND
    assert rig.gone(victim)
    assert rig.object() is not None


def test_a_pod_that_a_kubelet_started_again_while_the_server_is_away_is_stopped_again_when_chosen_again(
    rig: DoubleRig,
) -> None:
    cluster = rig.start()
    victim = rig.pod()
    rig.api.fault(status=503)
    cluster.evictor.begin(decision(victim, hard=True), rig.driver.now)
    rig.until(lambda: rig.gone(victim))
    rig.kubelet.containers.start(victim.uid, "c")
    cluster.evictor.begin(decision(victim, hard=True), rig.driver.now)
    rig.until(lambda: rig.gone(victim))
    assert rig.stopper.stops == [(victim.uid, 1), (victim.uid, 1)]
    assert not rig.kubelet.containers.running(victim.uid)


def test_no_status_is_written_while_a_pod_that_was_started_again_is_being_stopped_again(rig: DoubleRig) -> None:
    """The server may be back within its grace."""
    cluster = rig.start(EvictionMethod.STATUS)
    victim = rig.pod()
    rig.api.fault(status=503)
    cluster.evictor.begin(decision(victim, hard=False, grace=30), rig.driver.now)
    rig.until(lambda: rig.gone(victim))
    rig.kubelet.containers.start(victim.uid, "c")
    rig.stopper.slow.add(victim.uid)
    cluster.evictor.begin(decision(victim, hard=False, grace=30), rig.driver.now)
    rig.api.faults.clear()
    rig.api.forget_requests()
    rig.driver.run(cluster.queue, 25)
    assert rig.api.requests("patch pods/status") == []
    rig.kubelet.containers.stop(victim.uid)
    rig.until(lambda: rig.gone(victim) and rig.api.requests("patch pods/status"))


def test_a_pod_whose_every_request_is_forbidden_is_remembered_until_it_has_stopped_again(rig: DoubleRig) -> None:
    """Else its end would not be noticed, and it could not be chosen any more."""
    cluster = rig.start()
    victim = rig.pod()
    rig.api.fault(status=403)
    cluster.evictor.begin(decision(victim, hard=True), rig.driver.now)
    rig.until(lambda: cluster.evictor.in_flight() == () and rig.gone(victim))
    rig.kubelet.containers.start(victim.uid, "c")
    rig.stopper.slow.add(victim.uid)
    cluster.evictor.begin(decision(victim, hard=True), rig.driver.now)
    rig.driver.now += 130 * SECOND
    assert not rig.gone(victim)
    assert rig.stopper.forgotten == []
    rig.kubelet.containers.stop(victim.uid)
    assert rig.gone(victim)


def test_a_pod_whose_deletion_was_forbidden_is_asked_for_again_when_chosen_again(rig: DoubleRig) -> None:
    """The rights are back, and the kubelet has started its containers again: stopping them alone would evict nothing."""
    cluster = rig.start()
    victim = rig.pod()
    rig.api.fault(status=403)
    cluster.evictor.begin(decision(victim, hard=True), rig.driver.now)
    rig.until(lambda: cluster.evictor.in_flight() == () and rig.gone(victim))
    assert cluster.evictor.problems
    rig.api.faults.clear()
    rig.api.forget_requests()
    rig.kubelet.containers.start(victim.uid, "c")
    with rig.kubelet.running():
        cluster.evictor.begin(decision(victim, hard=True), rig.driver.now)
        assert cluster.evictor.problems == ()
        rig.until(lambda: rig.gone(victim) and rig.object() is None)
    assert rig.api.requests("delete pods")
    assert [uid for uid, _ in rig.stopper.stops] == [victim.uid] * 2


def test_after_an_outage_everything_is_made_good_in_order_and_without_a_storm(rig: DoubleRig) -> None:
    """Conditions and taint, the pod, the events; at most five a second of each; the pod is not restarted for good."""
    cluster = rig.start()
    victim = rig.pod()
    rig.api.fault(status=503)
    cluster.reporter.report([MEMORY], rig.driver.now)
    cluster.evictor.begin(decision(victim, hard=True), rig.driver.now)
    rig.driver.run(cluster.queue, 300)
    rig.api.faults.clear()
    rig.api.forget_requests()
    rig.driver.sent.clear()
    rig.kubelet.sync()  # it has started the containers again meanwhile
    with rig.kubelet.running():
        rig.until(lambda: rig.object() is None and {"create events", "patch nodes"} <= set(rig.verbs()))
    order = rig.verbs()
    assert order.index("patch nodes/status") < order.index("patch nodes")
    assert order.index("patch pods/status") < order.index("delete pods")
    assert rig.driver.most_in_a_second() <= 2 * PER_SECOND  # one queue for conditions, one for the others
    assert rig.object() is None


def test_soft_asks_and_lets_the_kubelet_stop(rig: Rig) -> None:
    """Endpoints drain, preStop runs: nothing is stopped by us."""
    cluster = rig.start()
    victim = rig.pod()
    with rig.kubelet.running():
        cluster.evictor.begin(decision(victim, hard=False, grace=7), rig.driver.now)
        rig.until(lambda: rig.gone(victim))
    assert rig.stopper.stops == []
    (asked,) = rig.api.requests("create pods/eviction")
    assert asked.body["deleteOptions"] == {"gracePeriodSeconds": 7, "preconditions": {"uid": victim.uid}}


def refused(cluster: Cluster) -> set[str]:
    """Uids of the pods that a budget protects at the last answer."""
    return {each.uid for each in cluster.evictor.answers() if each.kind is EvictionAnswerKind.REFUSED}


def test_a_budget_makes_a_soft_eviction_take_the_next_candidate(rig: Rig) -> None:
    """The refusal is reported with the server's Retry-After, and the pod stays; the core chooses among the others."""
    cluster = rig.start()
    protected = rig.pod("a", labels={"app": "t"})
    others = [rig.pod("b"), rig.pod("c")]
    rig.api.budget("one", {"app": "t"}, allowed=None)
    cluster.evictor.begin(decision(protected, hard=False), rig.driver.now)
    rig.until(lambda: refused(cluster) == {protected.uid})
    (answer,) = cluster.evictor.answers()
    assert (answer.kind, answer.retry_after) == (EvictionAnswerKind.REFUSED, 10 * SECOND)
    assert not rig.gone(protected)
    with rig.kubelet.running():
        for other in others:
            rig.driver.now += 5 * SECOND
            cluster.evictor.begin(decision(other, hard=False), rig.driver.now)
            rig.until(lambda: rig.gone(other))  # noqa: B023 - asked within this turn
            assert refused(cluster) == {protected.uid}
    agreed = {each.uid for each in cluster.evictor.answers() if each.kind is EvictionAnswerKind.AGREED}
    assert agreed == {other.uid for other in others}
    eventually(lambda: set(cluster.watch.snapshot.pods) == {protected.uid})
    assert rig.object("a") is not None
    assert rig.api.requests("delete pods") == []


def evicted_events(rig: Rig) -> list[str]:
    """The names of the pods that have an Evicted event."""
    rig.driver.settle(rig.cluster.queue)
    events, _ = rig.api.store.list("events")
    return [event["regarding"]["name"] for event in events if event["reason"] == "Evicted"]


def test_the_event_says_after_the_kubelet_s_message_why_this_pod_went(rig: Rig) -> None:
    cluster = rig.start()
    why = "Evicted default/a (21Mi): its priority -10 is below 0 of a pod of another namespace (249Mi)."
    long = replace(decision(rig.pod("b"), hard=True), message="x" * 2000)
    cluster.evictor.begin(decision(rig.pod("a"), hard=True), rig.driver.now, why=why)
    cluster.evictor.begin(long, rig.driver.now, why=why)
    assert sorted(evicted_events(rig)) == ["a", "b"]
    notes = {each["regarding"]["name"]: each["note"] for each in rig.api.store.list("events")[0]}
    assert notes["a"] == MESSAGE + why
    assert len(notes["b"]) == 1024
    assert notes["b"].endswith("x" + why)


def test_what_a_budget_refuses_was_no_eviction(rig: Rig) -> None:
    """No event and nothing to count, but a refusal; the Evicted event follows once the server has agreed."""
    cluster = rig.start()
    victim = rig.pod("a", labels={"app": "t"})
    rig.api.budget("one", {"app": "t"}, allowed=None)
    cluster.evictor.begin(decision(victim, hard=False), rig.driver.now)
    rig.until(lambda: refused(cluster))
    assert evicted_events(rig) == []
    assert cluster.evictor.take_evicted() == ()
    (answer,) = cluster.evictor.answers()
    assert (answer.uid, answer.kind, answer.retry_after) == (victim.uid, EvictionAnswerKind.REFUSED, 10 * SECOND)
    assert "disruption budget" in answer.detail

    rig.api.budget("one", {"app": "t"}, allowed=1)
    cluster.evictor.begin(decision(victim, hard=False), rig.driver.now)
    assert evicted_events(rig) == ["a"]
    (evicted,) = [event for event in rig.api.store.list("events")[0] if event["reason"] == "Evicted"]
    assert (evicted["type"], evicted["note"]) == ("Warning", MESSAGE)
    assert cluster.evictor.take_evicted() == (decision(victim, hard=False),)
    assert [each.kind for each in cluster.evictor.answers()] == [EvictionAnswerKind.AGREED]


def test_what_was_refused_a_moment_before_a_hard_threshold_shortens_it_is_told(rig: Rig) -> None:
    """The refusal comes while the loop decides; the eviction was not announced before."""
    cluster = rig.start()
    victim = rig.pod("a", labels={"app": "t"})
    rig.api.budget("one", {"app": "t"}, allowed=0)
    cluster.evictor.begin(decision(victim, hard=False), rig.driver.now)
    rig.until(lambda: refused(cluster))
    cluster.evictor.begin(decision(victim, hard=True, shortens=True), rig.driver.now)
    rig.until(lambda: evicted_events(rig))
    assert [each.pod.uid for each in cluster.evictor.take_evicted()] == [victim.uid]


def test_past_a_budget_the_eviction_is_told_before_anything_is_killed(rig: Rig) -> None:
    """Once, although the pod was asked for again and again."""
    cluster = rig.start(EvictionMethod.EVICTION_API)
    victim = rig.pod("a", labels={"app": "t"})
    rig.api.budget("one", {"app": "t"}, allowed=0)
    told_when_stopped: list[int] = []
    rig.stopper.on_stop = lambda: told_when_stopped.append(len(cluster.evictor.take_evicted()))
    with rig.kubelet.running():
        cluster.evictor.begin(decision(victim, hard=True), rig.driver.now)
        rig.until(lambda: rig.object() is None)
    assert told_when_stopped == [1]
    assert evicted_events(rig) == ["a"]


def test_a_pod_that_another_party_removed_first_was_not_evicted_by_evictd(rig: Rig) -> None:
    """404 for what was only asked."""
    cluster = rig.start()
    victim = rig.pod()
    rig.api.store.remove(("pods", "default", "a"))
    cluster.evictor.begin(decision(victim, hard=False), rig.driver.now)
    rig.until(lambda: rig.gone(victim))
    assert evicted_events(rig) == []
    assert cluster.evictor.take_evicted() == ()


def test_a_pod_that_stopped_before_the_server_answered_is_done_though_its_record_is_gone(rig: DoubleRig) -> None:
    """The loop drops the terminator's record as soon as the pod is cleaned up; the deletion may be sent long after."""
    cluster = rig.start()
    victim = rig.pod()
    rig.api.fault(status=503)
    cluster.evictor.begin(decision(victim, hard=True), rig.driver.now)
    rig.until(lambda: rig.gone(victim))
    rig.kubelet.containers.start(victim.uid, "c")  # as if never known to have stopped
    rig.api.faults.clear()
    rig.until(lambda: cluster.evictor.in_flight() == ())
    assert len(rig.api.requests("delete pods")) >= 1


def test_auto_deletes_past_the_budget_after_the_timeout(rig: Rig) -> None:
    """A bounded wait: 60 s after the first refusal the pod goes all the same."""
    cluster = rig.start()
    victim = rig.pod("a", labels={"app": "t"})
    rig.api.budget("one", {"app": "t"}, allowed=0)
    with rig.kubelet.running():
        first = rig.driver.now
        for _ in range(7):
            again = replace(decision(victim, hard=False), refused_since=first)
            cluster.evictor.begin(again, rig.driver.now)
            rig.until(lambda: refused(cluster) or rig.object() is None)
            rig.driver.now += 11 * SECOND
        rig.until(lambda: rig.object() is None)
    assert 5 <= len(rig.api.requests("create pods/eviction")) <= 7
    assert len(rig.api.requests("delete pods")) == 1


def test_the_eviction_api_by_name_is_never_bypassed_by_a_soft_threshold(rig: Rig) -> None:
    """The administrator asked for budgets to be honoured."""
    cluster = rig.start(EvictionMethod.EVICTION_API)
    victim = rig.pod("a", labels={"app": "t"})
    rig.api.budget("one", {"app": "t"}, allowed=0)
    for _ in range(20):
        cluster.evictor.begin(decision(victim, hard=False), rig.driver.now)
        rig.until(lambda: refused(cluster))
        rig.driver.now += 11 * SECOND
    assert rig.api.requests("delete pods") == []


def test_a_hard_threshold_bypasses_a_budget_after_a_bounded_wait(rig: Rig) -> None:
    """Asked by name for the Eviction API: ten seconds of asking, then deleted and stopped."""
    cluster = rig.start(EvictionMethod.EVICTION_API)
    victim = rig.pod("a", labels={"app": "t"})
    rig.api.budget("one", {"app": "t"}, allowed=0)
    begun = rig.driver.now
    with rig.kubelet.running():
        cluster.evictor.begin(decision(victim, hard=True), begun)
        rig.driver.run(cluster.queue, 9)
        assert rig.stopper.stops == []
        rig.until(lambda: rig.api.requests("delete pods"))
        assert 10 * SECOND <= rig.driver.now - begun < 15 * SECOND
        rig.until(lambda: rig.object() is None)
    assert len(rig.api.requests("delete pods")) == 1


def test_hard_with_the_eviction_api_and_no_answer_stops_all_the_same(rig: DoubleRig) -> None:
    """After three seconds, through the runtime; deleted when the server is back."""
    cluster = rig.start(EvictionMethod.EVICTION_API)
    victim = rig.pod()
    rig.api.fault(status=503)
    cluster.evictor.begin(decision(victim, hard=True), rig.driver.now)
    rig.until(lambda: rig.stopper.stops, seconds=5)
    assert rig.stopper.stops == [(victim.uid, 1)]
    assert rig.object() is not None
    rig.api.faults.clear()
    with rig.kubelet.running():
        rig.until(lambda: rig.object() is None)


def test_a_hard_threshold_shortens_a_soft_eviction(rig: Rig) -> None:
    """The pod in flight gets one second, and is stopped by us as well."""
    cluster = rig.start()
    victim = rig.pod()
    cluster.evictor.begin(decision(victim, hard=False, grace=600), rig.driver.now)
    rig.driver.settle(cluster.queue)
    found = rig.object()
    assert found is not None
    assert found["metadata"]["deletionGracePeriodSeconds"] == 600
    cluster.evictor.begin(decision(victim, hard=True, shortens=True), rig.driver.now)
    rig.driver.settle(cluster.queue)
    found = rig.object()
    assert found is not None
    assert found["metadata"]["deletionGracePeriodSeconds"] == 1
    assert rig.stopper.stops == [(victim.uid, 1)]
    assert len([event for event in rig.api.store.list("events")[0] if event["reason"] == "Evicted"]) == 1


def test_status_without_a_kubelet(rig: Rig) -> None:
    """Stopped first, then Failed, Evicted and DisruptionTarget; the object stays, as the kubelet would leave it."""
    cluster = rig.start(beside_kubelet=False)
    victim = rig.pod()
    cluster.evictor.begin(decision(victim, hard=True), rig.driver.now)
    rig.until(lambda: rig.gone(victim) and cluster.evictor.in_flight() == ())
    found = rig.object()
    assert found is not None
    status = found["status"]
    assert (status["phase"], status["reason"], status["message"]) == ("Failed", "Evicted", MESSAGE)
    assert [c["status"] for c in status["conditions"] if c["type"] == "DisruptionTarget"] == ["True"]
    assert len(rig.api.requests("patch pods/status")) == 2  # the status, and the containers at its version
    assert rig.api.requests("delete pods") == []
    eventually(lambda: all(entry.left_by_evictd for entry in cluster.watch.snapshot.pods.values()))


@pytest.mark.parametrize("hard", [True, False])
def test_the_way_waits_until_it_is_known_whether_a_kubelet_reports(rig: DoubleRig, hard: bool) -> None:
    """The first cycle of a start under pressure: a pod deleted without a kubelet would stay Terminating for ever.

    A hard eviction's containers are stopped all the same, within half a second.
    """
    cluster = rig.begin(beside_kubelet=False)
    victim = rig.pod()
    assert cluster.reporter.kubelet is None
    rig.api.fault(resource="leases", status=503)
    cluster.evictor.begin(decision(victim, hard=hard), rig.driver.now)
    rig.driver.run(cluster.queue, 60)
    assert bool(rig.stopper.stops) is hard
    assert not [what for what in rig.verbs() if what.startswith(("delete", "patch pods", "create pods"))]
    rig.api.faults.clear()
    rig.until(lambda: rig.gone(victim) and cluster.evictor.in_flight() == ())
    found = rig.object()
    assert found is not None
    assert found["status"]["phase"] == "Failed"
    assert rig.api.requests("delete pods") == []


@pytest.mark.parametrize("hard", [True, False])
def test_a_kubelet_that_has_ended_since_the_last_look_is_noticed_before_the_way_is_chosen(
    rig: Rig, *, hard: bool
) -> None:
    """A calm node's lease is read every five minutes: a pod deleted after that would stay Terminating."""
    cluster = rig.start()
    assert cluster.reporter.kubelet is True
    victim = rig.pod()
    spec = {"holderIdentity": "n1", "leaseDurationSeconds": 40, "renewTime": "2026-01-01T00:00:00.000000Z"}
    rig.api.store.update(("leases", "kube-node-lease", "n1"), lambda lease: lease.update(spec=spec))
    rig.driver.now += 60 * SECOND
    cluster.evictor.begin(decision(victim, hard=hard), rig.driver.now)
    rig.until(lambda: rig.gone(victim) and cluster.evictor.in_flight() == ())
    found = rig.object()
    assert found is not None
    assert found["status"]["phase"] == "Failed"
    assert not [what for what in rig.verbs() if what in {"delete pods", "create pods/eviction"}]


def test_a_kubelet_that_has_started_since_the_last_look_is_noticed_before_the_way_is_chosen(rig: Rig) -> None:
    """Else it would start the pod again whose status was written."""
    cluster = rig.start(beside_kubelet=False)
    victim = rig.pod()
    rig.driver.now += 60 * SECOND
    with rig.kubelet.running():
        eventually(lambda: rig.api.store.get(("leases", "kube-node-lease", "n1")))
        cluster.evictor.begin(decision(victim, hard=False), rig.driver.now)
        rig.until(lambda: rig.gone(victim) and rig.object() is None)
    assert "create pods/eviction" in rig.verbs()
    assert rig.stopper.stops == []


def test_without_a_kubelet_a_server_that_is_away_delays_no_eviction_for_long(rig: DoubleRig) -> None:
    """What was known last counts."""
    cluster = rig.start(beside_kubelet=False)
    victim = rig.pod()
    rig.driver.now += 60 * SECOND
    rig.api.fault(status=503)
    cluster.evictor.begin(decision(victim, hard=False, grace=30), rig.driver.now)
    rig.until(lambda: rig.stopper.stops, seconds=4)
    rig.api.faults.clear()
    rig.until(lambda: cluster.evictor.in_flight() == ())
    assert rig.api.requests("delete pods") == []


def test_evictions_one_after_the_other_read_the_lease_once(rig: Rig) -> None:
    """What was found out holds for ten seconds."""
    cluster = rig.start()
    rig.driver.now += 60 * SECOND
    with rig.kubelet.running():
        for name in ("a", "b"):
            cluster.evictor.begin(decision(rig.pod(name), hard=True), rig.driver.now)
        rig.until(lambda: not rig.object("a") and not rig.object("b"))
    assert len(rig.api.requests("get leases")) == 1


def test_status_is_not_written_while_anything_runs(rig: Rig) -> None:
    """A pod that ignores SIGTERM keeps its phase until it is really stopped."""
    cluster = rig.start(beside_kubelet=False)
    victim = rig.pod()
    rig.stopper.slow.add(victim.uid)
    cluster.evictor.begin(decision(victim, hard=False, grace=30), rig.driver.now)
    rig.driver.run(cluster.queue, 25)
    assert not rig.gone(victim)
    assert rig.api.requests("patch pods/status") == []
    rig.kubelet.containers.stop(victim.uid)
    rig.until(lambda: rig.gone(victim) and rig.api.requests("patch pods/status"))


def test_status_beside_a_kubelet_that_starts_the_pod_again_is_repaired_and_then_deleted(rig: Rig) -> None:
    """As observed in one of seven: Running again with our condition on it. Two repairs, then the deletion."""
    cluster = rig.start(EvictionMethod.STATUS)
    victim = rig.pod()

    def come_back() -> None:
        found = rig.object()
        if found is not None and found["status"]["phase"] == "Failed" and "deletionTimestamp" not in found["metadata"]:
            rig.kubelet.containers.restart(victim.uid)
            rig.kubelet.sync()
            version = (rig.object() or {})["metadata"]["resourceVersion"]
            # The test's clock stands until the watch has told it: a busy machine may need longer than the verification lasts.
            eventually(lambda: cluster.watch.snapshot.pods[victim.uid].resource_version == version)

    cluster.evictor.begin(decision(victim, hard=True), rig.driver.now)

    def deleted() -> bool:
        come_back()
        return bool(rig.api.requests("delete pods"))

    rig.until(deleted)
    with rig.kubelet.running():
        rig.until(lambda: rig.object() is None)
    writes = [line for line in rig.api.requests("patch pods/status") if "phase" in line.body["status"]]
    assert len(writes) == 3
    assert len(rig.stopper.stops) == 4


def test_a_pod_that_ended_well_under_our_hands_is_done(rig: Rig) -> None:
    """All exit codes zero: the kubelet may call it Succeeded; it is over either way."""
    cluster = rig.start(EvictionMethod.STATUS)
    victim = rig.pod()
    cluster.evictor.begin(decision(victim, hard=True), rig.driver.now)
    rig.api.store.update(("pods", "default", "a"), lambda item: item["status"].update(phase="Succeeded"))
    rig.until(lambda: cluster.evictor.in_flight() == ())
    assert rig.gone(victim)


def test_another_pod_of_the_same_name_is_never_touched(rig: Rig) -> None:
    """The victim is gone and recreated before we get to it: the newcomer keeps its status and lives."""
    for termination in (EvictionMethod.AUTO, EvictionMethod.EVICTION_API, EvictionMethod.STATUS):
        cluster = rig.start(termination)
        victim = rig.pod()
        rig.api.store.remove(("pods", "default", "a"))
        newcomer = rig.pod()
        before = rig.object()
        for hard in (True, False):
            cluster.evictor.begin(decision(victim, hard=hard), rig.driver.now)
            rig.driver.run(cluster.queue, 30)
        assert rig.object() == before
        assert newcomer.uid not in {uid for uid, _ in rig.stopper.stops}
        assert rig.gone(victim)
        rig.api.store.remove(("pods", "default", "a"))
        rig.close()


def test_what_is_forbidden_falls_back_to_what_is_not(rig: DoubleRig) -> None:
    """Eviction and marking refused: deleted. Deleting refused as well: stopped, and its status written."""
    cluster = rig.start()
    first, second = rig.pod("a"), rig.pod("b")
    rig.api.fault(verb="create", resource="pods/eviction", status=403)
    marking = rig.api.fault(verb="patch", resource="pods/status", status=403)
    with rig.kubelet.running():
        cluster.evictor.begin(decision(first, hard=False), rig.driver.now)
        rig.until(lambda: rig.object("a") is None)
    marking.times = 0
    rig.api.fault(verb="delete", status=403)
    cluster.evictor.begin(decision(second, hard=True), rig.driver.now)
    rig.until(lambda: rig.gone(second) and (rig.object("b") or {})["status"]["phase"] == "Failed")
    assert len(cluster.evictor.problems) == 3
    rig.driver.run(cluster.queue, 300)
    assert not cluster.evictor.problems


def test_what_the_eviction_api_by_name_forbids_stays_under_a_soft_threshold(rig: DoubleRig) -> None:
    """An admission webhook's no is no reason to delete the pod; a hard threshold goes on with the deletion."""
    cluster = rig.start(EvictionMethod.EVICTION_API)
    victim = rig.pod()
    rig.api.fault(verb="create", resource="pods/eviction", status=403)
    cluster.evictor.begin(decision(victim, hard=False), rig.driver.now)
    rig.driver.run(cluster.queue, 300)
    assert [each for each in rig.verbs() if "pods" in each] == ["create pods/eviction"]
    cluster.evictor.begin(decision(victim, hard=False), rig.driver.now)
    rig.driver.settle(cluster.queue)
    (answer,) = cluster.evictor.answers()
    assert (answer.kind, "403" in answer.detail) == (EvictionAnswerKind.REFUSED, True)
    assert cluster.evictor.take_evicted() == ()
    with rig.kubelet.running():
        cluster.evictor.begin(decision(victim, hard=True), rig.driver.now)
        rig.until(lambda: rig.object() is None)


@pytest.mark.slow
def test_a_burst_of_a_hundred_keeps_to_five_requests_a_second(rig: DoubleRig) -> None:
    """Every pod is stopped at once all the same; the API server hears of them in its own time."""
    cluster = rig.start()
    victims = [rig.pod(f"p{number}") for number in range(100)]
    rig.driver.sent.clear()
    with rig.kubelet.running():
        for victim in victims:
            cluster.evictor.begin(decision(victim, hard=True), rig.driver.now)
        assert len(rig.stopper.stops) == 100
        rig.until(lambda: not any(rig.object(f"p{number}") for number in range(100)), seconds=600)
    assert rig.driver.most_in_a_second() <= 2 * PER_SECOND  # one queue for conditions, one for the others


def test_what_was_settled_is_forgotten_after_a_while(rig: Rig) -> None:
    """No growth over a long life."""
    cluster = rig.start(beside_kubelet=False)
    victim = rig.pod()
    cluster.evictor.begin(decision(victim, hard=True), rig.driver.now)
    rig.until(lambda: cluster.evictor.in_flight() == ())
    assert rig.gone(victim)
    rig.driver.now += 130 * SECOND
    assert not rig.gone(victim)
    assert rig.stopper.forgotten == [victim.uid]


def test_a_local_storage_eviction_has_no_condition_to_set(rig: Rig) -> None:
    """Deleted at once, as urgent as a hard threshold."""
    cluster = rig.start()
    victim = rig.pod()
    limit = EvictionCause(reason=EvictionReason.EMPTY_DIR_LIMIT)
    with rig.kubelet.running():
        cluster.evictor.begin(replace(decision(victim, hard=True), condition=None, because=limit), rig.driver.now)
        rig.until(lambda: rig.object() is None)
    assert rig.api.requests("patch pods/status") == []


def test_a_refusal_of_what_was_overtaken_takes_no_later_step_away(rig: Rig) -> None:
    """Forbidden to ask, and cut short while asking: it is deleted, not taken for a pod that may not be."""
    cluster = rig.start()
    victim = rig.pod()
    cluster.evictor.begin(decision(victim, hard=False, grace=600), rig.driver.now)
    assert cluster.evictor.in_flight()
    assert cluster.evictor.call(rig.driver.now) is not None
    cluster.evictor.begin(decision(victim, hard=True, shortens=True), rig.driver.now)
    cluster.evictor.refused(ApiRefusedError("eviction: 403", status=403, reason="Forbidden"), rig.driver.now)
    rig.driver.settle(cluster.queue)
    found = rig.object()
    assert found is None or found["metadata"]["deletionGracePeriodSeconds"] == 1


def test_hard_and_a_server_that_falls_silent_after_a_refusal_waits_no_longer_than_for_the_budget(
    rig: DoubleRig,
) -> None:
    """A budget is waited for ten seconds; who is away by then is no reason to wait longer."""
    cluster = rig.start(EvictionMethod.EVICTION_API)
    victim = rig.pod("a", labels={"app": "t"})
    rig.api.budget("one", {"app": "t"}, allowed=0)
    begun = rig.driver.now
    cluster.evictor.begin(decision(victim, hard=True), begun)
    rig.until(lambda: rig.api.requests("create pods/eviction"))
    rig.api.fault(status=503)
    rig.until(lambda: rig.stopper.stops, seconds=30)
    assert rig.driver.now - begun < 15 * SECOND
    rig.api.faults.clear()
    with rig.kubelet.running():
        rig.until(lambda: rig.object() is None)
    assert rig.stopper.stops == [(victim.uid, 1)]


def test_after_a_restart_only_what_was_agreed_on_may_be_stopped(rig: Rig) -> None:
    """The object shows it: it is being deleted, or is gone."""
    cluster = rig.start()
    victim = rig.pod()
    may = cluster.evictor.may_stop
    assert (may(victim.uid), may("gone")) == (False, True)
    with rig.kubelet.running():
        cluster.evictor.begin(decision(victim, hard=False, grace=30), rig.driver.now)
        rig.until(lambda: may(victim.uid))
    assert len(rig.api.requests("create pods/eviction")) == 1


def test_without_a_kubelet_the_api_is_not_asked_after_a_restart_either(rig: Rig) -> None:
    cluster = rig.start(beside_kubelet=False)
    assert cluster.evictor.may_stop(rig.pod().uid)


def test_after_a_restart_the_status_of_a_stopped_pod_is_still_written(rig: Rig) -> None:
    """Its containers had stopped, and evictd ended before the API server had the answer."""
    cluster = rig.start(beside_kubelet=False)
    victim = rig.pod()
    rig.kubelet.containers.stop(victim.uid)
    cluster.evictor.resume(decision(victim, hard=True), rig.driver.now, hard=True)
    rig.until(lambda: rig.gone(victim) and cluster.evictor.in_flight() == ())
    found = rig.object()
    assert found is not None
    assert (found["status"]["phase"], found["status"]["message"]) == ("Failed", MESSAGE)
    assert cluster.evictor.take_evicted() == ()


@pytest.mark.parametrize("status", [404, 409, 429, 500, 503])
def test_a_pod_whose_eviction_fails_at_the_server_delays_no_other(rig: DoubleRig, status: int) -> None:
    """Its requests wait longer and longer: a webhook that is down may concern one pod alone (kubevirt/kubevirt)."""
    cluster = rig.start()
    failing, other = rig.pod("a"), rig.pod("b")
    rig.api.fault(verb="create", resource="pods/eviction", name="a", status=status, body=b"{}")
    cluster.evictor.begin(decision(failing, hard=False), rig.driver.now)
    cluster.evictor.begin(decision(other, hard=False), rig.driver.now)
    rig.until(lambda: "deletionTimestamp" in (rig.object("b") or {})["metadata"], seconds=3)
    assert any(str(status) in problem.detail for problem in cluster.problems())
    rig.driver.run(cluster.queue, 600)
    assert len(rig.api.requests("create pods/eviction")) < 40
    rig.api.faults.clear()
    rig.driver.run(cluster.queue, 60)
    assert "deletionTimestamp" in (rig.object("a") or {})["metadata"]
    assert cluster.problems() == ()


def test_a_request_that_hangs_delays_no_condition(api: ApiServer) -> None:
    """A webhook may take ten seconds to fail; the node's conditions are sent meanwhile."""
    rig = DoubleRig(api)
    cluster = rig.start()
    try:
        victim = rig.pod("a")
        hanging = api.fault(verb="create", resource="pods/eviction", status=500, delay=60)
        cluster.queue.start()
        cluster.evictor.begin(decision(victim, hard=False), rig.driver.now)
        rig.driver.now += SECOND
        cluster.queue.notify()
        eventually(lambda: hanging.taken)
        cluster.reporter.report([MEMORY], rig.driver.now)
        eventually(lambda: api.requests("patch nodes/status"))
        assert not api.requests("create pods/eviction")
    finally:
        api.down()
        cluster.queue.close()
        rig.close()


def test_a_request_that_hangs_delays_no_stop_of_another_pod(api: ApiServer) -> None:
    """Nor do conditions that cannot be shown, although the loop makes no cycle meanwhile: the runtime may hold it up."""
    rig = DoubleRig(api)
    cluster = rig.start()
    try:
        waits, victim = rig.pod("a"), rig.pod("b")
        hanging = api.fault(verb="create", resource="pods/eviction", status=500, delay=60)
        api.fault(verb="patch", resource="nodes/status", status=503)
        cluster.queue.start()
        cluster.evictor.begin(decision(waits, hard=False), rig.driver.now)
        rig.driver.now += SECOND
        cluster.queue.notify()
        eventually(lambda: hanging.taken)
        cluster.reporter.report([MEMORY], rig.driver.now)
        cluster.evictor.begin(decision(victim, hard=True), rig.driver.now)
        assert not rig.stopper.stops, "the conditions are not shown yet"
        rig.driver.now += SECOND
        eventually(lambda: rig.stopper.stops)
        assert not cluster.queue.away
        assert not cluster.evictor.postponed(), "the request still hangs"
    finally:
        api.down()
        cluster.queue.close()
        rig.close()


def test_only_the_runtime_is_polled_during_an_eviction(api: ApiServer) -> None:
    """Each wake-up costs processor time, of which a node under pressure has none; answers and changes wake the threads."""
    rig = DoubleRig(api)
    cluster = rig.start(beside_kubelet=False)
    try:
        victim = rig.pod()
        rig.stopper.slow.add(victim.uid)
        cluster.reporter.report([MEMORY], rig.driver.now)
        cluster.evictor.begin(decision(victim, hard=True), rig.driver.now)
        rig.driver.now += SECOND // 10
        assert rig.waits() == (BEFORE_KILL - SECOND // 10, 0), "for the conditions; the sender has the event"
        rig.driver.settle(cluster.queue)
        assert rig.stopper.stops
        assert rig.waits() == (POLL, None), "the pod may have stopped; until then nothing can be sent"
        rig.kubelet.containers.stop(victim.uid, exit_code=137)
        rig.driver.settle(cluster.queue)
        assert (rig.object() or {})["status"]["phase"] == "Failed"
        stops, sends = rig.waits()
        assert stops is not None
        assert (stops > SECOND, sends) == (True, None), (
            "the status is watched for another writer, of which the list tells"
        )
    finally:
        rig.close()


def test_a_pod_that_has_stopped_gets_its_status_although_the_sender_sleeps(api: ApiServer) -> None:
    rig = DoubleRig(api)
    cluster = rig.start(beside_kubelet=False)
    try:
        victim = rig.pod()
        rig.stopper.slow.add(victim.uid)
        cluster.queue.start()
        cluster.evictor.begin(decision(victim, hard=True), rig.driver.now)
        eventually(lambda: rig.stopper.stops and api.requests("create events"))
        rig.kubelet.containers.stop(victim.uid, exit_code=137)
        eventually(lambda: (rig.object() or {})["status"]["phase"] == "Failed")
    finally:
        cluster.queue.close()
        rig.close()


@pytest.mark.parametrize("termination", [EvictionMethod.AUTO, EvictionMethod.EVICTION_API, EvictionMethod.DELETE])
def test_a_soft_eviction_that_was_not_agreed_to_is_withdrawn(rig: DoubleRig, termination: EvictionMethod) -> None:
    """Pressure ended while the API server was away: nothing is sent, recorded or counted when it is back."""
    cluster = rig.start(termination)
    victim = rig.pod()
    rig.api.fault(status=503)
    cluster.evictor.begin(decision(victim, hard=False), rig.driver.now)
    rig.driver.run(cluster.queue, 20)
    cluster.evictor.withdraw(victim.uid, rig.driver.now)
    (answer,) = cluster.evictor.answers()
    assert (answer.kind, answer.at) == (EvictionAnswerKind.NOT_ASKED, rig.driver.now)
    rig.api.faults.clear()
    rig.api.forget_requests()
    rig.driver.run(cluster.queue, 300)
    assert [each for each in rig.verbs() if "pods" in each or "events" in each] == []
    assert cluster.evictor.take_evicted() == ()
    assert (cluster.evictor.in_flight(), cluster.evictor.cleaned_up()) == ((), frozenset())
    with rig.kubelet.running():
        cluster.evictor.begin(decision(victim, hard=False), rig.driver.now)  # pressure is back
        rig.until(lambda: rig.object() is None)
    assert len(cluster.evictor.take_evicted()) == 1


@pytest.mark.parametrize(("status", "kind"), [(0, EvictionAnswerKind.AGREED), (500, EvictionAnswerKind.NOT_ASKED)])
def test_a_withdrawal_during_the_request_is_decided_by_its_answer(
    rig: DoubleRig, status: int, kind: EvictionAnswerKind
) -> None:
    """A pod that the API server agreed to evict goes."""
    cluster = rig.start()
    victim = rig.pod()
    slow = rig.api.fault(verb="create", resource="pods/eviction", delay=0.5, status=status)
    cluster.evictor.begin(decision(victim, hard=False), rig.driver.now)
    call = cluster.evictor.call(rig.driver.now)
    assert call is not None
    sending = threading.Thread(target=call)
    sending.start()
    eventually(lambda: slow.taken)
    cluster.evictor.withdraw(victim.uid, rig.driver.now)
    assert cluster.evictor.answers() == ()
    sending.join()
    assert [answer.kind for answer in cluster.evictor.answers()] == [kind]
    assert len(cluster.evictor.take_evicted()) == (kind is EvictionAnswerKind.AGREED)


def test_what_is_certain_is_not_withdrawn(rig: Rig) -> None:
    """A hard eviction, and one that the API server agreed to."""
    cluster = rig.start()
    hard, agreed = rig.pod("a"), rig.pod("b")
    cluster.evictor.begin(decision(agreed, hard=False), rig.driver.now)
    rig.driver.settle(cluster.queue)
    cluster.evictor.begin(decision(hard, hard=True), rig.driver.now)
    for victim in (hard, agreed):
        cluster.evictor.withdraw(victim.uid, rig.driver.now)
    with rig.kubelet.running():
        rig.until(lambda: rig.object("a") is None and rig.object("b") is None)
    assert {answer.kind for answer in cluster.evictor.answers()} == {EvictionAnswerKind.AGREED}


def test_the_third_pod_of_an_owner_leaves_an_event_on_the_owner(rig: Rig) -> None:
    """`kubectl describe replicaset web` finds it by kind, name, namespace and uid."""
    cluster = rig.start()
    for name in ("a", "b", "c"):
        victim = replace(rig.pod(name), owner="ReplicaSet/web", owner_uid="11111111-1111-1111-1111-111111111111")
        cluster.evictor.begin(decision(victim, hard=True), rig.driver.now)
        rig.until(lambda victim=victim: rig.gone(victim))
    rig.until(lambda: [each for each in rig.api.store.list("events")[0] if each["reason"] == "RepeatedEviction"])
    (event,) = [each for each in rig.api.store.list("events")[0] if each["reason"] == "RepeatedEviction"]
    about = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "namespace": "default"}
    assert event["regarding"] == {**about, "uid": "11111111-1111-1111-1111-111111111111"}
    assert event["note"].startswith(
        "3 pods of this ReplicaSet were evicted from node n1 within an hour. The last one, c,"
    )
