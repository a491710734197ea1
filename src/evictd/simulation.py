"""Plays a scenario through the core: what evictd would do.

The world is the file; victims are gone in the next step unless a budget refused them, and collections end at once. The same loop
serves `simulate`, `explain FILE`, the laws and the comparison with the kubelet.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from evictd.codec.scenario import MeasurementAges, Scenario, ScenarioStep, Summary
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
        pods = _active(scenario, step, evicted)
        turns = list(_turns(_Scene(scenario, step, pods, evicted), config, state))
        state = turns[-1].step.state
        evicted |= {
            decision.pod.uid for turn in turns for decision in turn.step.decisions if isinstance(decision, EvictPod)
        }
        admissions = tuple((pod, admit(pod, state.node_conditions)) for pod in scenario.admit)
        yield SimulatedCycle(at=step.at, turns=tuple(turns), admissions=admissions)


def _active(scenario: Scenario, step: ScenarioStep, evicted: frozenset[str]) -> tuple[Pod, ...]:
    gone = step.absent if scenario.evicted_pods_stay_active else step.absent | evicted
    return tuple(pod for pod in scenario.pods if pod.uid not in gone and not pod.terminal)


@dataclass(frozen=True, slots=True)
class _Scene:
    """The observation of one step of the scenario."""

    scenario: Scenario
    step: ScenarioStep
    pods: tuple[Pod, ...]
    evicted: frozenset[str]

    def observe(self, summary: Summary | None, actions: Collection[Reclaim] = ()) -> Observation:
        """Return one reading; earlier victims are gone by now, and so is what these actions freed."""
        node, stats = (None, {}) if summary is None else summary
        reclaimed = tuple(ReclaimOutcome(action=each) for each in actions if each is not Reclaim.PAGE_CACHE)
        page_cache = ReclaimOutcome(action=Reclaim.PAGE_CACHE) if Reclaim.PAGE_CACHE in actions else None
        return Observation(
            node=node,
            pods=self.pods,
            pod_stats={uid: _measured(each, self.step) for uid, each in stats.items()},
            filesystems=self.scenario.filesystems,
            outcomes=Outcomes(
                reclaimed=reclaimed or None,
                cleaned_up=self.evicted,
                answers=_answers(self.step),
                page_cache=page_cache,
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


def _turns(scene: _Scene, config: EvictionConfig, state: State) -> Iterator[Turn]:
    now, summary = scene.step.at, scene.step.summary
    observation = scene.observe(summary)
    seen = replace(state, last_cycle_at=None)  # however far apart the steps are, evictd is there between them
    first = Turn(observation=observation, step=synchronize(seen, observation, config, now))
    yield first
    actions = [action for d in first.step.decisions if isinstance(d, ReclaimNode) for action in d.actions]
    if actions:
        after = scene.step.summary_after_reclaim
        observation = scene.observe(summary if after is None else after, actions)
        yield Turn(observation=observation, step=synchronize(first.step.state, observation, config, now))
