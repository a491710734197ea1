"""The hands of a node with an API server, on a cluster that takes notes."""

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evictd.act.collect_containers import ContainerCollector
from evictd.act.log_files import SETTLED, PodLogs
from evictd.act.perform import Refusal
from evictd.act.victim import Termination
from evictd.core.config import ContainerGCPolicy
from evictd.core.container_gc import PodFates
from evictd.core.decision import ReclaimNode, RecordEvent
from evictd.core.observation import Problem, Reclaim
from evictd.core.pod import Pod
from evictd.core.signal import NodeCondition
from evictd.core.state import Release, State
from evictd.daemon.cluster_hands import ClusterHands, LastView
from evictd.daemon.hands import NodeParts
from evictd.errors import RuntimeUnavailableError
from tests.daemon.test_hands import EVICTION, SIGHT, Collaborators
from tests.daemon.world import CONFIG, DISK, HOG, NOW, WEB

REFUSAL = Refusal(pod=HOG, detail="Cannot evict pod")


class NoteTakingCluster:
    """A cluster, as far as hands ask it."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.synced = False
        self.own_pod = frozenset({"own"})
        self.spared: frozenset[str] = frozenset()
        self.taken_back: frozenset[str] = frozenset()
        self.known: tuple[Pod, ...] | None = (WEB,)
        self.reporter = SimpleNamespace(
            report=self._report, heartbeat=lambda now: self.calls.append(("heartbeat", now))
        )
        self.events = SimpleNamespace(record=lambda event, now: self.calls.append(("event", event.reason, now)))
        self.evictor = SimpleNamespace(
            withheld=lambda now, *, hard, never: self.spared,
            withdrawn=lambda: self.taken_back,
            cleaned_up=lambda now: frozenset({"gone"}),
            begin=lambda decision, now: self.calls.append(("evict", decision.pod.uid, now)),
            may_stop=lambda uid: {"agreed": True, "asked": False}[uid] if self.synced else None,
            take_evicted=lambda: (EVICTION,),
            take_refusals=lambda: (REFUSAL,),
        )

    def _report(self, conditions: tuple[NodeCondition, ...], now: int) -> tuple[RecordEvent, ...]:
        self.calls.append(("report", conditions, now))
        return (RecordEvent(type="Normal", reason="NodeHasDiskPressure", message="m"),)

    def active_pods(self) -> Any:
        return (WEB,)

    def known_pods(self) -> Any:
        return self.known

    def problems(self) -> tuple[Problem, ...]:
        return (Problem(source="apiserver/pods", detail="d"),)


@pytest.fixture
def cluster() -> NoteTakingCluster:
    return NoteTakingCluster()


def parts_of(cluster: NoteTakingCluster, others: Any) -> NodeParts:
    return NodeParts(
        terminator=others,
        collector=others,
        cleanup=others,
        conditions=others,
        tell_event=lambda event: cluster.calls.append(("told", event.reason)),
        any_alive=lambda *_: True,
        evicted=set(),
    )


@pytest.fixture
def hands(cluster: NoteTakingCluster) -> ClusterHands:
    made: Any = cluster
    hands = ClusterHands(parts_of(cluster, Collaborators()), made, LastView())
    hands.prepare(State(), CONFIG, NOW)
    hands.turn(SIGHT)
    return hands


def test_conditions_and_events_go_to_the_api_server(hands: ClusterHands, cluster: NoteTakingCluster) -> None:
    hands.report_conditions((NodeCondition.DISK_PRESSURE,))
    assert cluster.calls == [
        ("report", (NodeCondition.DISK_PRESSURE,), NOW),
        ("event", "NodeHasDiskPressure", NOW),
        ("told", "NodeHasDiskPressure"),
    ]


def test_what_the_collectors_have_to_tell_goes_there_too(hands: ClusterHands, cluster: NoteTakingCluster) -> None:
    """`FreeDiskSpaceFailed`, `ImageGCFailed`, ..."""
    hands.duties()
    assert cluster.calls == [("event", "ImageGCFailed", NOW), ("told", "ImageGCFailed")]


def test_a_pod_goes_the_cluster_s_way(hands: ClusterHands, cluster: NoteTakingCluster) -> None:
    hands.begin_eviction(EVICTION)
    assert cluster.calls == [("evict", HOG.uid, NOW)]
    assert hands.outcomes(State()).cleaned_up == {"gone"}


LEAVING = State(releases=(Release(uid=HOG.uid, until=NOW),))
FINISHED = Termination(uid=HOG.uid, started_at=NOW, grace_ends_at=NOW, finished_at=NOW + 1)


class Stopping:
    """Hands whose terminator and cleanup are at hand, with or without a kubelet beside them."""

    def __init__(self, cluster: NoteTakingCluster, *, kubelet: bool | None) -> None:
        cluster.reporter.kubelet = kubelet
        self.others = Collaborators()
        others: Any = self.others
        parts = NodeParts(
            terminator=others,
            collector=others,
            cleanup=others,
            conditions=others,
            tell_event=lambda _: None,
            any_alive=lambda *_: True,
            evicted=set(),
        )
        made: Any = cluster
        self.hands = ClusterHands(parts, made, LastView())

    def begun(self) -> list[str]:
        return [uid for name, uid, *_ in self.others.calls if name == "begin"]


@pytest.mark.parametrize("kubelet", [True, None])
def test_where_a_kubelet_reports_or_may_the_volumes_are_its_own(
    cluster: NoteTakingCluster, kubelet: bool | None
) -> None:
    scene = Stopping(cluster, kubelet=kubelet)
    scene.others.terminations[HOG.uid] = FINISHED
    assert scene.hands.outcomes(LEAVING).cleaned_up == {"gone", HOG.uid}
    assert scene.others.calls == []


def test_without_a_kubelet_the_volumes_of_what_was_stopped_go_first(cluster: NoteTakingCluster) -> None:
    """Or the eviction frees nothing, and the next pod goes for it; nobody touches them while anything runs."""
    scene = Stopping(cluster, kubelet=False)
    scene.others.terminations[HOG.uid] = replace(FINISHED, finished_at=None)
    assert scene.hands.outcomes(LEAVING).cleaned_up == {"gone"}
    assert scene.others.calls == []
    scene.others.terminations[HOG.uid] = FINISHED
    assert scene.hands.outcomes(LEAVING).cleaned_up == {"gone"}
    assert scene.others.calls == [("done", HOG.uid)]
    scene.others.cleaned.add(HOG.uid)
    assert scene.hands.outcomes(LEAVING).cleaned_up == {"gone", HOG.uid}


def test_an_eviction_counts_when_the_cluster_says_that_it_is_sure(hands: ClusterHands) -> None:
    """Not when it was begun: a budget may refuse it."""
    assert hands.take_evicted() == (EVICTION,)
    assert hands.take_refusals() == (REFUSAL,)


def test_who_is_spared_is_protected_for_this_cycle(hands: ClusterHands, cluster: NoteTakingCluster) -> None:
    cluster.spared = frozenset({"spared"})
    state = State()
    same, config = hands.prepare(state, CONFIG, NOW)
    assert same is state
    assert config.protected_pods == {"spared", "own"}
    assert hands.prepare(state, config, NOW)[1] is config


def test_what_a_budget_refused_is_taken_back(hands: ClusterHands, cluster: NoteTakingCluster) -> None:
    cluster.taken_back = frozenset({"a"})
    state = State(releases=(Release(uid="a", until=NOW), Release(uid="b", until=NOW)))
    prepared, _ = hands.prepare(state, CONFIG, NOW)
    assert [release.uid for release in prepared.releases] == ["b"]


def test_whom_a_budget_may_still_protect_a_restart_does_not_stop(cluster: NoteTakingCluster) -> None:
    """It is taken back once, so that it may be chosen, and asked for, anew."""
    scene = Stopping(cluster, kubelet=True)
    asked, agreed = (Release(uid=uid, grace_period_seconds=30, until=NOW) for uid in ("asked", "agreed"))
    hard = Release(uid="hard", grace_period_seconds=1, until=NOW)
    gone = replace(asked, uid="was stopped", gone_at=NOW)
    state = State(releases=(asked, agreed, hard, gone))
    assert SIGHT.view is not None
    scene.hands.turn(SIGHT)
    scene.hands.resume(state, SIGHT.view, NOW)
    assert scene.begun() == ["hard"]
    assert scene.hands.prepare(state, CONFIG, NOW)[0] == state
    cluster.synced = True
    assert scene.hands.prepare(state, CONFIG, NOW)[0].releases == (agreed, hard, gone)
    assert scene.begun() == ["hard", "agreed"]
    assert scene.hands.prepare(state, CONFIG, NOW)[0] == state
    assert scene.begun() == ["hard", "agreed"]


def test_whom_this_life_sends_away_itself_is_not_taken_back(hands: ClusterHands, cluster: NoteTakingCluster) -> None:
    """A hard threshold came before the API server had told."""
    state = State(releases=(Release(uid=HOG.uid, grace_period_seconds=30, until=NOW),))
    assert SIGHT.view is not None
    hands.resume(state, SIGHT.view, NOW)
    hands.begin_eviction(EVICTION)
    cluster.synced = True
    assert hands.prepare(state, CONFIG, NOW)[0] == state


def test_pods_and_problems_are_the_api_server_s(hands: ClusterHands) -> None:
    assert hands.bound_pods(None) == (WEB,)
    assert [problem.source for problem in hands.problems()] == ["apiserver/pods"]


def test_the_heartbeat_is_the_reporter_s(hands: ClusterHands, cluster: NoteTakingCluster) -> None:
    hands.heartbeat()
    assert cluster.calls == [("heartbeat", NOW)]


def test_pods_are_stopped_by_the_ids_that_were_seen_last() -> None:
    last = LastView()
    assert last.ids(HOG.uid) == ((), ())
    last.view = SIGHT.view
    assert last.ids(HOG.uid) == (("c1",), ("s1",))


def test_a_runtime_that_is_away_leaves_the_ids_as_they_were(hands: ClusterHands) -> None:
    hands.turn(replace(SIGHT, view=None))
    assert hands._last.ids(HOG.uid) == (("c1",), ("s1",))


class CollectsAtOnce(Collaborators):
    """A collector that does its duty on a runtime that knows nobody."""

    def __init__(self, logs: Path) -> None:
        super().__init__()
        empty: Any = SimpleNamespace(list_containers=list, list_sandboxes=list)
        self.containers = ContainerCollector(empty, ContainerGCPolicy(), PodLogs(logs))

    def perform_duties(self, moment: Any) -> None:
        self.containers.collect(moment.fates, evict_terminated=False, wall=moment.wall)


@pytest.mark.parametrize(
    ("known", "kept"),
    [
        ((WEB,), ["default_web_uid-web"]),
        ((replace(WEB, phase="Failed"),), ["default_web_uid-web"]),
        ((), []),
        (None, ["default_gone_uid-gone", "default_web_uid-web"]),
    ],
    ids=["an object", "a dead object", "no object", "not told yet"],
)
def test_the_logs_of_an_object_without_a_sandbox_stay_and_those_of_a_gone_pod_go(
    cluster: NoteTakingCluster, tmp_path: Path, known: tuple[Pod, ...] | None, kept: list[str]
) -> None:
    for name in ("default_web_uid-web", "default_gone_uid-gone"):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, ns=(SIGHT.wall - SETTLED, SIGHT.wall - SETTLED))
    cluster.known = known
    others: Any = CollectsAtOnce(tmp_path)
    made: Any = cluster
    hands = ClusterHands(parts_of(cluster, others), made, LastView())
    hands.turn(replace(SIGHT, fates=PodFates(by_uid={})))
    hands.duties()
    assert sorted(path.name for path in tmp_path.iterdir()) == kept


def test_without_the_runtime_there_are_no_fates_to_add_to(hands: ClusterHands) -> None:
    hands.turn(replace(SIGHT, view=None, fates=None))
    with pytest.raises(RuntimeUnavailableError):
        hands.begin_reclaim(ReclaimNode(actions=(Reclaim.CONTAINERS,), threshold=DISK))
