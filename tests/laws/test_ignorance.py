"""The law of ignorance of policy Standard: what is not measured is neither worse off than if it were, nor does it protect a hog.

In every state that a generated node comes to, the same reading is decided once more without one pod's measurements. The pod that
is not measured, nor was within the last minute, does not go for what is not known of it. Where another pod went with them, a pod
goes without them, too, or a finding names a culprit that holds or grows more than all others (law Blame), or evictions are paused
after two that did not help (law Effect): whether the pods together hold what is missing is known only if all are measured. Which
pod goes may differ: law Need weighs those that are measured.
"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.codec.scenario import Scenario
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import EvictionConfig
from evictd.core.model.finding import NoAction, NoActionReason
from evictd.core.model.signal import SIGNALS, Resource
from evictd.core.model.state import Step
from evictd.core.model.stats import PodStats
from tests.laws.generated import PLAYERS, Moment, Player, by_simulate, configs, scenarios, victims_of

OTHER_LAWS = {
    NoActionReason.PROTECTED_CULPRIT,
    NoActionReason.UNMEASURED_CULPRIT,
    NoActionReason.EVICTIONS_DO_NOT_HELP,
}
"""Why no pod goes although one would if all were measured: the findings of the laws Blame and Effect."""
RESOURCES = (Resource.MEMORY, Resource.EPHEMERAL_STORAGE, Resource.PIDS)


def without(stats: PodStats, resource: Resource) -> PodStats:
    """The same statistics without what was read of one resource."""
    if resource is Resource.MEMORY:
        return replace(stats, memory=None)
    if resource is Resource.PIDS:
        return replace(stats, process_count=None)
    containers = tuple(each._replace(rootfs=None, logs=None) for each in stats.containers)
    return replace(stats, containers=containers, ephemeral_storage=None)


def spared_by_law(step: Step) -> bool:
    """Whether a finding names a culprit in whose place no other pod goes, or two evictions that did not help."""
    return any(isinstance(each, NoAction) and each.why in OTHER_LAWS for each in step.findings)


def check_ignorance(moment: Moment, uid: str, resources: tuple[Resource, ...], *, absent: bool) -> None:
    """Hold the law of one cycle, for one pod and what is not known of it; `absent`: it has no statistics at all."""
    known = dict(moment.observation.pod_stats)
    if uid not in known:
        return
    stats = known.pop(uid)
    if not absent:
        for resource in resources:
            stats = without(stats, resource)
        known[uid] = stats
    if not known:  # a runtime that lists nothing: no pod goes, also none that was measured a moment ago
        return
    observation = replace(moment.observation, pod_stats=known)
    step = synchronize(moment.before, observation, moment.config, moment.now)
    blind = victims_of(step)
    for eviction in blind:
        assert eviction.because.threshold is not None
        resource = SIGNALS[eviction.because.threshold.signal].resource
        remembered = any(of == uid and what is resource for _, of, what, _ in moment.measured)
        assert eviction.pod.uid != uid or remembered or (not absent and resource not in resources), "it went unmeasured"
    for eviction in moment.victims:
        if eviction.pod.uid == uid:
            continue
        assert blind or spared_by_law(step), f"{eviction.pod.name} was protected by {uid}, of which nothing is known"


@pytest.mark.parametrize("play", PLAYERS)
@given(scenarios(), configs(), st.sampled_from("abcd"), st.sampled_from(RESOURCES), st.booleans())
def test_what_is_not_measured_is_neither_punished_nor_a_shield(
    play: Player, scenario: Scenario, settings: EvictionConfig, uid: str, unread: Resource, absent: bool
) -> None:
    for moment in play(scenario, settings):
        check_ignorance(moment, uid, RESOURCES if absent else (unread,), absent=absent)


@given(scenarios(), configs(), st.sampled_from("abcd"))
def test_a_file_without_a_pods_statistics_decides_no_worse(
    scenario: Scenario, settings: EvictionConfig, uid: str
) -> None:
    """The last step of a scenario, with and without them."""
    *earlier, last = scenario.steps
    assert last.summary is not None
    numbers, stats = last.summary
    blind = replace(last, summary=(numbers, {key: each for key, each in stats.items() if key != uid}))
    *_, with_it = by_simulate(scenario, settings)
    moments = list(by_simulate(replace(scenario, steps=(*earlier, blind)), settings))
    without_it = [each for each in moments if each.now == moments[-1].now]  # a collection makes a second turn
    for each in without_it:
        remembered = {of for _, of, _, _ in each.measured}
        assert uid not in {eviction.pod.uid for eviction in each.victims} - remembered
    if set(stats) - {uid} and {eviction.pod.uid for eviction in with_it.victims} - {uid}:
        assert any(each.victims or spared_by_law(each.step) for each in without_it)
