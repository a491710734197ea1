"""The law of fairness of policy Standard: who goes first, and that each exception is a finding that is true.

Pods that exceed their request go first, then those of lower priority. A pod that is passed over has a finding that names it, and
the reason holds: law Need passes over pods that another one, which holds at least as much, makes unnecessary.
"""

import pytest
from hypothesis import given

from evictd.codec.scenario import Scenario
from evictd.core.eviction.refusals.backoff import owner_of
from evictd.core.model.config import EvictionConfig
from evictd.core.model.finding import PodSkipped, ProtectedPodSkipped, SkipReason
from evictd.core.model.pod import Pod
from evictd.core.model.signal import SIGNALS, Resource
from evictd.core.model.state import State
from tests.laws.generated import PLAYERS, Moment, Player, configs, exceeds, known_use, scenarios, used


def should_go_before(one: Pod, victim: Pod, moment: Moment, resource: Resource) -> bool:
    """Whether a pod that was measured has to go before the victim."""
    its, victims = (known_use(each, moment, resource) for each in (one, victim))
    assert victims is not None, "a pod that was not measured within a minute never goes"
    if its is None:
        return False
    classes = exceeds(one, its, resource), exceeds(victim, victims, resource)
    return classes == (True, False) or (classes[0] == classes[1] and one.priority < victim.priority)


def is_true(finding: ProtectedPodSkipped | PodSkipped, moment: Moment, resource: Resource) -> bool:
    """Whether the reason for which a pod was passed over holds."""
    pod, state = finding.pod, moment.step.state
    if isinstance(finding, ProtectedPodSkipped):
        return pod.critical
    held = known_use(pod, moment, resource)
    instead = None if finding.instead is None else known_use(finding.instead, moment, resource)
    lasts = finding.until is not None and moment.now < finding.until
    owner = state.backoff.owners.get(owner_of(pod))
    return {
        SkipReason.IN_FLIGHT: any(v.uid == pod.uid and v.gone_at is None for v in state.in_flight),
        SkipReason.NOT_MEASURED: used(pod, moment.observation, resource) is None,
        SkipReason.USES_NOTHING: held == 0,
        SkipReason.UNNECESSARY: held is not None and instead is not None and held <= instead,
        SkipReason.EVICTIONS_PAUSED: lasts
        and held is not None
        and instead is not None
        and (held <= instead or came_back(pod, state) or grew_more(finding, state)),
        SkipReason.BUDGET: lasts and pod.uid in state.backoff.budgets,
        SkipReason.OWNER: lasts and owner is not None and pod.uid not in owner.siblings,
    }[finding.reason]


def came_back(pod: Pod, state: State) -> bool:
    """Whether its owner created it after an eviction: during a pause pods whose end lasts go in its place (law Effect)."""
    owner = owner_of(pod)
    known = [each.siblings for effects in state.effects.values() for each in effects if each.owner == owner]
    if (backoff := state.backoff.owners.get(owner)) is not None:
        known.append(backoff.siblings)
    return bool(owner) and any(pod.uid not in siblings for siblings in known)


def grew_more(finding: PodSkipped, state: State) -> bool:
    """Whether the pod that goes during a pause grew more: the leak goes, though another one holds more (law Effect)."""
    instead = finding.instead
    return instead is not None and any(
        (leak := holdings.growing.get(instead.uid)) is not None
        and leak.grown > (0 if (own := holdings.growing.get(finding.pod.uid)) is None else own.grown)
        for holdings in state.holdings.values()
    )


def check_fairness(moment: Moment) -> None:
    """Hold the law of one cycle."""
    for eviction in moment.victims:
        assert eviction.because.threshold is not None
        assert not eviction.pod.critical
        resource = SIGNALS[eviction.because.threshold.signal].resource
        passed_over = {
            finding.pod.uid: finding
            for finding in moment.step.findings
            if isinstance(finding, ProtectedPodSkipped | PodSkipped)
        }
        for pod in moment.observation.pods:
            if pod.uid == eviction.pod.uid or not should_go_before(pod, eviction.pod, moment, resource):
                continue
            assert pod.uid in passed_over, f"{eviction.pod.name} went before {pod.name}, and no finding says why"
            assert is_true(passed_over[pod.uid], moment, resource), passed_over[pod.uid]


@pytest.mark.parametrize("play", PLAYERS)
@given(scenarios(), configs())
def test_no_pod_goes_before_one_that_should(play: Player, scenario: Scenario, settings: EvictionConfig) -> None:
    for moment in play(scenario, settings):
        check_fairness(moment)
