"""The hands of a node with an API server, on a cluster that takes notes."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evictd.act.perform import Refusal
from evictd.core.decision import RecordEvent
from evictd.core.observation import Problem
from evictd.core.signal import NodeCondition
from evictd.core.state import Release, State
from evictd.daemon.cluster_hands import ClusterHands, LastView
from evictd.daemon.hands import NodeParts
from tests.daemon.test_hands import EVICTION, SIGHT, Collaborators
from tests.daemon.world import CONFIG, HOG, NOW, WEB

REFUSAL = Refusal(pod=HOG, detail="Cannot evict pod")


class NoteTakingCluster:
    """A cluster, as far as hands ask it."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.own_pod = frozenset({"own"})
        self.spared: frozenset[str] = frozenset()
        self.taken_back: frozenset[str] = frozenset()
        self.reporter = SimpleNamespace(
            report=self._report, heartbeat=lambda now: self.calls.append(("heartbeat", now))
        )
        self.events = SimpleNamespace(record=lambda event, now: self.calls.append(("event", event.reason, now)))
        self.evictor = SimpleNamespace(
            withheld=lambda now, *, hard, never: self.spared,
            withdrawn=lambda: self.taken_back,
            cleaned_up=lambda now: frozenset({"gone"}),
            begin=lambda decision, now: self.calls.append(("evict", decision.pod.uid, now)),
            take_evicted=lambda: (EVICTION,),
            take_refusals=lambda: (REFUSAL,),
        )

    def _report(self, conditions: tuple[NodeCondition, ...], now: int) -> tuple[RecordEvent, ...]:
        self.calls.append(("report", conditions, now))
        return (RecordEvent(type="Normal", reason="NodeHasDiskPressure", message="m"),)

    def active_pods(self) -> Any:
        return (WEB,)

    def problems(self) -> tuple[Problem, ...]:
        return (Problem(source="apiserver/pods", detail="d"),)


@pytest.fixture
def cluster() -> NoteTakingCluster:
    return NoteTakingCluster()


@pytest.fixture
def hands(cluster: NoteTakingCluster, tmp_path: Path) -> ClusterHands:
    others: Any = Collaborators()
    parts = NodeParts(
        terminator=others,
        collector=others,
        cleanup=others,
        conditions=others,
        tell_event=lambda event: cluster.calls.append(("told", event.reason)),
        any_alive=lambda *_: True,
        evicted=set(),
    )
    made: Any = cluster
    hands = ClusterHands(parts, made, LastView())
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


def test_a_pod_goes_the_cluster_s_way(hands: ClusterHands, cluster: NoteTakingCluster) -> None:
    hands.begin_eviction(EVICTION)
    assert cluster.calls == [("evict", HOG.uid, NOW)]
    assert hands.outcomes(State()).cleaned_up == {"gone"}


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


def test_pods_and_problems_are_the_api_server_s(hands: ClusterHands) -> None:
    assert hands.bound_pods() == (WEB,)
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
