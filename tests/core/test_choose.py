"""Which pod goes, who is passed over, and when nobody should."""

import pytest

from evictd.core.choose import choose_victim, protected_culprit, shortening
from evictd.core.config import EvictionConfig, Policy
from evictd.core.decision import Ranking, Silence, Silent, Spared
from evictd.core.observation import Observation, SignalObservation
from evictd.core.pod import PodSource
from evictd.core.quantity import of_bytes
from evictd.core.reclaim import Layout
from evictd.core.stats import PodStats
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
    eviction = choose_victim((HARD,), observation, Layout.SINGLE, settings, overdue).eviction
    return None if eviction is None else eviction.pod.name


def test_the_first_of_the_ranking_goes() -> None:
    """With the ranking as evidence."""
    choice = choose_victim((HARD,), seen(usage(A, memory="1Gi"), usage(B, memory="2Gi")), Layout.SINGLE, config())
    assert choice.eviction is not None
    assert choice.eviction.pod == B
    assert choice.usage == 2 * 2**30
    [ranking] = [f for f in choice.findings if isinstance(f, Ranking)]
    assert [row.name for row in ranking.rows] == ["b", "a"]
    assert ranking.due == (HARD,)


def test_protected_and_overdue_pods_are_passed_over() -> None:
    """A victim that will not die is not chosen again."""
    observation = seen(usage(STATIC, memory="1Gi"), usage(A, memory="700Mi"), usage(B, memory="600Mi"))
    assert choose(observation, config()) == "a"
    assert choose(observation, config(), frozenset({"a"})) == "b"
    assert choose(observation, config(protected_pods=frozenset({"a"}))) == "b"
    choice = choose_victim((HARD,), observation, Layout.SINGLE, config())
    assert [f.pod for f in choice.findings if isinstance(f, Spared)] == [STATIC]


def test_nobody_there() -> None:
    """No active pods, no stats of the node."""
    for observation in (seen(), Observation(node=None, pods=(A,))):
        choice = choose_victim((HARD,), observation, Layout.SINGLE, config())
        assert choice.eviction is None
        assert [f.why for f in choice.findings if isinstance(f, Silent)] == [Silence.NO_ACTIVE_PODS]


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
    """Kubernetes issue 39124: the protected culprit stays, and so does everyone else; the kubelet goes on."""
    observation = seen(usage(STATIC, memory=static), usage(B, memory=b))
    stats = {} if a is None else {"a": usage(A, memory=a)}
    observation = Observation(node=observation.node, pods=(STATIC, A, B), pod_stats={**observation.pod_stats, **stats})
    choice = choose_victim((HARD,), observation, Layout.SINGLE, config())
    assert (choice.eviction is None) is stops
    if stops:
        [silent] = [f for f in choice.findings if isinstance(f, Silent)]
        assert (silent.why, silent.pod) == (Silence.PROTECTED_CULPRIT, STATIC)
        assert (str(silent.needed), str(silent.reachable)) == ("524Mi", "200Mi")
    assert choose(observation, config(policy=Policy.KUBELET)) is not None


def test_a_culprit_is_judged_by_the_threshold_alone() -> None:
    """Without pods there is none."""
    reading = SignalObservation(available=of_bytes(1), capacity=of_bytes(9))
    assert protected_culprit((), HARD, reading, config()) is None


def test_shortening_is_the_same_eviction_with_less_grace() -> None:
    """Marked, so that it is not counted twice."""
    eviction = shortening(A, HARD, seen(usage(A, memory="1Gi")), config())
    assert (eviction.pod, eviction.shortens, eviction.grace_period_seconds) == (A, True, 1)
