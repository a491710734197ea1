"""Places beside the forty points where the kubelet's documentation and its code differ (docs/parity.md, "More differences")."""

import pytest

from evictd.core.eviction.choice.evict import policy_minimum_grace_seconds
from evictd.core.eviction.rank import rank
from evictd.core.eviction.reclaim import Layout
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.oom import oom_score_adj
from evictd.core.model.pod import PodSource
from evictd.core.model.resources import QOSClass
from evictd.core.model.signal import Signal
from tests.playbook import Playbook, as_kubelet, config, pod, usage

GIB = 1 << 30


@pytest.mark.parametrize(("policy", "decided"), [(Policy.STANDARD, 2), (Policy.KUBELET, 0)], ids=str)
def test_a_soft_eviction_without_a_maximum_grace_takes_two_seconds(policy: Policy, decided: int) -> None:
    settings = config(soft={"memory.available": ("1Gi", "30s")})
    book = Playbook(settings if policy is Policy.STANDARD else as_kubelet(settings), pods=[hog := pod("hog", grace=60)])
    book.usage = {"hog": usage(hog, memory="3Gi")}
    book.at("0s", memory="500Mi of 4Gi").conditions("MemoryPressure")
    book.at("30s", memory="500Mi of 4Gi").evicts("hog", grace=decided)
    assert max(decided, policy_minimum_grace_seconds(policy)) == 2


@pytest.mark.parametrize("policy", Policy)
def test_a_burstable_pod_that_exceeds_its_request_by_more_goes_before_a_best_effort_one(policy: Policy) -> None:
    burstable, best_effort = pod("burstable", memory="100Mi"), pod("best-effort")
    assert (burstable.qos_class, best_effort.qos_class) == (QOSClass.BURSTABLE, QOSClass.BEST_EFFORT)
    stats = {each.uid: each for each in (usage(burstable, memory="900Mi"), usage(best_effort, memory="700Mi"))}
    rows = rank(Signal.MEMORY_AVAILABLE, (best_effort, burstable), stats, Layout.SINGLE, policy)
    assert [row.name for row in rows] == ["burstable", "best-effort"]


@pytest.mark.parametrize("policy", Policy)
def test_a_static_pod_is_never_evicted_whatever_its_priority(policy: Policy) -> None:
    assert EvictionConfig(policy=policy).protects(pod("static", priority=-1, source=PodSource.STATIC))


def test_the_least_oom_score_adj_of_a_burstable_container_is_3() -> None:
    large = pod("large", memory="16Gi")
    assert oom_score_adj(large, large.containers[0], 16 * GIB) == 3
