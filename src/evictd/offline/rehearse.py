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
        turns = list(_turns(_Scene(scenario, step, pods, evicted), config, state))
        state = turns[-1].step.state
        evicted |= {
            decision.pod.uid for turn in turns for decision in turn.step.decisions if isinstance(decision, EvictPod)
        }
        admissions = tuple((pod, admit(pod, state.node_conditions)) for pod in scenario.admit)
        yield Cycle(at=step.at, turns=tuple(turns), admissions=admissions)


def _active(scenario: Scenario, step: ScenarioStep, evicted: frozenset[str]) -> tuple[Pod, ...]:
    gone = step.absent if scenario.evicted_pods_stay_active else step.absent | evicted
    return tuple(pod for pod in scenario.pods if pod.uid not in gone)


@dataclass(frozen=True, slots=True)
class _Scene:
    """What the world shows in one step."""

    scenario: Scenario
    step: ScenarioStep
    pods: tuple[Pod, ...]
    evicted: frozenset[str]

    def observe(self, summary: Summary | None, reclaimed: tuple[ReclaimOutcome, ...] | None = None) -> Observation:
        """Give one reading; earlier victims are gone by now."""
        node, stats = (None, {}) if summary is None else summary
        return Observation(
            node=node,
            pods=self.pods,
            pod_stats=stats,
            filesystems=self.scenario.filesystems,
            outcomes=Outcomes(reclaimed=reclaimed, cleaned_up=self.evicted),
        )


def _turns(scene: _Scene, config: EvictionConfig, state: State) -> Iterator[Turn]:
    now, summary = scene.step.at, scene.step.summary
    observation = scene.observe(summary)
    first = Turn(observation=observation, step=synchronize(state, observation, config, now))
    yield first
    actions = [action for d in first.step.decisions if isinstance(d, ReclaimNode) for action in d.actions]
    if actions:
        after = scene.step.summary_after_reclaim
        reclaimed = tuple(ReclaimOutcome(action=action) for action in actions)
        observation = scene.observe(summary if after is None else after, reclaimed)
        yield Turn(observation=observation, step=synchronize(first.step.state, observation, config, now))
