"""Each way a pod can go, beside a kubelet that behaves as observed and without one."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from evictd.act.cluster.wiring import Cluster
from evictd.codec.pod import decode_pod
from evictd.config.settings import ClusterSettings, PodTermination
from evictd.core.decision import Because, EvictionReason, EvictPod, PodCondition
from evictd.core.duration import SECOND
from evictd.core.pod import Pod
from evictd.core.quantity import parse_quantity
from evictd.core.signal import NodeCondition, Signal
from evictd.core.threshold import Threshold, ThresholdValue
from evictd.errors import ApiRefusedError
from tests.kube.api_server import ApiServer
from tests.kube.driving import Driver, FakeStopper, cluster_of
from tests.kube.kubelet import Kubelet
from tests.kube.objects import pod
from tests.kube.store import Json
from tests.kube.verbs import Budget
from tests.kube.waiting import eventually

MEMORY = NodeCondition.MEMORY_PRESSURE
MESSAGE = "The node was low on resource: memory. "


class Rig:
    """A cluster's face on n1 with its watch running, a kubelet double, and the test's clock."""

    def __init__(self, api: ApiServer) -> None:
        self.api = api
        self.driver = Driver()
        self.kubelet = Kubelet(api.store, "n1")
        self.stopper = FakeStopper(self.kubelet.containers)
        self._cluster: Cluster | None = None

    def start(self, termination: PodTermination = PodTermination.AUTO, *, beside_kubelet: bool = True) -> Cluster:
        if beside_kubelet:
            self.kubelet.sync()
        settings = ClusterSettings(kubeconfig=str(self.api.kubeconfig()), pod_termination=termination)
        self._cluster = cluster_of(self.api, self.driver, self.stopper, settings)
        self._cluster.watch.start()
        eventually(lambda: self.cluster.watch.snapshot.synced)
        self.cluster.reporter.report([], self.driver.now)
        self.driver.settle(self.cluster.outbox)
        self.api.forget_requests()
        return self._cluster

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
        self.driver.until(self.cluster.outbox, condition, seconds)  # type: ignore[arg-type]

    def object(self, name: str = "a") -> Json | None:
        return self.api.store.get(("pods", "default", name))

    def gone(self, victim: Pod) -> bool:
        return victim.uid in self.cluster.evictor.cleaned_up(self.driver.now)

    def verbs(self) -> list[str]:
        return [line.what for line in self.api.requests(watches=False)]

    def close(self) -> None:
        if self._cluster is not None:
            self._cluster.watch.close()
            self._cluster.transport.close()


@pytest.fixture
def rig(api: ApiServer) -> Iterator[Rig]:
    """Closed afterwards."""
    made = Rig(api)
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
        because=Because(reason=EvictionReason.PRESSURE, threshold=threshold),
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
    order = rig.verbs()
    assert order[:4] == ["patch nodes/status", "patch nodes", "patch pods/status", "delete pods"]
    assert rig.stopper.stops == [(victim.uid, 1)]
    mark = rig.api.requests("patch pods/status")[0].body
    assert mark["status"]["conditions"][0]["type"] == "DisruptionTarget"
    assert rig.api.requests("delete pods")[0].body["preconditions"] == {"uid": victim.uid}


def test_hard_does_not_wait_long_for_the_conditions(rig: Rig) -> None:
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
    rig: Rig,
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


def test_no_status_is_written_while_a_pod_that_was_started_again_is_being_stopped_again(rig: Rig) -> None:
    """The server may be back within its grace."""
    cluster = rig.start(PodTermination.STATUS)
    victim = rig.pod()
    rig.api.fault(status=503)
    cluster.evictor.begin(decision(victim, hard=False, grace=30), rig.driver.now)
    rig.until(lambda: rig.gone(victim))
    rig.kubelet.containers.start(victim.uid, "c")
    rig.stopper.slow.add(victim.uid)
    cluster.evictor.begin(decision(victim, hard=False, grace=30), rig.driver.now)
    rig.api.faults.clear()
    rig.api.forget_requests()
    rig.driver.run(cluster.outbox, 25)
    assert rig.api.requests("patch pods/status") == []
    rig.kubelet.containers.stop(victim.uid)
    rig.until(lambda: rig.gone(victim) and rig.api.requests("patch pods/status"))


def test_whom_everything_is_forbidden_for_is_remembered_until_it_has_stopped_again(rig: Rig) -> None:
    """Else nobody would notice its end, and nobody could choose it any more."""
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


def test_after_an_outage_everything_is_made_good_in_order_and_without_a_storm(rig: Rig) -> None:
    """Conditions, taint, the pod, then the events; at most five a second; the pod is not restarted for good."""
    cluster = rig.start()
    victim = rig.pod()
    rig.api.fault(status=503)
    cluster.reporter.report([MEMORY], rig.driver.now)
    cluster.evictor.begin(decision(victim, hard=True), rig.driver.now)
    rig.driver.run(cluster.outbox, 300)
    rig.api.faults.clear()
    rig.api.forget_requests()
    rig.driver.sent.clear()
    rig.kubelet.sync()  # it has started the containers again meanwhile
    with rig.kubelet.running():
        rig.until(lambda: rig.object() is None and "create events" in rig.verbs())
    order = rig.verbs()
    assert order[:4] == ["patch nodes/status", "patch nodes", "patch pods/status", "delete pods"]
    assert rig.driver.most_in_a_second() <= 5
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


def test_a_budget_makes_a_soft_eviction_take_the_next_candidate(rig: Rig) -> None:
    """The pod is withdrawn, and withheld as long as there are others, also when the server said "again in a second"."""
    cluster = rig.start()
    protected = rig.pod("a", labels={"app": "t"})
    others = [rig.pod("b"), rig.pod("c")]
    rig.api.verbs.budgets = [Budget("one", {"app": "t"}, 0, retry_after=1)]
    cluster.evictor.begin(decision(protected, hard=False), rig.driver.now)
    rig.until(lambda: cluster.evictor.withdrawn() == {protected.uid})
    assert not rig.gone(protected)
    with rig.kubelet.running():
        for other in others:
            rig.driver.now += 5 * SECOND
            assert cluster.evictor.withheld(rig.driver.now, hard=False) == {protected.uid}
            cluster.evictor.begin(decision(other, hard=False), rig.driver.now)
            rig.until(lambda: rig.gone(other))  # noqa: B023 - asked within this turn
    eventually(lambda: set(cluster.watch.snapshot.pods) == {protected.uid})
    assert cluster.evictor.withheld(rig.driver.now, hard=False) == frozenset()
    assert rig.object("a") is not None
    assert rig.api.requests("delete pods") == []


def evicted_events(rig: Rig) -> list[str]:
    """The names of the pods that have an Evicted event."""
    rig.driver.settle(rig.cluster.outbox)
    events, _ = rig.api.store.list("events")
    return [event["regarding"]["name"] for event in events if event["reason"] == "Evicted"]


def test_what_a_budget_refuses_was_no_eviction(rig: Rig) -> None:
    """No event and nothing to count, but a refusal; told as the kubelet does once the server has agreed."""
    cluster = rig.start()
    victim = rig.pod("a", labels={"app": "t"})
    budget = Budget("one", {"app": "t"}, 0, retry_after=1)
    rig.api.verbs.budgets = [budget]
    cluster.evictor.begin(decision(victim, hard=False), rig.driver.now)
    rig.until(cluster.evictor.withdrawn)
    assert evicted_events(rig) == []
    assert cluster.evictor.take_evicted() == ()
    (refusal,) = cluster.evictor.take_refusals()
    assert (refusal.pod, "disruption budget" in refusal.detail) == (victim, True)
    assert cluster.evictor.take_refusals() == ()

    budget.disruptions_allowed = 1
    cluster.evictor.begin(decision(victim, hard=False), rig.driver.now)
    assert evicted_events(rig) == ["a"]
    (told,) = [event for event in rig.api.store.list("events")[0] if event["reason"] == "Evicted"]
    assert (told["type"], told["note"]) == ("Warning", MESSAGE)
    assert cluster.evictor.take_evicted() == (decision(victim, hard=False),)
    assert cluster.evictor.take_refusals() == ()


def test_what_was_refused_a_moment_before_a_hard_threshold_shortens_it_is_told(rig: Rig) -> None:
    """The refusal comes while the loop decides; nobody has told of the eviction before."""
    cluster = rig.start()
    victim = rig.pod("a", labels={"app": "t"})
    rig.api.verbs.budgets = [Budget("one", {"app": "t"}, 0)]
    cluster.evictor.begin(decision(victim, hard=False), rig.driver.now)
    rig.until(cluster.evictor.withdrawn)
    cluster.evictor.begin(decision(victim, hard=True, shortens=True), rig.driver.now)
    rig.until(lambda: evicted_events(rig))
    assert [each.pod.uid for each in cluster.evictor.take_evicted()] == [victim.uid]


def test_past_a_budget_the_eviction_is_told_before_anything_is_killed(rig: Rig) -> None:
    """Once, although the pod was asked for again and again."""
    cluster = rig.start(PodTermination.EVICTION_API)
    victim = rig.pod("a", labels={"app": "t"})
    rig.api.verbs.budgets = [Budget("one", {"app": "t"}, 0)]
    told_when_stopped: list[int] = []
    rig.stopper.on_stop = lambda: told_when_stopped.append(len(cluster.evictor.take_evicted()))
    with rig.kubelet.running():
        cluster.evictor.begin(decision(victim, hard=True), rig.driver.now)
        rig.until(lambda: rig.object() is None)
    assert told_when_stopped == [1]
    assert evicted_events(rig) == ["a"]


def test_a_pod_that_somebody_else_removed_first_was_not_evicted_by_us(rig: Rig) -> None:
    """404 for what was only asked."""
    cluster = rig.start()
    victim = rig.pod()
    rig.api.store.remove(("pods", "default", "a"))
    cluster.evictor.begin(decision(victim, hard=False), rig.driver.now)
    rig.until(lambda: rig.gone(victim))
    assert evicted_events(rig) == []
    assert cluster.evictor.take_evicted() == ()


def test_a_pod_that_stopped_before_the_server_answered_is_done_though_its_record_is_gone(rig: Rig) -> None:
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


def test_a_hold_ends_with_the_eviction_timeout_and_whom_nobody_chooses_is_not_waited_for(rig: Rig) -> None:
    """Under Auto the pod is asked for once more then, and goes past the budget."""
    cluster = rig.start()
    protected, own = rig.pod("a", labels={"app": "t"}), rig.pod("own")
    rig.api.verbs.budgets = [Budget("one", {"app": "t"}, 0, retry_after=1)]
    cluster.evictor.begin(decision(protected, hard=False), rig.driver.now)
    rig.until(cluster.evictor.withdrawn)
    rig.driver.now += 2 * SECOND
    assert cluster.evictor.withheld(rig.driver.now, hard=False) == {protected.uid}
    assert cluster.evictor.withheld(rig.driver.now, hard=False, never={own.uid}) == frozenset()
    rig.driver.now += 58 * SECOND
    assert cluster.evictor.withheld(rig.driver.now, hard=False) == frozenset()


def test_auto_deletes_past_the_budget_after_the_timeout(rig: Rig) -> None:
    """A bounded wait: 60 s after the first refusal the pod goes all the same."""
    cluster = rig.start()
    victim = rig.pod("a", labels={"app": "t"})
    rig.api.verbs.budgets = [Budget("one", {"app": "t"}, 0)]
    with rig.kubelet.running():
        for _ in range(7):
            cluster.evictor.begin(decision(victim, hard=False), rig.driver.now)
            rig.until(lambda: cluster.evictor.withdrawn() or rig.object() is None)
            rig.driver.now += 11 * SECOND
        rig.until(lambda: rig.object() is None)
    assert 5 <= len(rig.api.requests("create pods/eviction")) <= 7
    assert len(rig.api.requests("delete pods")) == 1


def test_the_eviction_api_by_name_is_never_bypassed_by_a_soft_threshold(rig: Rig) -> None:
    """The administrator asked for budgets to be honoured."""
    cluster = rig.start(PodTermination.EVICTION_API)
    victim = rig.pod("a", labels={"app": "t"})
    rig.api.verbs.budgets = [Budget("one", {"app": "t"}, 0)]
    for _ in range(20):
        cluster.evictor.begin(decision(victim, hard=False), rig.driver.now)
        rig.until(cluster.evictor.withdrawn)
        rig.driver.now += 11 * SECOND
    assert rig.api.requests("delete pods") == []


def test_a_hard_threshold_bypasses_a_budget_after_a_bounded_wait(rig: Rig) -> None:
    """Asked by name for the Eviction API: ten seconds of asking, then deleted and stopped."""
    cluster = rig.start(PodTermination.EVICTION_API)
    victim = rig.pod("a", labels={"app": "t"})
    rig.api.verbs.budgets = [Budget("one", {"app": "t"}, 0)]
    begun = rig.driver.now
    with rig.kubelet.running():
        cluster.evictor.begin(decision(victim, hard=True), begun)
        rig.driver.run(cluster.outbox, 9)
        assert rig.stopper.stops == []
        rig.until(lambda: rig.object() is None)
    assert 10 * SECOND <= rig.driver.now - begun < 15 * SECOND
    assert len(rig.api.requests("delete pods")) == 1


def test_hard_with_the_eviction_api_and_nobody_answering_stops_all_the_same(rig: Rig) -> None:
    """After three seconds, through the runtime; deleted when the server is back."""
    cluster = rig.start(PodTermination.EVICTION_API)
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
    rig.driver.settle(cluster.outbox)
    found = rig.object()
    assert found is not None
    assert found["metadata"]["deletionGracePeriodSeconds"] == 600
    cluster.evictor.begin(decision(victim, hard=True, shortens=True), rig.driver.now)
    rig.driver.settle(cluster.outbox)
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
    assert len(rig.api.requests("patch pods/status")) == 1
    assert rig.api.requests("delete pods") == []
    eventually(lambda: all(entry.left_by_evictd for entry in cluster.watch.snapshot.pods.values()))


def test_status_is_not_written_while_anything_runs(rig: Rig) -> None:
    """A pod that ignores SIGTERM keeps its phase until it is really stopped."""
    cluster = rig.start(beside_kubelet=False)
    victim = rig.pod()
    rig.stopper.slow.add(victim.uid)
    cluster.evictor.begin(decision(victim, hard=False, grace=30), rig.driver.now)
    rig.driver.run(cluster.outbox, 25)
    assert not rig.gone(victim)
    assert rig.api.requests("patch pods/status") == []
    rig.kubelet.containers.stop(victim.uid)
    rig.until(lambda: rig.gone(victim) and rig.api.requests("patch pods/status"))


def test_status_beside_a_kubelet_that_starts_the_pod_again_is_repaired_and_then_deleted(rig: Rig) -> None:
    """As observed in one of seven: Running again with our condition on it. Two repairs, then the robust way."""
    cluster = rig.start(PodTermination.STATUS)
    victim = rig.pod()

    def come_back() -> None:
        found = rig.object()
        if found is not None and found["status"]["phase"] == "Failed" and "deletionTimestamp" not in found["metadata"]:
            rig.kubelet.containers.restart(victim.uid)
            rig.kubelet.sync()

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
    cluster = rig.start(PodTermination.STATUS)
    victim = rig.pod()
    cluster.evictor.begin(decision(victim, hard=True), rig.driver.now)
    rig.api.store.update(("pods", "default", "a"), lambda item: item["status"].update(phase="Succeeded"))
    rig.until(lambda: cluster.evictor.in_flight() == ())
    assert rig.gone(victim)


def test_another_pod_of_the_same_name_is_never_touched(rig: Rig) -> None:
    """The victim is gone and recreated before we get to it: the newcomer keeps its status and lives."""
    for termination in (PodTermination.AUTO, PodTermination.EVICTION_API, PodTermination.STATUS):
        cluster = rig.start(termination)
        victim = rig.pod()
        rig.api.store.remove(("pods", "default", "a"))
        newcomer = rig.pod()
        before = rig.object()
        for hard in (True, False):
            cluster.evictor.begin(decision(victim, hard=hard), rig.driver.now)
            rig.driver.run(cluster.outbox, 30)
        assert rig.object() == before
        assert newcomer.uid not in {uid for uid, _ in rig.stopper.stops}
        assert rig.gone(victim)
        rig.api.store.remove(("pods", "default", "a"))
        rig.close()


def test_what_is_forbidden_falls_back_to_what_is_not(rig: Rig) -> None:
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
    rig.driver.run(cluster.outbox, 300)
    assert not cluster.evictor.problems


def test_a_pod_that_its_owner_recreates_here_is_withheld(rig: Rig) -> None:
    """The second time in a minute it is left alone for a while; under a hard threshold only for moments."""
    cluster = rig.start()
    with rig.kubelet.running():
        for _ in range(3):
            victim = rig.pod("hog", owner=("DaemonSet", "hog"))
            cluster.evictor.begin(decision(victim, hard=True), rig.driver.now)
            rig.until(lambda: rig.object("hog") is None)
    again = rig.pod("hog", owner=("DaemonSet", "hog"))
    bystander = rig.pod("other", owner=("ReplicaSet", "web"))
    assert cluster.evictor.withheld(rig.driver.now, hard=False) == {again.uid}
    rig.driver.now += 10 * SECOND
    assert cluster.evictor.withheld(rig.driver.now) == frozenset()
    assert bystander.uid not in cluster.evictor.withheld(rig.driver.now, hard=False)


def test_a_burst_of_a_hundred_keeps_to_five_requests_a_second(rig: Rig) -> None:
    """Every pod is stopped at once all the same; the API server hears of them in its own time."""
    cluster = rig.start()
    victims = [rig.pod(f"p{number}") for number in range(100)]
    rig.driver.sent.clear()
    with rig.kubelet.running():
        for victim in victims:
            cluster.evictor.begin(decision(victim, hard=True), rig.driver.now)
        assert len(rig.stopper.stops) == 100
        rig.until(lambda: not any(rig.object(f"p{number}") for number in range(100)), seconds=600)
    assert rig.driver.most_in_a_second() <= 5


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
    limit = Because(reason=EvictionReason.EMPTY_DIR_LIMIT)
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
    rig.driver.settle(cluster.outbox)
    found = rig.object()
    assert found is None or found["metadata"]["deletionGracePeriodSeconds"] == 1


def test_hard_and_a_server_that_falls_silent_after_a_refusal_waits_no_longer_than_for_the_budget(rig: Rig) -> None:
    """A budget is waited for ten seconds; who is away by then is no reason to wait longer."""
    cluster = rig.start(PodTermination.EVICTION_API)
    victim = rig.pod("a", labels={"app": "t"})
    rig.api.verbs.budgets = [Budget("one", {"app": "t"}, 0)]
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
    """The object tells: it is being deleted, or is gone."""
    cluster = rig.start()
    victim = rig.pod()
    may = cluster.evictor.may_stop
    assert (may(victim.uid), may("gone")) == (False, True)
    with rig.kubelet.running():
        cluster.evictor.begin(decision(victim, hard=False, grace=30), rig.driver.now)
        rig.until(lambda: may(victim.uid))
    assert len(rig.api.requests("create pods/eviction")) == 1


def test_without_a_kubelet_nobody_is_asked_after_a_restart_either(rig: Rig) -> None:
    cluster = rig.start(beside_kubelet=False)
    assert cluster.evictor.may_stop(rig.pod().uid)
