"""What would evictd do in this story?

Plays a scenario through the core: the world is the file, the hands are a few lines that note what was asked for. The same loop
serves `simulate`, `explain FILE`, the laws and the comparison with the kubelet.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from evictd.codec.scenario import Scenario, ScenarioStep, Summary
from evictd.core.admission import Admission, admit
from evictd.core.config import EvictionConfig
from evictd.core.decision import EvictPod, ReclaimNode
from evictd.core.observation import Observation, Outcomes, ReclaimOutcome
from evictd.core.pod import Pod
from evictd.core.state import State, Step
from evictd.core.synchronize import synchronize


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One call of the core: what it saw and what it came to."""

    observation: Observation
    step: Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """One step of the scenario: one call of the core, or two where a reclaim lay between."""

    at: int
    turns: tuple[Turn, ...]
    admissions: tuple[tuple[Pod, Admission], ...] = ()

    @property
    def state(self) -> State:
        """The state it left."""
        return self.turns[-1].step.state


def rehearse(scenario: Scenario, config: EvictionConfig, state: State | None = None) -> Iterator[Cycle]:
    """Play the steps in order, from a fresh state unless one is given; victims are gone by the next step."""
    state = state or State()
    evicted: frozenset[str] = frozenset()
    for step in scenario.steps:
        pods = _active(scenario, step, evicted)
        turns = list(_turns(scenario, step, pods, config, state, evicted))
        state = turns[-1].step.state
        evicted |= {
            decision.pod.uid for turn in turns for decision in turn.step.decisions if isinstance(decision, EvictPod)
        }
        admissions = tuple((pod, admit(pod, state.node_conditions)) for pod in scenario.admit)
        yield Cycle(at=step.at, turns=tuple(turns), admissions=admissions)


def _active(scenario: Scenario, step: ScenarioStep, evicted: frozenset[str]) -> tuple[Pod, ...]:
    gone = step.absent if scenario.evicted_pods_stay_active else step.absent | evicted
    return tuple(pod for pod in scenario.pods if pod.uid not in gone)


def _turns(
    scenario: Scenario,
    step: ScenarioStep,
    pods: tuple[Pod, ...],
    config: EvictionConfig,
    state: State,
    evicted: frozenset[str],
) -> Iterator[Turn]:
    observation = _observe(scenario, step.summary, pods, Outcomes(cleaned_up=evicted))
    first = Turn(observation=observation, step=synchronize(state, observation, config, step.at))
    yield first
    actions = [action for d in first.step.decisions if isinstance(d, ReclaimNode) for action in d.actions]
    if actions:
        reclaimed = tuple(ReclaimOutcome(action=action) for action in actions)
        after = step.summary if step.summary_after_reclaim is None else step.summary_after_reclaim
        outcomes = Outcomes(reclaimed=reclaimed, cleaned_up=evicted)
        observation = _observe(scenario, after, pods, outcomes)
        yield Turn(observation=observation, step=synchronize(first.step.state, observation, config, step.at))


def _observe(scenario: Scenario, summary: Summary | None, pods: tuple[Pod, ...], outcomes: Outcomes) -> Observation:
    node, stats = (None, {}) if summary is None else summary
    return Observation(node=node, pods=pods, pod_stats=stats, filesystems=scenario.filesystems, outcomes=outcomes)
