"""Which pod goes, who is passed over, and when nobody should."""

from dataclasses import replace

import pytest

from evictd.core.eviction.choice.choose import choose_victim
from evictd.core.eviction.laws.blame import protected_culprit
from evictd.core.eviction.reclaim import Layout
from evictd.core.model.config import EvictionConfig, PodGroup, Policy, Preferences
from evictd.core.model.finding import (
    NoAction,
    NoActionReason,
    PodSkipped,
    PreferenceApplied,
    ProtectedPodSkipped,
    Ranking,
    SkipReason,
)
from evictd.core.model.observation import Observation, Problem, SignalObservation
from evictd.core.model.pod import PodSource
from evictd.core.model.signal import Signal
from evictd.core.model.state import Backoff, BudgetRefusal, State, Victim
from evictd.core.model.stats import PodStats
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import of_bytes
from tests.playbook import config, node, pod, threshold, usage

HARD = threshold("memory.available", "1Gi")
STATIC = pod("static", source=PodSource.STATIC)
A, B = pod("a"), pod("b")


def seen(*stats: PodStats, memory: str = "500Mi of 4Gi") -> Observation:
    """A node short of 524Mi, with the pods that the stats name."""
    pods = {one.uid: one for one in (STATIC, A, B)}
    return Observation(
        node=node(memory=memory), pods=tuple(pods[s.uid] for s in stats), pod_stats={s.uid: s for s in stats}
    )


def choose(observation: Observation, settings: EvictionConfig, overdue: frozenset[str] = frozenset()) -> str | None:
    """The victim's name."""
    state = State(in_flight=tuple(Victim(uid=uid, until=0) for uid in overdue))
    eviction = choose_victim((HARD,), observation, state, settings, 1).eviction
    return None if eviction is None else eviction.pod.name


def test_the_first_of_the_ranking_goes() -> None:
    """With the ranking as evidence."""
    choice = choose_victim((HARD,), seen(usage(A, memory="1Gi"), usage(B, memory="2Gi")), State(), config(), 0)
    assert choice.eviction is not None
    assert choice.eviction.pod == B
    [ranking] = [f for f in choice.findings if isinstance(f, Ranking)]
    assert [row.name for row in ranking.rows] == ["b", "a"]
    assert ranking.due == (HARD,)


def test_protected_and_overdue_pods_are_passed_over() -> None:
    """A victim that will not die is not chosen again."""
    observation = seen(usage(STATIC, memory="1Gi"), usage(A, memory="700Mi"), usage(B, memory="600Mi"))
    assert choose(observation, config()) == "a"
    assert choose(observation, config(), frozenset({"a"})) == "b"
    assert choose(observation, config(protected_pods=frozenset({"a"}))) == "b"
    choice = choose_victim((HARD,), observation, State(), config(), 0)
    assert [f.pod for f in choice.findings if isinstance(f, ProtectedPodSkipped)] == [STATIC]


def test_a_culprit_that_a_budget_refused_before_is_not_chosen_again_while_it_ends() -> None:
    """It ended for PIDs and was evicted a second time for a disk: one pod was in the ledger twice."""
    refused = BudgetRefusal(first_at=0, last_at=0, until=1, held_until=60 * SECOND)
    state = State(
        in_flight=(Victim(uid="a", cause=Signal.PID_AVAILABLE, until=60 * SECOND),),
        backoff=Backoff(budgets={"a": refused}),
    )
    observation = seen(usage(A, memory="3Gi"), usage(B, memory="100Mi"))
    within = pod("b", memory="1Gi")
    choice = choose_victim((HARD,), replace(observation, pods=(A, within)), state, config(), SECOND)
    assert choice.eviction is not None
    assert choice.eviction.pod == within


def test_a_pod_behind_the_victim_that_was_not_measured_is_named() -> None:
    """It might have come first; for the kubelet it would have."""
    observation = replace(seen(usage(A, memory="1Gi")), pods=(A, B, STATIC))
    choice = choose_victim((HARD,), observation, State(), config(), 0)
    assert choice.eviction is not None
    assert [(f.pod, f.reason) for f in choice.findings if isinstance(f, PodSkipped)] == [(B, SkipReason.NOT_MEASURED)]
    assert [f.pod for f in choice.findings if isinstance(f, ProtectedPodSkipped)] == [STATIC]
    kubelet = config(policy=Policy.KUBELET)
    assert choose(observation, kubelet) == "b"
    choice = choose_victim((HARD,), replace(observation, pods=(B, STATIC)), State(), kubelet, 0)
    assert choice.eviction is not None
    assert [f.pod for f in choice.findings if isinstance(f, ProtectedPodSkipped)] == []


def test_nobody_there() -> None:
    """No active pods, no stats of the node."""
    for observation in (seen(), Observation(node=None, pods=(A,))):
        choice = choose_victim((HARD,), observation, State(), config(), 0)
        assert choice.eviction is None
        assert [f.why for f in choice.findings if isinstance(f, NoAction)] == [NoActionReason.NO_ACTIVE_PODS]


def test_pods_that_no_runtime_lists_are_unknown_and_not_none() -> None:
    problem = Problem(source="container runtime", detail="there is no such socket")
    choice = choose_victim((HARD,), replace(seen(), problems=(problem,)), State(), config(), 0)
    assert [f.why for f in choice.findings if isinstance(f, NoAction)] == [NoActionReason.PODS_UNKNOWN]


@pytest.mark.parametrize(
    ("static", "a", "b", "stops"),
    [
        ("3Gi", "100Mi", "100Mi", True),
        ("3Gi", "500Mi", "100Mi", False),
        ("300Mi", "200Mi", "310Mi", False),
        ("3Gi", None, "100Mi", False),
    ],
    ids=["in vain", "enough", "not the largest", "unknown usage"],
)
def test_standard_stops_where_evicting_would_be_in_vain(static: str, a: str | None, b: str, stops: bool) -> None:
    """kubernetes/kubernetes#39124: the protected culprit stays, and so does everyone else; the kubelet goes on."""
    observation = seen(usage(STATIC, memory=static), usage(B, memory=b))
    stats = {} if a is None else {"a": usage(A, memory=a)}
    observation = Observation(node=observation.node, pods=(STATIC, A, B), pod_stats={**observation.pod_stats, **stats})
    choice = choose_victim((HARD,), observation, State(), config(), 0)
    assert (choice.eviction is None) is stops
    if stops:
        [silent] = [f for f in choice.findings if isinstance(f, NoAction)]
        assert (silent.why, silent.pod) == (NoActionReason.PROTECTED_CULPRIT, STATIC)
        assert (str(silent.needed), str(silent.reachable)) == ("524Mi", "200Mi")
    assert choose(observation, config(policy=Policy.KUBELET)) is not None


def test_a_culprit_is_judged_by_the_threshold_alone() -> None:
    """Without pods there is none."""
    reading = SignalObservation(available=of_bytes(1), capacity=of_bytes(9))
    assert protected_culprit((), HARD, reading, State(), config(), layout=Layout.SINGLE, now=0) is None


def test_a_protected_pod_that_is_not_measured_shields_no_one() -> None:
    """It may be the largest; nothing is concluded from what is not known of it."""
    observation = seen(usage(STATIC, memory="3Gi"), usage(A, memory="700Mi"))
    other = pod("other", source=PodSource.STATIC)
    assert choose(replace(observation, pods=(*observation.pods, other)), config()) == "a"
    in_vain = seen(usage(STATIC, memory="3Gi"), usage(A, memory="1Mi"))
    assert choose(replace(in_vain, pods=(*in_vain.pods, other)), config()) is None


def test_a_finding_names_the_pod_that_a_preference_saved() -> None:
    """And none where the preference changes nothing."""
    observation = seen(usage(A, memory="2Gi"), usage(B, memory="1Gi"))
    for group, saved in ((PodGroup(namespaces=frozenset({"other"})), None), (PodGroup(labels={"app": "b"}), A)):
        labelled = replace(B, labels={"app": "b"})
        settings = config(preferences=Preferences(prefer=(group,)))
        choice = choose_victim((HARD,), replace(observation, pods=(A, labelled)), State(), settings, 1)
        applied = [f for f in choice.findings if isinstance(f, PreferenceApplied)]
        assert applied == ([] if saved is None else [PreferenceApplied(pod=labelled, instead_of=saved)])
    observation = seen(usage(STATIC, memory="2Gi"), usage(A, memory="1Gi"))
    settings = config(preferences=Preferences(prefer=(PodGroup(namespaces=frozenset({"default"})),)))
    choice = choose_victim((HARD,), observation, State(), settings, 1)
    assert not [f for f in choice.findings if isinstance(f, PreferenceApplied)], "it is the same pod"
