"""Plays a scenario through the core: what evictd would do.

The world is the file; victims are gone in the next step unless a budget refused them, and collections end at once. The same loop
serves `simulate`, `explain FILE`, the laws and the comparison with the kubelet.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from evictd.codec.scenario import MeasurementAges, Scenario, ScenarioStep
from evictd.core.eviction.admission import Admission, admit
from evictd.core.eviction.synchronize import synchronize
from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionConfig
from evictd.core.model.decision import Decision, EvictPod, ReclaimNode
from evictd.core.model.observation import (
    EvictionAnswer,
    EvictionAnswerKind,
    Observation,
    Outcomes,
    Reclaim,
    ReclaimOutcome,
)
from evictd.core.model.pod import Pod
from evictd.core.model.state import State, Step
from evictd.core.model.stats import PodStats


@frozen
class Turn:
    """One call of `synchronize`: its input and its result."""

    observation: Observation
    step: Step


@frozen
class SimulatedCycle:
    """One step of the scenario: one call of the core, or two where a reclaim lay between."""

    at: int
    turns: tuple[Turn, ...]
    admissions: tuple[tuple[Pod, Admission], ...] = ()

    @property
    def state(self) -> State:
        """The state it left."""
        return self.turns[-1].step.state

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The decisions of all turns, in order."""
        return tuple(decision for turn in self.turns for decision in turn.step.decisions)


def simulate(scenario: Scenario, config: EvictionConfig) -> Iterator[SimulatedCycle]:
    """Play the steps in order, from a fresh state; victims are gone by the next step."""
    state = State()
    evicted: frozenset[str] = frozenset()
    pods = {pod.uid: pod for pod in scenario.pods}
    for number, step in enumerate(scenario.steps):
        pods |= {pod.uid: pod for pod in step.pods}
        if step.state is not None:
            state = step.state if number == 0 else _informed(state, step.state, step.absent)
        evicted -= {refusal.uid for refusal in step.refusals}
        seen = replace(state, last_cycle_at=None)  # however far apart the steps are, evictd is there between them
        turns = [_turn(_observation(scenario, step, pods.values(), evicted), config, seen, step.at)]
        decisions = turns[0].step.decisions
        if actions := [action for each in decisions if isinstance(each, ReclaimNode) for action in each.actions]:
            after = _observation(scenario, step, pods.values(), evicted, actions)
            turns.append(_turn(after, config, turns[0].step.state, step.at))
        state = turns[-1].step.state
        admissions = tuple((pod, admit(pod, state.node_conditions)) for pod in scenario.admit)
        cycle = SimulatedCycle(at=step.at, turns=tuple(turns), admissions=admissions)
        evicted |= {decision.pod.uid for decision in cycle.decisions if isinstance(decision, EvictPod)}
        yield cycle


def _informed(state: State, recorded: State, absent: frozenset[str]) -> State:
    """Return the state with what was measured in cycles that are no steps.

    That is who holds what, what cleared, which victims ended, and what the ends gave back.
    """
    known = {each.uid: each for each in recorded.in_flight}
    freed = {each.uid: each for found in recorded.effects.values() for each in found}
    first = recorded.thresholds_first_observed_at
    cleared = {each for each in recorded.once_clear if each not in first and each not in recorded.thresholds_met}
    if cleared & {*state.thresholds_first_observed_at, *state.thresholds_met}:
        state = replace(
            state,
            announced=tuple(each for each in state.announced if each in recorded.announced),
            noticed={supply: each for supply, each in state.noticed.items() if supply in recorded.noticed},
        )
    return replace(
        state,
        holdings=recorded.holdings or state.holdings,
        # What the end of one gives back was measured then: it is not waited for any more.
        in_flight=tuple(
            known.get(each.uid, each)
            for each in state.in_flight
            if each.uid in known or each.gone_at is None or each.uid not in absent
        ),
        effects={supply: tuple(freed.get(each.uid, each) for each in found) for supply, found in state.effects.items()},
        thresholds_first_observed_at={
            threshold: first.get(threshold, at)
            for threshold, at in state.thresholds_first_observed_at.items()
            if threshold not in cleared
        },
        thresholds_met=tuple(each for each in state.thresholds_met if each not in cleared),
    )


def _turn(observation: Observation, config: EvictionConfig, state: State, now: int) -> Turn:
    return Turn(observation=observation, step=synchronize(state, observation, config, now))


def _observation(
    scenario: Scenario,
    step: ScenarioStep,
    pods: Iterable[Pod],
    evicted: frozenset[str],
    actions: Collection[Reclaim] = (),
) -> Observation:
    """Return one reading of a step; earlier victims are gone by now, and so is what these actions freed."""
    after = step.summary_after_reclaim if actions else None
    node, stats = (step.summary if after is None else after) or (None, {})
    gone = step.absent if scenario.evicted_pods_stay_active else step.absent | evicted
    reclaimed = tuple(ReclaimOutcome(action=each) for each in actions if each is not Reclaim.PAGE_CACHE)
    return Observation(
        node=node,
        pods=tuple(pod for pod in pods if pod.uid not in gone and not pod.terminal),
        pod_stats={uid: _measured(each, step) for uid, each in stats.items()},
        filesystems=scenario.filesystems,
        outcomes=Outcomes(
            reclaimed=reclaimed or None,
            cleaned_up=evicted - step.ending,
            answers=_answers(step),
            page_cache=ReclaimOutcome(action=Reclaim.PAGE_CACHE) if Reclaim.PAGE_CACHE in actions else None,
        ),
        problems=step.problems,
    )


def _measured(stats: PodStats, step: ScenarioStep) -> PodStats:
    """Return a pod's statistics with the times at which the scenario says that they were measured."""
    ages = step.ages.get(stats.uid, MeasurementAges())
    stats_time, walk, layers = (None if age is None else step.at - age for age in (ages.stats, ages.walk, ages.layers))
    return replace(stats, time=stats_time, disk_time=walk, layers_time=layers)


def _answers(step: ScenarioStep) -> tuple[EvictionAnswer, ...]:
    return tuple(
        EvictionAnswer(
            uid=each.uid,
            kind=EvictionAnswerKind.REFUSED,
            at=step.at,
            retry_after=each.retry_after,
            detail=each.message,
        )
        for each in step.refusals
    )
