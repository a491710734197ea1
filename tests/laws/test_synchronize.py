"""What no input may break: the laws of a decision, under Hypothesis and over every vector of the kubelet."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.codec.config.kubelet_config import eviction_config
from evictd.codec.decision import encode_decision
from evictd.codec.records.journal import decode_entry, encode_entry
from evictd.codec.scenario import decode_scenario, encode_scenario
from evictd.core.eviction.accounts.ledger import supply_of
from evictd.core.eviction.reclaim import layout_of
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.decision import EvictionReason, EvictPod, ReclaimNode, ReportConditions, Wait
from evictd.core.model.observation import Filesystems, Observation, Outcomes, signal_observations
from evictd.core.model.pod import PodSource
from evictd.core.model.signal import NodeCondition
from evictd.core.model.state import PhaseName, Reclaiming, State, Step
from evictd.core.model.threshold import is_met
from evictd.errors import InputError
from evictd.simulation import simulate
from tests.parity.compare import vector_files
from tests.parity.evaluate import read_lines
from tests.strategies import stories

Story = tuple[EvictionConfig, list[tuple[int, Observation]]]
Played = list[tuple[int, State, Observation, Step]]


def play(config: EvictionConfig, readings: list[tuple[int, Observation]]) -> Played:
    """Run a story through the core as the daemon would: collectors end, victims go, one reading later."""
    state, played = State(), Played()
    evicted: frozenset[str] = frozenset()
    for now, reading in readings:
        outcomes = Outcomes(reclaimed=() if state.activity is PhaseName.RECLAIMING else None, cleaned_up=evicted)
        active = tuple(pod for pod in reading.pods if pod.uid not in evicted)
        observation = replace(reading, outcomes=outcomes, pods=active)
        step = synchronize(state, observation, config, now)
        played.append((now, state, observation, step))
        evicted |= {decision.pod.uid for decision in step.decisions if isinstance(decision, EvictPod)}
        state = step.state
    return played


def pressure_evictions(step: Step) -> list[EvictPod]:
    """The evictions of a step that are for pressure, and new."""
    return [
        d
        for d in step.decisions
        if isinstance(d, EvictPod) and d.because.reason is EvictionReason.PRESSURE and not d.shortens
    ]


@given(stories())
def test_at_most_one_pod_goes_for_pressure_in_a_cycle(story: Story) -> None:
    """However many thresholds are met."""
    for _, _, _, step in play(*story):
        assert len(pressure_evictions(step)) <= 1


@given(stories())
def test_a_critical_or_static_pod_never_goes(story: Story) -> None:
    """Not for pressure, not for a limit of its own."""
    for _, _, _, step in play(*story):
        for decision in step.decisions:
            if isinstance(decision, EvictPod):
                assert decision.pod.priority < 2_000_000_000
                assert decision.pod.source is PodSource.API


@given(stories())
def test_nothing_acts_before_its_grace_period_has_passed(story: Story) -> None:
    """The threshold behind a collection or an eviction was met without a break for its whole grace period."""
    config, readings = story
    since: dict[object, int] = {}
    for now, before, observation, step in play(config, readings):
        if observation.node is not None and not (
            config.policy is Policy.KUBELET and isinstance(before.phase, Reclaiming)
        ):
            since = {t.identity: since.get(t.identity, now) for t in step.state.thresholds_first_observed_at}
        acting = [d.because.threshold for d in pressure_evictions(step)]
        acting += [d.threshold for d in step.decisions if isinstance(d, ReclaimNode)]
        for threshold in acting:
            assert threshold is not None
            assert now - since[threshold.identity] >= threshold.grace_period


@given(stories())
def test_a_condition_stays_for_the_transition_period(story: Story) -> None:
    """It is there from the first reading that meets a threshold until the period after the last one."""
    config, readings = story
    last: dict[NodeCondition, int] = {}
    for now, before, observation, step in play(config, readings):
        state = step.state
        blocked = state.node_conditions_last_observed_at == before.node_conditions_last_observed_at
        if observation.node is None or (blocked and config.policy is Policy.KUBELET):
            continue
        last.update(state.node_conditions_last_observed_at)
        expected = {c for c, at in last.items() if now - at < config.pressure_transition_period}
        assert set(state.node_conditions) == expected


@given(stories())
def test_a_threshold_once_due_stays_until_its_minimum_reclaim_is_reached(story: Story) -> None:
    """Min-reclaim is honoured: due last time and short of the target now means due again."""
    config, readings = story
    for _, before, observation, step in play(config, readings):
        moved = step.state.thresholds_first_observed_at is not before.thresholds_first_observed_at
        if observation.node is None or not moved:
            continue
        seen = signal_observations(observation.node)
        for threshold in before.thresholds_met:
            short = threshold.signal in seen and is_met(threshold, seen[threshold.signal], with_min_reclaim=True)
            if short:
                assert threshold in step.state.thresholds_met


@given(stories(), st.randoms(use_true_random=False))
def test_shuffling_the_pods_changes_nothing(story: Story, rng: random.Random) -> None:
    """Order among equals is namespace, name, uid; nothing depends on the order of arrival."""
    config, readings = story
    shuffled = []
    for now, reading in readings:
        order = list(reading.pods)
        rng.shuffle(order)
        shuffled.append((now, replace(reading, pods=tuple(order))))

    def decisions(played: Played) -> list[list[str]]:
        return [sorted(str(d) for d in step.decisions) for _, _, _, step in played]

    assert decisions(play(config, readings)) == decisions(play(config, shuffled))


@given(stories())
def test_conditions_come_first_and_a_wait_comes_last(story: Story) -> None:
    """The node's conditions show the pressure before the first pod is killed."""
    for _, _, _, step in play(*story):
        assert isinstance(step.decisions[-1], Wait)
        assert not any(isinstance(decision, ReportConditions) for decision in step.decisions[1:])


@given(stories())
def test_no_pod_goes_for_a_supply_while_a_victim_for_it_is_in_flight(story: Story) -> None:
    """Policy Standard waits for the last victim before it chooses another for the same supply."""
    config, readings = story
    config = replace(config, policy=Policy.STANDARD)
    for now, before, observation, step in play(config, readings):
        gone = observation.outcomes.cleaned_up
        leaving = {v.cause for v in before.in_flight if v.gone_at is None and now < v.until and v.uid not in gone}
        layout = layout_of(step.state.filesystems or Filesystems())
        for eviction in pressure_evictions(step):
            assert eviction.because.threshold is not None
            assert supply_of(eviction.because.threshold.signal, layout) not in leaving


@given(stories())
def test_a_restart_at_any_point_changes_nothing(story: Story) -> None:
    """State, observation and configuration survive their codecs, and decide the same again."""
    config, readings = story
    for now, state, observation, step in play(config, readings):
        line = encode_entry(now=now, wall="", state=state, observation=observation, config=config, step=step)
        entry = decode_entry(line)
        assert entry.state == state
        again = synchronize(entry.state, entry.observation, entry.config, entry.now)
        assert [encode_decision(d) for d in again.decisions] == [encode_decision(d) for d in step.decisions]
        assert again.state == step.state


SCENARIOS = [document for path in vector_files() for document in read_lines(path) if document["kind"] == "scenario"]


@pytest.mark.slow
@pytest.mark.parametrize("policy", Policy)
@pytest.mark.parametrize("document", SCENARIOS, ids=[document["name"] for document in SCENARIOS])
def test_a_restart_changes_nothing_at_any_step_of_any_vector(document: dict[str, object], policy: Policy) -> None:
    """The same through every story of the kubelet, under both policies."""
    scenario = decode_scenario({key: value for key, value in document.items() if key != "expect"})
    assert decode_scenario(encode_scenario(scenario)) == scenario
    try:
        config = eviction_config(scenario.config, policy=policy)
    except InputError:
        assert "error" in document["expect"]  # type: ignore[operator]
        return
    state = State()
    for cycle in simulate(scenario, config):
        for turn in cycle.turns:
            line = encode_entry(
                now=cycle.at, wall="", state=state, observation=turn.observation, config=config, step=turn.step
            )
            entry = decode_entry(line)
            assert entry.state == state
            assert synchronize(entry.state, entry.observation, entry.config, entry.now) == turn.step
            state = replace(turn.step.state, last_cycle_at=None)  # as in a simulation, which is never absent
