"""Plays a scenario through the core: what evictd would do.

The world is the file; victims are gone in the next step unless a budget refused them, and collections end at once. The same loop
serves `simulate`, `explain FILE`, the laws and the comparison with the kubelet.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace

from evictd.codec.scenario import MeasurementAges, Scenario, ScenarioStep
from evictd.core.eviction.evict import Admission, admit
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
    for step in scenario.steps:
        evicted -= {refusal.uid for refusal in step.refusals}
        seen = replace(state, last_cycle_at=None)  # however far apart the steps are, evictd is there between them
        turns = [_turn(_observation(scenario, step, evicted), config, seen, step.at)]
        decisions = turns[0].step.decisions
        if actions := [action for each in decisions if isinstance(each, ReclaimNode) for action in each.actions]:
            after = _observation(scenario, step, evicted, actions)
            turns.append(_turn(after, config, turns[0].step.state, step.at))
        state = turns[-1].step.state
        admissions = tuple((pod, admit(pod, state.node_conditions)) for pod in scenario.admit)
        cycle = SimulatedCycle(at=step.at, turns=tuple(turns), admissions=admissions)
        evicted |= {decision.pod.uid for decision in cycle.decisions if isinstance(decision, EvictPod)}
        yield cycle


def _turn(observation: Observation, config: EvictionConfig, state: State, now: int) -> Turn:
    return Turn(observation=observation, step=synchronize(state, observation, config, now))


def _observation(
    scenario: Scenario, step: ScenarioStep, evicted: frozenset[str], actions: Collection[Reclaim] = ()
) -> Observation:
    """Return one reading of a step; earlier victims are gone by now, and so is what these actions freed."""
    after = step.summary_after_reclaim if actions else None
    node, stats = (step.summary if after is None else after) or (None, {})
    gone = step.absent if scenario.evicted_pods_stay_active else step.absent | evicted
    reclaimed = tuple(ReclaimOutcome(action=each) for each in actions if each is not Reclaim.PAGE_CACHE)
    return Observation(
        node=node,
        pods=tuple(pod for pod in scenario.pods if pod.uid not in gone and not pod.terminal),
        pod_stats={uid: _measured(each, step) for uid, each in stats.items()},
        filesystems=scenario.filesystems,
        outcomes=Outcomes(
            reclaimed=reclaimed or None,
            cleaned_up=evicted,
            answers=_answers(step),
            page_cache=ReclaimOutcome(action=Reclaim.PAGE_CACHE) if Reclaim.PAGE_CACHE in actions else None,
        ),
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
