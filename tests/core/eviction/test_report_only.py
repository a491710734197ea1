"""Where evictd may only report: standalone beside the kubelet of an API server (docs/faults.md, 9)."""

from dataclasses import replace

import pytest

from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.decision import EvictPod, ReclaimNode, ReportConditions
from evictd.core.model.finding import NoAction, NoActionReason
from evictd.core.model.observation import Observation, Outcomes
from evictd.core.model.signal import NodeCondition, Signal
from evictd.core.model.state import PhaseName, State, Step
from evictd.core.units.duration import SECOND
from tests.playbook import config, empty_dir, node, pod, usage

HOG = pod("hog", volumes=[empty_dir("data", size_limit="1Gi")])
OTHER = pod("other")
BOTH = pytest.mark.parametrize("policy", Policy)


SHORT = Observation(
    node=node(memory="100Mi of 4Gi", nodefs="100Mi of 9Gi"),
    pods=(HOG,),
    pod_stats={HOG.uid: usage(HOG, memory="3Gi", volumes={"data": "2Gi"})},
)
"""A pod over the limit of its volume, on a node that is short of memory and disk."""


def decide(settings: EvictionConfig, observation: Observation, state: State | None = None) -> Step:
    return synchronize(state or State(), observation, settings, 0)


@BOTH
def test_nothing_is_collected_and_no_pod_goes_but_conditions_are_reported(policy: Policy) -> None:
    settings = config(hard={"memory.available": "1Gi", "nodefs.available": "1Gi"}, policy=policy)
    step = decide(settings, replace(SHORT, api_pods_standalone=True))
    assert not [each for each in step.decisions if isinstance(each, EvictPod | ReclaimNode)]
    (report,) = (each for each in step.decisions if isinstance(each, ReportConditions))
    assert set(report.conditions) == {NodeCondition.MEMORY_PRESSURE, NodeCondition.DISK_PRESSURE}
    refused = [each for each in step.findings if isinstance(each, NoAction)]
    assert {each.why for each in refused} == {NoActionReason.API_PODS_STANDALONE}
    assert {each.threshold.signal for each in refused if each.threshold} >= {
        Signal.MEMORY_AVAILABLE,
        Signal.NODEFS_AVAILABLE,
    }


@BOTH
def test_the_configuration_can_allow_it(policy: Policy) -> None:
    settings = config(hard={"memory.available": "1Gi"}, policy=policy)
    allowed = decide(replace(settings, allow_api_pods_standalone=True), replace(SHORT, api_pods_standalone=True))
    assert allowed.decisions == decide(settings, SHORT).decisions
    assert any(isinstance(each, EvictPod) for each in allowed.decisions)


@BOTH
def test_a_victim_from_before_the_refusal_is_kept_until_it_is_gone(policy: Policy) -> None:
    """A reload forbids evictions while a pod leaves, and another allows them again: no second pod goes meanwhile."""
    settings = config(hard={"memory.available": "1Gi"}, policy=policy)
    observation = replace(SHORT, pods=(HOG, OTHER), pod_stats={**SHORT.pod_stats, "other": usage(OTHER, memory="1Mi")})
    before = decide(settings, observation).state
    assert [victim.uid for victim in before.in_flight] == ["hog"]
    refused = synchronize(before, replace(observation, api_pods_standalone=True), settings, SECOND).state
    allowed = synchronize(refused, observation, settings, 2 * SECOND)
    assert not [each for each in allowed.decisions if isinstance(each, EvictPod)]
    gone = replace(observation, outcomes=Outcomes(cleaned_up=frozenset({"hog"})), api_pods_standalone=True)
    ended = synchronize(refused, gone, settings, 2 * SECOND).state
    assert ended.activity is PhaseName.WATCHING
    assert all(victim.gone_at is not None for victim in ended.in_flight)
