"""The actuator of a node with an API server, on a cluster that records its calls."""

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evictd.act.cluster.actuator import ClusterActuator
from evictd.act.gc.containers import ContainerCollector
from evictd.act.logs import SETTLED, PodLogs
from evictd.act.stop.termination import Termination
from evictd.clients.kube.pods import PodSnapshot
from evictd.codec.pods.slim_pods import SlimPod
from evictd.core.gc.container_gc import PodLifecycles
from evictd.core.model.config import ContainerGCPolicy
from evictd.core.model.decision import EvictPod, PodCondition, ReclaimNode, RecordEvent, WithdrawEviction
from evictd.core.model.observation import EvictionAnswer, EvictionAnswerKind, Problem, Reclaim
from evictd.core.model.pod import Pod
from evictd.core.model.signal import NodeCondition
from evictd.core.model.state import State, Victim
from evictd.errors import RuntimeUnavailableError
from tests.act.test_standalone import EVICTION, READING, Parts, node_of
from tests.daemon.world import DISK, HOG, NOW, WEB


class RecordingCluster:
    """A cluster, as far as the actuator calls it."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.synced = False
        self.given: tuple[EvictionAnswer, ...] = ()
        self.leaving: tuple[str, ...] = ()
        self.resumed: list[tuple[EvictPod, bool]] = []
        self.known: tuple[Pod, ...] | None = (WEB,)
        self.reporter = SimpleNamespace(
            report=self._report,
            heartbeat=lambda now: self.calls.append(("heartbeat", now)),
            suspend=lambda: self.calls.append(("suspend", "conditions")),
            kubelet=True,
        )
        self.leftovers = SimpleNamespace(
            delete_due=lambda now: self.calls.append(("leftovers", now)),
            suspend=lambda: self.calls.append(("suspend", "leftovers")),
        )
        self.watch = SimpleNamespace(snapshot=PodSnapshot())
        self.again: list[str] = []
        self.events = SimpleNamespace(
            record=lambda event, now: self.calls.append(("event", event.reason, now)),
            record_again=lambda victim, _now: self.again.append(victim.uid),
        )
        self.evictor = SimpleNamespace(
            answers=lambda: self.given,
            unanswered=lambda: frozenset(self.leaving),
            cleaned_up=lambda: frozenset({"gone"}),
            in_flight=lambda: self.leaving,
            resume=lambda decision, now, *, hard: self.resumed.append((decision, hard)),
            advance=lambda now: self.calls.append(("advance", now)),
            begin=lambda decision, now, why: self.calls.append(("evict", decision.pod.uid, now, why)),
            withdraw=lambda uid, now: self.calls.append(("withdraw", uid, now)),
            may_stop=lambda uid: {"agreed": True, "asked": False}[uid] if self.synced else None,
            take_evicted=lambda: (EVICTION,),
        )

    def _report(self, conditions: tuple[NodeCondition, ...], now: int) -> tuple[RecordEvent, ...]:
        self.calls.append(("report", conditions, now))
        return (RecordEvent(type="Normal", reason="NodeHasDiskPressure", message="m"),)

    def known_pods(self) -> Any:
        return self.known

    def problems(self) -> tuple[Problem, ...]:
        return (Problem(source="apiserver/pods", detail="d"),)


@pytest.fixture
def cluster() -> RecordingCluster:
    return RecordingCluster()


class Logged(Parts):
    """Parts that log into the cluster's calls."""

    def __init__(self, cluster: RecordingCluster) -> None:
        super().__init__()
        self._cluster = cluster

    def event(self, event: RecordEvent) -> None:
        self._cluster.calls.append(("logged", event.reason))


@pytest.fixture
def parts(cluster: RecordingCluster) -> Parts:
    return Logged(cluster)


@pytest.fixture
def actuator(cluster: RecordingCluster, parts: Parts) -> ClusterActuator:
    made: Any = cluster
    return ClusterActuator(node_of(parts), made)


def test_conditions_and_events_go_to_the_api_server(actuator: ClusterActuator, cluster: RecordingCluster) -> None:
    actuator.report_conditions((NodeCondition.DISK_PRESSURE,), READING)
    assert cluster.calls == [
        ("report", (NodeCondition.DISK_PRESSURE,), NOW),
        ("event", "NodeHasDiskPressure", NOW),
        ("logged", "NodeHasDiskPressure"),
    ]


def test_the_collectors_events_go_there_too(actuator: ClusterActuator, cluster: RecordingCluster) -> None:
    """`FreeDiskSpaceFailed`, `ImageGCFailed`, ..."""
    actuator.perform_duties(READING)
    assert cluster.calls == [("event", "ImageGCFailed", NOW), ("logged", "ImageGCFailed"), ("leftovers", NOW)]


def test_a_pod_is_evicted_by_the_cluster(actuator: ClusterActuator, cluster: RecordingCluster) -> None:
    actuator.begin_eviction(EVICTION, replace(READING, reasons={HOG.uid: "Evicted it because."}))
    assert cluster.calls == [("evict", HOG.uid, NOW, "Evicted it because.")]
    assert actuator.outcomes(State()).cleaned_up == {"gone"}


def test_an_eviction_is_withdrawn_by_the_cluster(actuator: ClusterActuator, cluster: RecordingCluster) -> None:
    actuator.withdraw_eviction(WithdrawEviction(pod=HOG, reason="pressure has ended"), READING)
    assert cluster.calls == [("withdraw", HOG.uid, NOW)]


def test_a_reload_to_a_dry_run_withdraws_what_the_server_has_not_agreed_to(
    actuator: ClusterActuator, cluster: RecordingCluster
) -> None:
    """Else it is accepted when the server is back, and evictd evicts in a dry run."""
    cluster.leaving = (HOG.uid,)
    actuator.suspend(READING)
    assert cluster.calls == [("suspend", "leftovers"), ("suspend", "conditions"), ("withdraw", HOG.uid, NOW)]


def test_evictions_are_advanced_by_an_explicit_step(actuator: ClusterActuator, cluster: RecordingCluster) -> None:
    """And counted when they are certain, not when they were begun: a budget may refuse."""
    actuator.outcomes(LEAVING)
    actuator.problems()
    assert cluster.calls == []
    assert actuator.advance(LEAVING, READING).evicted == (EVICTION,)
    assert cluster.calls == [("advance", NOW)]


LEAVING = State(in_flight=(Victim(uid=HOG.uid, grace_period_seconds=1, until=NOW),))
FINISHED = Termination(uid=HOG.uid, started_at=NOW, grace_ends_at=NOW, finished_at=NOW + 1)
BLIND = replace(READING, view=None, lifecycles=None)


@pytest.mark.parametrize("kubelet", [True, None])
def test_where_a_kubelet_reports_or_may_the_volumes_are_its_own(
    actuator: ClusterActuator, cluster: RecordingCluster, parts: Parts, kubelet: bool | None
) -> None:
    cluster.reporter.kubelet = kubelet
    parts.terminations[HOG.uid] = FINISHED
    actuator.advance(LEAVING, BLIND)
    assert actuator.outcomes(LEAVING).cleaned_up == {"gone", HOG.uid}
    assert parts.calls == []


def test_without_a_kubelet_the_volumes_of_what_was_stopped_go_first(
    actuator: ClusterActuator, cluster: RecordingCluster, parts: Parts
) -> None:
    """Or the eviction frees nothing and the next pod is evicted; they stay while anything runs."""
    cluster.reporter.kubelet = False
    parts.terminations[HOG.uid] = replace(FINISHED, finished_at=None)
    actuator.advance(LEAVING, BLIND)
    assert actuator.outcomes(LEAVING).cleaned_up == {"gone"}
    assert parts.calls == []
    parts.terminations[HOG.uid] = FINISHED
    actuator.advance(LEAVING, BLIND)
    assert actuator.outcomes(LEAVING).cleaned_up == {"gone"}
    assert actuator.outcomes(LEAVING).stopped == {HOG.uid}
    assert parts.calls == [("clean", HOG.uid)]
    parts.cleaned.add(HOG.uid)
    assert actuator.outcomes(LEAVING).cleaned_up == {"gone", HOG.uid}


def stopped(parts: Parts) -> list[str]:
    return [uid for name, uid, *_ in parts.calls if name == "stop"]


def answers(actuator: ClusterActuator, state: State) -> dict[str, EvictionAnswerKind]:
    return {answer.uid: answer.kind for answer in actuator.outcomes(state).answers}


def test_the_answers_are_inputs_of_the_core(actuator: ClusterActuator, cluster: RecordingCluster) -> None:
    refusal = EvictionAnswer(uid="a", kind=EvictionAnswerKind.REFUSED, at=NOW)
    cluster.given = (refusal,)
    assert actuator.outcomes(State()).answers == (refusal,)


def test_a_restart_does_not_stop_a_pod_that_a_budget_may_still_protect(
    actuator: ClusterActuator, cluster: RecordingCluster, parts: Parts
) -> None:
    """The core is given that nothing asked for it, and may choose it anew."""
    asked, agreed = (Victim(uid=uid, grace_period_seconds=30, until=NOW) for uid in ("asked", "agreed"))
    hard = Victim(uid="hard", grace_period_seconds=1, until=NOW)
    gone = replace(asked, uid="was stopped", gone_at=NOW)
    state = State(in_flight=(asked, agreed, hard, gone))
    actuator.advance(state, READING)
    assert stopped(parts) == ["hard"]
    assert answers(actuator, state) == {}
    cluster.synced = True
    assert answers(actuator, state) == {"asked": EvictionAnswerKind.NOT_ASKED, "agreed": EvictionAnswerKind.AGREED}
    cluster.watch.snapshot = PodSnapshot(synced=True)
    actuator.advance(state, READING)
    assert stopped(parts) == ["hard", "agreed"]
    kept = replace(state, in_flight=(agreed, hard, gone))
    actuator.advance(kept, READING)
    assert stopped(parts) == ["hard", "agreed"]
    assert answers(actuator, kept) == {}


TARGET = PodCondition(type="DisruptionTarget", status="True", reason="R", message="m")


@pytest.mark.parametrize("gone_at", [None, NOW], ids=["running", "stopped"])
def test_the_object_of_a_victim_of_the_previous_run_is_seen_to_once_the_pods_are_listed(
    actuator: ClusterActuator, cluster: RecordingCluster, parts: Parts, gone_at: int | None
) -> None:
    """Its containers are stopped at once. Without that its status was never written: the pod stayed Running for ever."""
    victim = Victim(uid=HOG.uid, grace_period_seconds=1, since=NOW, until=NOW, message="low", condition=TARGET)
    state = State(in_flight=(replace(victim, gone_at=gone_at),))
    actuator.advance(state, READING)
    assert stopped(parts) == ([HOG.uid] if gone_at is None else [])
    assert cluster.resumed == []
    cluster.watch.snapshot = PodSnapshot(synced=True, pods={HOG.uid: SlimPod(pod=HOG)})
    for _ in range(2):
        actuator.advance(state, READING)
    ((decision, hard),) = cluster.resumed
    assert (decision.pod, decision.message, decision.condition, hard) == (HOG, "low", TARGET, True)


@pytest.mark.parametrize("grace", [1, 30], ids=["hard", "soft"])
def test_an_object_is_seen_to_when_the_api_server_answers_after_the_core_forgot_its_victim(
    actuator: ClusterActuator, cluster: RecordingCluster, parts: Parts, grace: int
) -> None:
    """A hard victim has stopped and left the state meanwhile. Of a soft one nothing shows that its eviction was requested."""
    actuator.advance(State(in_flight=(Victim(uid=HOG.uid, grace_period_seconds=grace, until=NOW),)), READING)
    actuator.advance(State(), READING)
    assert actuator.outcomes(State()).unanswered == frozenset()
    cluster.watch.snapshot = PodSnapshot(synced=True, pods={HOG.uid: SlimPod(pod=HOG)})
    for _ in range(2):
        actuator.advance(State(), READING)
    assert [decision.pod for decision, _ in cluster.resumed] == ([HOG] if grace == 1 else [])
    assert stopped(parts) == ([HOG.uid] if grace == 1 else [])


@pytest.mark.parametrize(
    "pods",
    [
        {},
        {HOG.uid: SlimPod(pod=replace(HOG, phase="Failed"))},
        {HOG.uid: SlimPod(pod=replace(HOG, deletion_grace_period_seconds=1))},
    ],
    ids=["gone", "terminal", "being deleted"],
)
def test_an_object_that_needs_nothing_is_left_as_it_is(
    actuator: ClusterActuator, cluster: RecordingCluster, pods: dict[str, SlimPod]
) -> None:
    cluster.watch.snapshot = PodSnapshot(synced=True, pods=pods)
    actuator.advance(State(in_flight=(Victim(uid=HOG.uid, grace_period_seconds=1),)), READING)
    assert cluster.resumed == []


def test_evictions_of_the_previous_run_that_are_certain_have_their_event(
    actuator: ClusterActuator, cluster: RecordingCluster
) -> None:
    """That run may have been killed before it was sent. Of a soft one nothing shows that evictd's request removed the pod."""
    hard, soft = Victim(uid="hard", grace_period_seconds=1), Victim(uid="soft", grace_period_seconds=30)
    counted = replace(soft, uid="counted", counted=True)
    state = State(in_flight=(hard, soft, counted))
    for _ in range(2):
        actuator.advance(state, READING)
    assert cluster.again == ["hard", "counted"]


def test_a_victim_that_this_run_evicts_itself_stays_in_the_state(
    actuator: ClusterActuator, cluster: RecordingCluster
) -> None:
    """A hard threshold chose it before the API server's pods were known."""
    state = State(in_flight=(Victim(uid=HOG.uid, grace_period_seconds=30, until=NOW),))
    actuator.advance(state, READING)
    actuator.begin_eviction(EVICTION, READING)
    cluster.synced = True
    assert answers(actuator, state) == {}


def test_a_soft_victim_chosen_before_the_first_listing_is_the_evictor_s_alone(
    actuator: ClusterActuator, cluster: RecordingCluster, parts: Parts
) -> None:
    """It is no victim of the previous run, so it is neither resumed nor answered for."""
    state = State(in_flight=(Victim(uid=HOG.uid, grace_period_seconds=30, until=NOW),))
    actuator.begin_eviction(EVICTION, BLIND)
    cluster.leaving, cluster.synced = (HOG.uid,), True
    actuator.advance(state, READING)
    assert stopped(parts) == []
    assert answers(actuator, state) == {}


def test_problems_are_the_api_server_s_too(actuator: ClusterActuator) -> None:
    assert [problem.source for problem in actuator.problems()] == ["volumes", "apiserver/pods"]


def test_the_heartbeat_is_the_reporter_s(actuator: ClusterActuator, cluster: RecordingCluster) -> None:
    actuator.heartbeat(READING)
    assert cluster.calls == [("heartbeat", NOW)]


class CollectsAtOnce(Parts):
    """A collector that collects at once, on a runtime that lists nothing."""

    def __init__(self, logs: Path) -> None:
        super().__init__()
        empty: Any = SimpleNamespace(list_containers=list, list_sandboxes=list)
        self.containers = ContainerCollector(empty, ContainerGCPolicy(), PodLogs(logs))

    def perform_duties(self, moment: Any) -> None:
        self.containers.collect(moment.lifecycles, evict_terminated=False, wall=moment.wall)


@pytest.mark.parametrize(
    ("known", "kept"),
    [
        ((WEB,), ["default_web_uid-web"]),
        ((replace(WEB, phase="Failed"),), ["default_web_uid-web"]),
        ((), []),
        (None, ["default_gone_uid-gone", "default_web_uid-web"]),
    ],
    ids=["an object", "a dead object", "no object", "not listed yet"],
)
def test_the_logs_of_an_object_without_a_sandbox_stay_and_those_of_a_gone_pod_go(
    cluster: RecordingCluster, tmp_path: Path, known: tuple[Pod, ...] | None, kept: list[str]
) -> None:
    for name in ("default_web_uid-web", "default_gone_uid-gone"):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, ns=(READING.wall - SETTLED, READING.wall - SETTLED))
    cluster.known = known
    made: Any = cluster
    actuator = ClusterActuator(node_of(CollectsAtOnce(tmp_path)), made)
    actuator.perform_duties(replace(READING, lifecycles=PodLifecycles(by_uid={})))
    assert sorted(path.name for path in tmp_path.iterdir()) == kept


def test_without_the_runtime_nothing_is_collected(actuator: ClusterActuator) -> None:
    with pytest.raises(RuntimeUnavailableError):
        actuator.begin_reclaim(ReclaimNode(actions=(Reclaim.CONTAINERS,), threshold=DISK), BLIND)


def test_a_victim_of_the_previous_run_that_was_not_answered_is_no_overdue_one(
    actuator: ClusterActuator, cluster: RecordingCluster
) -> None:
    """Its deadline passes in an outage; the core must not choose another pod for that (law Consent)."""
    asked = Victim(uid="asked", grace_period_seconds=30, until=NOW)
    hard, agreed = replace(asked, uid=HOG.uid, grace_period_seconds=1), replace(asked, uid="agreed", counted=True)
    state = State(in_flight=(asked, hard, agreed))
    assert actuator.outcomes(state).unanswered == {"asked"}
    actuator.advance(state, READING)
    assert actuator.outcomes(state).unanswered == {"asked"}
    cluster.synced = True  # the pods are listed: the object says that nothing asked for it
    outcomes = actuator.outcomes(state)
    assert outcomes.unanswered == frozenset()
    assert (outcomes.answers[0].uid, outcomes.answers[0].kind) == ("asked", EvictionAnswerKind.NOT_ASKED)
